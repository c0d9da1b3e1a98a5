#!/usr/bin/env bash
# find_package from an installation: by a host in C and C++ with the device, and by one that has no C++ compiler.
set -euo pipefail
here=$(dirname "$0")
rm -rf "$STAGE/c" "$STAGE/cxx"
status=0
"$here/consume.sh" "$STAGE/c" -DCMAKE_PREFIX_PATH="$STAGE/moved" -DCONSUMER_DEVICE=OFF -DCMAKE_C_FLAGS="$CFLAGS"
if "$here/consume.sh" "$STAGE/c" -DCONSUMER_VERSION=9.9 >/dev/null; then
    echo "version $VERSION was taken for 9.9" && exit 1
fi
glslc=$(command -v glslc || true)
"$here/consume.sh" "$STAGE/cxx" -DCMAKE_PREFIX_PATH="$STAGE/moved" -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_CXX_FLAGS="$CFLAGS" \
    -DCONSUMER_GLSLC="$glslc" || status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 77 ] || exit "$status"
if [ -z "$CFLAGS" ] && readelf -d "$STAGE/cxx/consumer" | grep 'NEEDED.*libstdc++'; then
    echo "a C host was given the C++ runtime" && exit 1
fi
exit "$status"
