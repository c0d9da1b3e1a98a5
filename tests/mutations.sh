#!/usr/bin/env bash
# Breaks one line of the project at a time and sees that a test notices: mutations.sh [NAME...]
# Works on a copy of the committed tree, in a build folder of its own (VKROPE_MUTATIONS, else build/mutations). Each mutation is
# built, and first the tests of its row are run, which noticed it when the row was written; if they pass, all others are. Prints
# a row for each mutation, and exits 1 if one went unnoticed. Run by hand after a change of the tests, and weekly.
#   --list  prints the names.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=${VKROPE_MUTATIONS:-${VKROPE_BUILD:-$root/build}/mutations}

# mutation NAME FILE TESTS OLD NEW: OLD is text that FILE has once.
rows() {
    mutation carry_lost shaders/numbers/angle.h 'Angle' \
        '{high + uint(middle < carry), middle,' '{high, middle,'
    mutation contraction_allowed shaders/fused/norms.glsl '^Shaders|^Contraction' \
        'precise vec4 squares = x * x;' 'vec4 squares = x * x;'
    mutation barrier_missing shaders/rotate.comp '^Rotate' \
        'if (kShared) barrier();' ''
    mutation slot_behind_cache shaders/fused/cache.glsl 'FusedSequences|FusedOnDevice.On_lavapipe$' \
        'position < push.slots ? position : ROPE_NOWHERE;' 'position <= push.slots ? position : ROPE_NOWHERE;'
    mutation integers_not_rounded shaders/fused/convert.glsl 'CacheVectorsOnDevice' \
        'min(uvec4(twice), uvec4(254u)) + 1u >> 1' 'min(uvec4(twice), uvec4(254u)) >> 1'
    mutation tile_too_long shaders/encodings/relative_keys.comp '^Relative.On_lavapipe$' \
        'min(push.keys - first_key, tile_keys) - 1u;' 'min(push.keys - first_key, tile_keys);'
    mutation yarn_step host/core/rules/yarn.cpp '^Rules$' \
        'one() / 1000;' 'one() / 100;'
    mutation wrong_sentence host/core/rules/yarn.cpp '^Rules$|Refus' \
        'if (rule.keep_bounds > 1) {' 'if (rule.keep_bounds > 2) {'
    mutation binding_too_long host/core/plan/dispatch.cpp '^Plan$|Barriers' \
        'span += (part.count[axis] - 1) * access.stride[axis];' 'span += part.count[axis] * access.stride[axis];'
    mutation range_too_long host/core/plan/range.cpp 'Range$' \
        '*last = lastTokensAlike(' 'lastTokensAlike('
    mutation angles_beyond_shared_memory host/core/plan/tuning.cpp 'Tuning$|^Plan$|^Groups' \
        'angle_bytes <= limits.shared_bytes;' 'angle_bytes <= 2 * limits.shared_bytes;'
    mutation bucket_refused host/core/plan/encodings/bias_resolve.cpp 'PlanBias|Buckets|^Bias' \
        '(g->max_distance <= exact ||' '(g->max_distance <= exact + 1 ||'
    mutation overlap_of_tables host/core/plan/fused/cache.cpp 'HostFused|PlanFused$' \
        'isInRegion(b.begin, a) || isInRegion(b.end - 1, a)' 'isInRegion(b.begin, a) || isInRegion(b.end, a)'
    mutation leak_after_failure host/core/record/context.cpp 'Faults|Context' \
        $'if (result != VK_SUCCESS) {\n        destroyPipeline(*c, node);' $'if (result != VK_SUCCESS) {'
    mutation overlap_unseen host/core/record/record.cpp 'RecordingRefusal|Bindings' \
        'if (in.buffer == out.buffer && read == written) return true;' 'if (in.buffer == out.buffer && read == written + 1) return true;'
    mutation least_scale host/core/reference/quantize.cpp 'CacheVectors|FusedOnDevice.On_lavapipe$' \
        'if (!(scale > 1e-6f)) scale = 1e-6f;' 'if (!(scale > 1e-6f)) scale = 1e-7f;'
    mutation memory_kept host/device/buffer.cpp 'DeviceOpen|Faults|Submission' \
        'vk.FreeMemory(device, allocation->memory, nullptr);' '(void)0;'
    mutation multiplier_of_mistral host/models/gguf/rule.cpp '^Gguf' \
        'if (architecture.log_multiplier != 1)' 'if (architecture.log_multiplier == 1)'
    mutation bytes_behind_data host/program/files/npy.cpp '^Npy' \
        'if (there != header->data_bytes) {' 'if (there < header->data_bytes) {'
    mutation position_too_far host/python/vkrope/_arrays.py '^Python' \
        'if not -2**31 <= position < 2**31:' 'if not -2**31 <= position <= 2**31:'
}

mutation() {
    local name=$1 file=$2 tests=$3 old=$4 new=$5 began=$SECONDS found
    if [ "$list" = yes ]; then
        echo "$name"
        return
    fi
    if [ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then return; fi
    git -C "$work/tree" checkout -q -- .
    if ! OLD=$old NEW=$new perl -0777 -i -pe '$n = s/\Q$ENV{OLD}\E/$ENV{NEW}/g; END { exit($n != 1) }' "$work/tree/$file"; then
        echo "mutations: $name: $file does not have this text once: $old" >&2
        exit 2
    fi
    found=$(noticed "$tests")
    if [ -z "$found" ]; then found=$(noticed .); fi
    printf '| %s | `%s` | %s | %d s |\n' "$name" "$file" "${found:-nothing}" $((SECONDS - began))
    if [ -z "$found" ]; then unnoticed=$((unnoticed + 1)); fi
}

# Prints which of these tests fail, at most two of them, or that the tree does not build.
noticed() {
    if ! cmake --build "$work/build" --parallel "$jobs" >"$work/log" 2>&1; then
        echo "the build"
        return
    fi
    (cd "$work/build" && ctest --parallel "$jobs" --stop-on-failure -R "$1" >"$work/log" 2>&1) || true
    sed -nE 's/^[[:space:]]*[0-9]+ - ([^ ]+) \(.*$/\1/p' "$work/log" | head -n 2 | paste -sd ' ' -
}

list=no
case ${1:-} in
--help | -h)
    sed -n '2,/^set -/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
--list)
    list=yes
    rows
    exit 0
    ;;
esac
wanted=("$@")
names=$("${BASH_SOURCE[0]}" --list)
for name in "$@"; do
    if ! grep -qx "$name" <<<"$names"; then
        echo "mutations: there is no $name; --list has the names" >&2
        exit 2
    fi
done

jobs=$(getconf _NPROCESSORS_ONLN)
unnoticed=0
if [ ! -d "$work/tree" ]; then
    mkdir -p "$work"
    git clone -q "$root" "$work/tree"
fi
git -C "$work/tree" fetch -q origin HEAD
git -C "$work/tree" checkout -q --force --detach FETCH_HEAD
if ! VKROPE_BUILD=$work/build "$work/tree/tests/run.sh" -R '^Index$' >"$work/log" 2>&1; then # which also chooses the drivers
    tail -n 20 "$work/log" >&2
    echo "mutations: the tree does not build, or fails without any mutation: $work/log" >&2
    exit 2
fi
drivers=$(sed -n 's/^tests: drivers //p' "$work/log")
export VK_DRIVER_FILES=$drivers VK_ICD_FILENAMES=$drivers
echo '| mutation | file | noticed by | in |'
echo '|---|---|---|---|'
rows
[ "$unnoticed" = 0 ] || { echo "mutations: $unnoticed went unnoticed" >&2 && exit 1; }
