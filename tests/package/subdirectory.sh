#!/usr/bin/env bash
# Below a parent whose language, optimization, arithmetic and warnings are not vkrope's, and which builds its sources in batches.
set -euo pipefail
here=$(dirname "$0")
rm -rf "$STAGE/parent" "$STAGE/parent-shared" "$STAGE/parent-installed"
strict="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror"
fast=-Ofast
if [ "$(uname -m)" = x86_64 ] && grep -qw fma /proc/cpuinfo; then
    fast+=" -mfma" # other machines have it anyway
fi
status=0
"$here/consume.sh" "$STAGE/parent" -DCONSUMER_SOURCE="$SOURCE" -DVKROPE_SPIRV="$SPIRV" -DCMAKE_CXX_STANDARD=20 -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_C_FLAGS="$fast $strict" -DCMAKE_CXX_FLAGS="$fast $strict -Wmissing-declarations" || status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 77 ] || exit "$status"

commands=$STAGE/parent/compile_commands.json
if grep '"command"' "$commands" | grep -- ' -c [^ ]*/host/' | grep -v -- '-std=[a-z+]*20'; then
    echo "these are not compiled by the parent's standard" && exit 1
fi
if grep '"command"' "$commands" | grep -E -- ' -Ofast .* -O[0-3sgz]'; then
    echo "these are not optimized as the parent asks" && exit 1
fi
grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=$' "$STAGE/parent/CMakeCache.txt" || { echo "a build type was chosen" && exit 1; }
"$CMAKE" --install "$STAGE/parent" --prefix "$STAGE/parent-installed" >"$STAGE/parent.log"
[ ! -e "$STAGE/parent-installed" ] || { echo "installed unasked:" && find "$STAGE/parent-installed" && exit 1; }

# The parent's choice of libraries, and its wish to install.
"$CMAKE" -S "$SOURCE/tests/package" -B "$STAGE/parent-shared" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    -DCONSUMER_SOURCE="$SOURCE" -DVKROPE_SPIRV="$SPIRV" -DBUILD_SHARED_LIBS=ON -DVKROPE_INSTALL=ON -DCONSUMER_INSTALLS=ON \
    >"$STAGE/parent.log" 2>&1 || { cat "$STAGE/parent.log" && exit 1; }
exit "$status"
