#!/usr/bin/env bash
# The version of rope.h is everyone's. (The SONAME's and the Debian package's are looked at where these are made.)
set -euo pipefail
failed=0
same() {
    [[ $2 == "$VERSION" ]] || { echo "$1 says '$2', not '$VERSION'" && failed=1; }
}
number() { sed -n "s/^#define ROPE_VERSION_$1 \([0-9]*\)$/\1/p" "$SOURCE/host/include/vkrope/rope.h"; }
read -r _ compiled _ < <("$EXPECTED")
same "rope.h" "$(number MAJOR).$(number MINOR).$(number PATCH)"
same "rope.h, compiled" "$compiled"
for file in vkrope.pc vkrope-device.pc; do
    same "$file" "$(sed -n 's/^Version: //p' "$STAGE/moved"/lib*/pkgconfig/"$file" "$STAGE/moved"/lib/*/pkgconfig/"$file" 2>/dev/null)"
done
same "rope.glsl" "$(awk '/^#define ROPE_GLSL_VERSION [0-9]+$/ { v = $3; printf "%d.%d.%d", v / 10000, v % 10000 / 100, v % 100 }' \
    "$(find "$STAGE/moved" -name version.glsl)")"
version_file=$(find "$STAGE/moved" -name vkrope-config-version.cmake)
same "the CMake package" "$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$version_file")"
if [ -x "$STAGE/moved/bin/vkrope" ]; then
    same "the program" "$("$STAGE/moved/bin/vkrope" --version | sed 's/^vkrope //')"
    same "its manual" "$(sed -n 's/^\.TH .*"vkrope \(.*\)" ".*/\1/p' "$STAGE/moved/share/man/man1/vkrope.1")"
fi

# What a tag must agree with: release.sh, among copies of these files, one of which is wrong.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
check() { "$place/host/package/release.sh" --check "$@" >"$place/said" 2>&1; }
(cd "$SOURCE" && for file in host/package/release.sh host/package/vcpkg/vcpkg.json host/include/vkrope/rope.h CHANGELOG.md pyproject.toml; do
    [ ! -f "$file" ] || install -D "$file" "$place/$file"
done)
check || { cat "$place/said" && failed=1; }
sed -i 's/^\(## [0-9.]*\).*/\1 - 2027-01-01/' "$place/CHANGELOG.md"
check "v$VERSION" || { cat "$place/said" && failed=1; }
refused() { # WORDS TAG...
    local status=0
    check "${@:2}" || status=$?
    [ $status -eq 2 ] && grep -qF "$1" "$place/said" || { echo "release.sh --check does not refuse $1: $(cat "$place/said")" && failed=1; }
}
spoiled() { # FILE SED
    cp "$place/$1" "$place/kept"
    sed -i "$2" "$place/$1"
    refused "${3:-$1}" "v$VERSION"
    cp "$place/kept" "$place/$1"
}
refused "v$VERSION would be right" v77.0.0
refused "v$VERSION would be right" "$VERSION"
spoiled CHANGELOG.md '0,/^## /s/^## [0-9.]*/## 77.0.0/'
spoiled CHANGELOG.md '0,/^## /s/^\(## [0-9.]*\).*/\1 (unreleased)/' "the day of the release"
spoiled host/package/vcpkg/vcpkg.json 's/"version": ".*"/"version": "77.0.0"/'
spoiled host/include/vkrope/rope.h 's/^#define ROPE_VERSION_MAJOR .*/#define ROPE_VERSION_MAJOR 77/' CHANGELOG.md
spoiled pyproject.toml '/^input = /d'
exit $failed
