#!/usr/bin/env bash
# A project of Meson has the copied files as its subproject, and its programs print what this build's library gives.
set -euo pipefail
command -v meson >/dev/null || { echo "skipped: there is no meson" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$CMAKE" --build "$BUILD" --target vkrope-amalgamation >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
mkdir "$work/subprojects"
cp -r "$BUILD/amalgamation" "$work/subprojects/vkrope"
sed 's|<vkrope/rope.h>|"vkrope.h"|' "$SOURCE/tests/package/consumer.c" >"$work/consumer.c"
sed 's|<vkrope/device.hpp>|"vkrope_device.hpp"|; s|<vkrope/rope.hpp>|"vkrope.hpp"|' "$SOURCE/tests/package/device.cpp" >"$work/device.cpp"
cat >"$work/meson.build" <<'END'
project('host', 'c', 'cpp', default_options: ['warning_level=3', 'werror=true', 'cpp_std=c++17'])
executable('consumer', 'consumer.c', dependencies: dependency('vkrope', fallback: 'vkrope'), link_language: 'c')
executable('consumer-device', 'device.cpp', dependencies: dependency('vkrope-device', fallback: 'vkrope'))
END
cd "$work"
{ meson setup build && meson compile -C build; } >log 2>&1 || { tail -n 50 log && exit 1; }
printed=$(build/consumer)
wanted=$("$EXPECTED")
[ "$printed" = "$wanted" ] || { echo "the consumer prints $printed, not $wanted" && exit 1; }
exec build/consumer-device
