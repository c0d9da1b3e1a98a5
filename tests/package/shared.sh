#!/usr/bin/env bash
# A shared library made without glslc, of a release's SPIR-V: the same bytes, the public symbols and no other.
set -euo pipefail
library=$STAGE/shared/libvkrope.so
complain() { echo "$1" && exit 1; }
rm -rf "$STAGE/shared" "$STAGE/shared-installed"
if ! { "$CMAKE" -S "$SOURCE" -B "$STAGE/shared" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    ${LAUNCHER:+-DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER"} -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_SHARED_LIBS=ON -DVKROPE_BUILD_DEVICE=OFF -DVKROPE_BUILD_TOOL=OFF \
    -DVKROPE_GLSLC=OFF -DVKROPE_SPIRV="$SPIRV" -DCMAKE_INSTALL_LIBDIR=lib &&
    "$CMAKE" --build "$STAGE/shared" --parallel 2 &&
    "$CMAKE" --install "$STAGE/shared" --prefix "$STAGE/shared-installed"; } >"$STAGE/shared.log" 2>&1; then
    tail -n 50 "$STAGE/shared.log" && exit 1
fi

exported=$(nm -D --defined-only "$library" | awk '{print $3}' | LC_ALL=C sort)
promised=$(sed -n 's/^[A-Za-z].*\b\(rope[A-Z][A-Za-z0-9]*\)(.*/\1/p' "$SOURCE/host/include/vkrope/rope.h" | LC_ALL=C sort)
diff <(echo "$promised") <(echo "$exported") || complain "exported (>) and in rope.h (<) are not the same"
dynamic=$(readelf -d "$library")
grep -q "SONAME.*\[libvkrope\.so\.${VERSION%.*}\]" <<<"$dynamic" || complain "the SONAME is not of version $VERSION"
[ -f "$STAGE/shared-installed/lib/libvkrope.so.$VERSION" ] || complain "no libvkrope.so.$VERSION"
grep 'NEEDED.*\(libstdc++\|vulkan\)' <<<"$dynamic" && complain "it needs more than the C library"

rm -rf "$STAGE/shared-consumer"
"$(dirname "$0")/consume.sh" "$STAGE/shared-consumer" -DCMAKE_PREFIX_PATH="$STAGE/shared-installed" -DCONSUMER_DEVICE=OFF
CFLAGS='' "$(dirname "$0")/pkgconfig.sh" "$STAGE/shared-installed"

# Packaged it is found by the linker of whoever installs it.
if command -v dpkg-shlibdeps >/dev/null; then
    rm -rf "$STAGE/shared-deb"
    "$CPACK" --config "$STAGE/shared/CPackConfig.cmake" -G DEB -B "$STAGE/shared-deb" >"$STAGE/shared.log" 2>&1 ||
        { cat "$STAGE/shared.log" && exit 1; }
    package=$(echo "$STAGE"/shared-deb/*.deb)
    contents=$(dpkg-deb -c "$package")
    grep -q " ./usr/lib/libvkrope.so.${VERSION%.*} -> libvkrope.so.$VERSION\$" <<<"$contents" || complain "$package lacks the SONAME's link"
    [[ $(dpkg-deb -I "$package" triggers) == *ldconfig* ]] || complain "$package does not call ldconfig"
    if command -v lintian >/dev/null && lintian --version | grep -qF 'v2.116.'; then
        lintian --allow-root --fail-on error,warning "$package" || complain "$package has what lintian finds"
    fi
fi
