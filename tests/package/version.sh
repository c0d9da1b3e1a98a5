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
same "CHANGELOG.md" "$(sed -n '0,/^## /s/^## \([0-9.]*\).*/\1/p' "$SOURCE/CHANGELOG.md")"
if [ -x "$STAGE/moved/bin/vkrope" ]; then
    same "the program" "$("$STAGE/moved/bin/vkrope" --version | sed 's/^vkrope //')"
    same "its manual" "$(sed -n 's/^\.TH .*"vkrope \(.*\)" ".*/\1/p' "$STAGE/moved/share/man/man1/vkrope.1")"
fi
exit $failed
