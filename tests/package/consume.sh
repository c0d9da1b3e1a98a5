#!/usr/bin/env bash
# consume.sh FOLDER [ARGUMENT...]: configures the consumer there with these arguments, builds it, runs it, and compares what it
# prints with what the library under test prints. The environment has the test's CMAKE, SOURCE, EXPECTED, GENERATOR.
set -euo pipefail
folder=$1
shift
"$CMAKE" -S "$SOURCE/tests/package" -B "$folder" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    ${LAUNCHER:+-DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER"} \
    -DCONSUMER_VERSION="$VERSION" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${VULKAN:+-DVKROPE_VULKAN_INCLUDE="$VULKAN"} "$@" >"$folder.log" 2>&1 ||
    { cat "$folder.log" && exit 1; }
"$CMAKE" --build "$folder" --parallel 2 >"$folder.log" 2>&1 || { tail -n 50 "$folder.log" && exit 1; }

wanted=$("$EXPECTED")
for program in consumer consumer-cxx; do
    [ -x "$folder/$program" ] || continue
    printed=$("$folder/$program")
    echo "$program: $printed"
    [ "$printed" = "$wanted" ] || { echo "not what the library under test prints: $wanted" && exit 1; }
done
if [ -x "$folder/consumer-device" ]; then
    exec "$folder/consumer-device"
fi
