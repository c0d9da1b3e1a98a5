#!/usr/bin/env bash
# The Debian package: what is in it, what it says of itself, and a host built with it unpacked.
set -euo pipefail
command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || { echo "skipped: no dpkg-dev" && exit 77; }
rm -rf "$STAGE/deb"
mkdir -p "$STAGE/deb"
(cd "$STAGE/deb" && "$CPACK" --config "$BUILD/CPackConfig.cmake" -G DEB -B "$STAGE/deb" >cpack.log 2>&1) ||
    { cat "$STAGE/deb/cpack.log" && exit 1; }
package=$(echo "$STAGE"/deb/*.deb)
complain() { echo "$package: $1" && exit 1; }

[ "$(dpkg-deb -f "$package" Version)" = "$VERSION" ] || complain "of another version"
depends=$(dpkg-deb -f "$package" Depends)
for wanted in libc6 libstdc++6 libvulkan1 libvulkan-dev; do
    [[ $depends == *"$wanted"* ]] || complain "does not depend on $wanted"
done
contents=$(dpkg-deb -c "$package")
for wanted in bin/vkrope lib/libvkrope.a include/vkrope/rope.h include/vkrope/device.hpp share/vkrope/shaders/rope.glsl share/vkrope/shaders/rope.hlsl \
    share/man/man1/vkrope.1.gz share/doc/vkrope/copyright share/doc/vkrope/changelog.gz \
    share/doc/vkrope/NEWS.gz share/doc/vkrope/frequencies.schema.json; do
    grep -q " ./usr/$wanted\$" <<<"$contents" || complain "lacks $wanted"
done
if awk '$1 !~ /^(-rw-r--r--|-rwxr-xr-x|drwxr-xr-x|lrwxrwxrwx)$/ || $2 != "root/root"' <<<"$contents" | grep .; then
    complain "has files of odd modes or owners"
fi
dpkg-deb -f "$package" Description | awk 'length > 80' | grep . && complain "describes itself in long lines"

dpkg -x "$package" "$STAGE/deb/root"
[ "$("$STAGE/deb/root/usr/bin/vkrope" --version)" = "vkrope $VERSION" ] || complain "has another program"
if grep -rlF -e "$BUILD" -e "$SOURCE" "$STAGE/deb/root" --include='*.cmake' --include='*.pc'; then
    complain "names the folders that it was built in"
fi
# Other versions of lintian have other rules. The hardening that it only informs of is the builder's choice of flags.
if command -v lintian >/dev/null && lintian --version | grep -qF 'v2.116.'; then
    lintian --allow-root --fail-on error,warning "$package" || complain "has what lintian finds"
fi
"$(dirname "$0")/pkgconfig.sh" "$STAGE/deb/root/usr"
