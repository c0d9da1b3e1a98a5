#!/usr/bin/env bash
# Compiles ggml's Vulkan shaders from llama.cpp's sources, for the descriptions in bench/beside, and puts both into a folder:
#   beside.sh LLAMA_CPP DIR
#   vkrope bench --tokens 512 --element f32 --place in-place --beside DIR/rope.json
# gpu.sh takes the folder beside/ of a build folder along. The parameters in the descriptions are those of llama.cpp v0.5.0.
set -euo pipefail

[ $# = 2 ] && [ -d "$1" ] || { echo 'beside.sh: give the folder of llama.cpp, and the folder to write: beside.sh LLAMA_CPP DIR' >&2 && exit 2; }
shaders=$1/ggml/src/ggml-vulkan/vulkan-shaders
[ -d "$shaders" ] || { echo "beside.sh: $1 has no ggml/src/ggml-vulkan/vulkan-shaders; give llama.cpp's own folder" >&2 && exit 2; }
mkdir -p "$2"
compile() { # OUTPUT FILE DEFINES...
    glslc -fshader-stage=compute --target-env=vulkan1.1 "$shaders/$2" "${@:3}" -o "$folder/$1.spv"
}
folder=$2
compile rope_neox_f32 rope_neox.comp -DA_TYPE=float -DROPE_D_TYPE=float
compile rope_neox_f32_f16 rope_neox.comp -DA_TYPE=float -DROPE_D_TYPE=float16_t
compile set_rows_f32_f16_i64 copy_to_quant.comp -O -DSET_ROWS=1 -DDATA_A_F16=1 -DB_TYPE=uvec2 -DB_SIZE=64 -DS_TYPE=float \
    -DD_TYPE=float -DFLOAT_TYPE=float
compile fwht_f32 fwht.comp -O
cp "$(dirname "${BASH_SOURCE[0]}")"/beside/*.json "$folder"
