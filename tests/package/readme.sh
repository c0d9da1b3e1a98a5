#!/usr/bin/env bash
# readme.sh PREFIX: the README is one page, and its first program, taken out of its text, runs on an installation there.
set -euo pipefail
readme=$SOURCE/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

at_most() { # LINES FILE WHAT
    local lines
    lines=$(wc -l <"$2")
    [ "$lines" -gt 0 ] && [ "$lines" -le "$1" ] || { echo "$3 has $lines lines, from 1 to $1 may be" && exit 1; }
}
at_most 150 "$readme" README.md
awk '/^```/ { if (taken) exit; taken = /^```cpp$/; next } taken' "$readme" >"$work/first.cpp"
at_most 60 "$work/first.cpp" "the README's first program"

command -v pkg-config >/dev/null || { echo "skipped: no pkg-config" && exit 77; }
PKG_CONFIG_LIBDIR=$(dirname "$(find "$1" -name vkrope-device.pc)")
export PKG_CONFIG_LIBDIR
# shellcheck disable=SC2046,SC2086 # flags are several words
"$CXX" -std=c++17 -Wall -Wextra -Werror ${VULKAN:+-I"$VULKAN"} $CFLAGS "$work/first.cpp" -o "$work/first" \
    $(pkg-config --cflags --libs vkrope-device)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir vkrope) "$work/first" >"$work/said"
cat "$work/said"
grep -qF '(1.28674567, 0.586758614)' "$work/said" || { echo "cos(10^6) - sin(10^6) and their sum are others" && exit 1; }
