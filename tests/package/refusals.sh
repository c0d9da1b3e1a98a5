#!/usr/bin/env bash
# Without glslc the message says what to do; SPIR-V of other shaders is refused, and a program that lacks a family.
set -euo pipefail
configure() {
    rm -rf "$STAGE/refused"
    "$CMAKE" -S "$SOURCE" -B "$STAGE/refused" -G "$GENERATOR" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DVKROPE_GLSLC=OFF \
        -DVKROPE_BUILD_DEVICE=OFF -DVKROPE_BUILD_TESTS=OFF "$@" 2>&1 | tr -s '\n ' ' '
}
refuses() {
    local wanted=$1 said
    shift
    if said=$(configure "$@"); then
        echo "taken: $*" && exit 1
    fi
    [[ $said == *"$wanted"* ]] || { echo "not said: $wanted; but: $said" && exit 1; }
}
refuses "unpack vkrope-$VERSION-spirv.tar.gz, which comes with the release, and give its folder with -DVKROPE_SPIRV="
refuses "shaders.sha256 is not of these shaders" -DVKROPE_SPIRV="$STAGE"
refuses "take every family: VKROPE_WITH_BIASES, VKROPE_WITH_FUSED may be OFF only with -DVKROPE_BUILD_TOOL=OFF" \
    -DVKROPE_SPIRV="$SPIRV" -DVKROPE_WITH_BIASES=OFF -DVKROPE_WITH_FUSED=OFF -DVKROPE_BUILD_TOOL=ON
refuses "the program takes the device target: VKROPE_BUILD_TOOL=OFF, or VKROPE_BUILD_DEVICE=ON" \
    -DVKROPE_SPIRV="$SPIRV" -DVKROPE_BUILD_TOOL=ON
refuses "the tests take the program: VKROPE_BUILD_TESTS=OFF, or VKROPE_BUILD_TOOL=ON" -DVKROPE_SPIRV="$SPIRV" -DVKROPE_BUILD_TESTS=ON

rm -rf "$STAGE/other-spirv"
cp -r "$SPIRV" "$STAGE/other-spirv"
tr 0-9 1-90 <"$SPIRV/shaders.sha256" >"$STAGE/other-spirv/shaders.sha256"
refuses "shaders.sha256 is not of these shaders" -DVKROPE_SPIRV="$STAGE/other-spirv"

# One shader edited, in a copy of the sources.
rm -rf "$STAGE/edited"
mkdir "$STAGE/edited"
cp -r "$SOURCE"/{CMakeLists.txt,LICENSE,CHANGELOG.md,host,shaders} "$STAGE/edited"
SOURCE=$STAGE/edited configure -DVKROPE_SPIRV="$SPIRV" -DVKROPE_INSTALL=OFF >/dev/null || { echo "refused, though nothing was edited" && exit 1; }
sed -i 's/, FUSED, 0/, FUSSED, 0/' "$STAGE/edited/shaders/list.def"
SOURCE=$STAGE/edited refuses "shaders/list.def: the shader fused_wide is of the family FUSSED; there are ALWAYS, ADDITIONS, BIASES, " \
    -DVKROPE_GLSLC=/bin/true -DVKROPE_INSTALL=OFF
cp "$SOURCE/shaders/list.def" "$STAGE/edited/shaders"
echo '// an edit' >>"$STAGE/edited/shaders/numbers/pair.h"
SOURCE=$STAGE/edited refuses "shaders.sha256 is not of these shaders" -DVKROPE_SPIRV="$SPIRV" -DVKROPE_INSTALL=OFF
