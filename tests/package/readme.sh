#!/usr/bin/env bash
# readme.sh PREFIX: the README's first program, taken out of its text, runs on an installation there.
set -euo pipefail
readme=$SOURCE/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```/ { if (taken) exit; taken = /^```cpp$/; next } taken' "$readme" >"$work/first.cpp"
[ -s "$work/first.cpp" ] || { echo "README.md has no program in C++" && exit 1; }

command -v pkg-config >/dev/null || { echo "skipped: no pkg-config" && exit 77; }
PKG_CONFIG_LIBDIR=$(dirname "$(find "$1" -name vkrope-device.pc)")
export PKG_CONFIG_LIBDIR
# shellcheck disable=SC2046,SC2086 # flags are several words
"$CXX" -std=c++17 -Wall -Wextra -Werror ${VULKAN:+-I"$VULKAN"} $CFLAGS "$work/first.cpp" -o "$work/first" \
    $(pkg-config --cflags --libs vkrope-device)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir vkrope) "$work/first" >"$work/said"
cat "$work/said"
grep -qF '(1.28674567, 0.586758614)' "$work/said" || { echo "cos(10^6) - sin(10^6) and their sum are others" && exit 1; }
