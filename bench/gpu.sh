#!/usr/bin/env bash
# Tries and measures vkrope on this machine's GPU, and leaves one report: bench/results/DEVICE.md. Beside it are DEVICE.json with
# the bandwidths, and DEVICE.svg, their picture, which takes the Python package of the build folder and matplotlib.
#   gpu.sh [--from-build DIR] [--device D] [--steps LIST] [--rounds N] [--seconds N] [--short] [--out DIR]
#   gpu.sh --pack DIR
#   --from-build DIR  uses the programs in DIR that were built or packed before; bash and coreutils are enough then
#   --device D        a device's index or a part of its name; without it the best GPU there is. The tests take every device.
#   --steps LIST      some of check,rotation,fused,encodings,beside,models,bounds,table,picture,tests,tool,
#                     in this order; without it all. The names of the report's files then end with those of the steps
#   --rounds N        of each case that is timed; without it 21, with --short 2
#   --seconds N       after so long the step that runs is stopped, and the others are left out; without it there is no limit
#   --short           fewer tests, lengths, rounds and fused passes: half a minute on a CPU's driver. The report's name ends with it
#   --out DIR         another folder for the report
#   --pack DIR        builds, and puts what another machine needs beside this repository's files into DIR: programs, shaders,
#                     shared libraries, the validation layer, the commit. There: gpu.sh --from-build DIR
#   --help            prints this.
# The report is renewed after each step, as DEVICE.partial.md until the last. It stays so if the script is interrupted.
# Exit status 1: a step failed, was stopped or left out, and the report says which. 2: an argument is wrong or there is no
# device, and nothing was measured. 129, 130 or 143: interrupted.
# VKROPE_BUILD names the folder to build in. VK_DRIVER_FILES, where set, names the drivers. VKROPE_COMMIT names the commit
# in place of git.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
readonly all_steps=check,rotation,fused,encodings,beside,models,bounds,table,picture,tests,tool
build='' programs='' device='' steps='' rounds='' seconds='' pack='' short=no out=$root/bench/results part=''

refuse() {
    echo "gpu.sh: $*" >&2
    exit 2
}

print_help() {
    local line
    while IFS= read -r line && [[ $line != set* ]]; do
        case $line in '#!'*) ;; '# '*) echo "${line#\# }" ;; esac
    done <"${BASH_SOURCE[0]}"
}

# ---- Arguments ---------------------------------------------------------------------------------------------------------

parse() {
    while [ $# -gt 0 ]; do
        case $1 in
        --help | -h)
            print_help
            exit 0
            ;;
        --short) short=yes && shift && continue ;;
        --from-build | --device | --steps | --rounds | --seconds | --out | --pack) ;;
        *) refuse "there is no argument '$1'; --help names those there are" ;;
        esac
        [ $# -ge 2 ] && [ -n "$2" ] || refuse "$1 needs a value after it; --help says which"
        case $1 in
        --from-build) build=$2 ;;
        --device) device=$2 ;;
        --steps) steps=$2 ;;
        --rounds) rounds=$2 ;;
        --seconds) seconds=$2 ;;
        --pack) pack=$2 ;;
        --out) out=$2 ;;
        esac
        shift 2
    done
}

check_arguments() {
    local step
    [[ $steps =~ ^([a-z]+(,[a-z]+)*)?$ ]] || refuse "--steps takes names with commas between them, not '$steps'"
    for step in ${steps//,/ }; do
        [[ ,$all_steps, == *,"$step",* ]] || refuse "there is no step '$step'; --steps takes some of $all_steps"
    done
    choose_steps
    [[ $rounds =~ ^([1-9][0-9]{0,3})?$ ]] || refuse "--rounds takes a whole number from 1 to 9999, not '$rounds'"
    [ -n "$rounds" ] || rounds=$([ $short = yes ] && echo 2 || echo 21)
    [[ $seconds =~ ^([1-9][0-9]{0,4})?$ ]] || refuse "--seconds takes a whole number from 1 to 99999, not '$seconds'"
    [ -z "$pack" ] || [ -z "$build" ] || refuse "--pack builds, and --from-build does not; leave one out"
    [ -z "$pack" ] || out=$pack
    [ -z "$build" ] || check_build
    if ! mkdir -p "$out" 2>/dev/null || ! [ -w "$out" ]; then
        refuse "$([ -z "$pack" ] && echo --out || echo --pack): nothing can be written into $out"
    fi
    out=$(cd "$out" && pwd)
    [ -z "$pack" ] || ! [ "$out" -ef "${VKROPE_BUILD:-$root/build}" ] || refuse "--pack: $out is the folder to build in; name another"
}

# Puts the steps into their order, and finds the end of the report's name.
choose_steps() {
    local step chosen=''
    if [ -z "$steps" ]; then # Python's part takes minutes
        steps=$([ $short = yes ] && echo "${all_steps/,tool/}" || echo "$all_steps")
        return
    fi
    for step in ${all_steps//,/ }; do
        [[ ,$steps, != *,"$step",* ]] || chosen+=,$step
    done
    steps=${chosen#,}
    part=-${steps//,/-}
}

check_build() {
    local name
    [ -d "$build" ] || refuse "--from-build: there is no folder $build"
    build=$(cd "$build" && pwd)
    for name in vkrope vkrope-tests; do
        [ "$name" = vkrope ] || [[ ,$steps, == *,"${name#vkrope-}",* ]] || continue
        [ -x "$build/$name" ] || refuse "--from-build: there is no program $name in $build"
    done
    if [ -f "$build/commit" ]; then
        programs="of $(cat "$build/commit")"
    else
        programs="built before, at $(date -u -r "$build/vkrope" '+%Y-%m-%d %H:%M') UTC; the commit is that of these scripts"
    fi
    [ ! -d "$build/lib" ] || use_libraries "$build/lib"
}

use_libraries() { export LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; }

# ---- Steps: each prints what goes into the report ------------------------------------------------------------------------

jobs() {
    local count
    count=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
    echo $((count < 14 ? count : 14))
}

run_build() {
    build_programs >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" >&2 && return 1; }
}

build_programs() {
    local -a generator=()
    if ! [ -f "$build/build.ninja" ] && ! [ -f "$build/Makefile" ]; then
        rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles" # half made
        if command -v ninja >/dev/null; then generator=(-G Ninja); fi
    fi
    if ! grep -qs '^VKROPE_BUILD_TESTS:BOOL=ON$' "$build/CMakeCache.txt"; then
        cmake -S "$root" -B "$build" ${generator[@]+"${generator[@]}"} -DCMAKE_BUILD_TYPE=Release -DVKROPE_BUILD_TESTS=ON \
            -DVKROPE_BUILD_DEVICE=ON -DVKROPE_BUILD_TOOL=ON || return
    fi
    cmake --build "$build" --parallel "$(jobs)" --target vkrope-tool vkrope-tests
}

# Leaves out what the machine that runs the programs has: the C and C++ libraries. The commit comes last.
pack_programs() {
    local name library
    mkdir -p "$out/lib" "$out/loader"
    rm -f "$out/commit"
    cp -r "$build/shaders" "$build/unpacked" "$out"
    [ ! -d "$build/beside" ] || cp -r "$build/beside" "$out"
    for name in vkrope vkrope-tests; do
        strip -o "$out/$name" "$build/$name"
    done
    for name in libmpfr libgmp; do
        library=$(ldd "$build/vkrope-tests" | awk -v name="$name" 'index($1, name) == 1 { print $3 }')
        cp -L "$library" "$out/lib/"
    done
    library=$(PATH=$PATH:/sbin ldconfig -p | awk '$1 == "libvulkan.so.1" && !found++ { print $NF }')
    [ -z "$library" ] || cp -L "$library" "$out/loader/"
    pack_layer
    echo "$commit" >"$out/commit"
}

# The validation layer, whose json names a library beside it.
pack_layer() {
    local json=/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json name=libVkLayer_khronos_validation.so library
    library=$(PATH=$PATH:/sbin ldconfig -p | awk -v name=$name '$1 == name && !found++ { print $NF }')
    [ -f "$json" ] && [ -n "$library" ] || return 0
    mkdir -p "$out/layers"
    cp -L "$library" "$out/layers/$name"
    sed "s|\"library_path\": \"[^\"]*\"|\"library_path\": \"./$name\"|" "$json" >"$out/layers/${json##*/}"
}

# The tests share the processors. A GPU's run takes none that names lavapipe or SwiftShader. The pack's validation layer serves
# where there is one; without any layer the tests run all the same.
run_tests() {
    local wanted='*' count i status=0 one
    local -a processes=()
    [ $short = no ] || wanted='Index.*:BenchClock.*:Every/Submission.*:Every/BenchRepeats.*'
    is_of_cpu || wanted+='-*lavapipe*:*SwiftShader*'
    count=$(jobs)
    [ ! -d "$build/layers" ] || export VK_LAYER_PATH=$build/layers
    export VKROPE_TEST_ROOT=$root VKROPE_TEST_BUILD=$build
    for ((i = 0; i < count; ++i)); do
        GTEST_TOTAL_SHARDS=$count GTEST_SHARD_INDEX=$i "$build/vkrope-tests" \
            "--gtest_filter=$wanted" >"$work/shard.$i" 2>&1 &
        processes+=($!)
    done
    for one in "${processes[@]}"; do
        i=0
        wait "$one" || i=$?
        [ $i = 0 ] || [ $i = 77 ] || status=1 # 77: all of a process' tests were skipped
    done
    read_tests
    if [ "$on_a_device" = 0 ]; then
        echo "no test of a device passed" >&2
        status=1
    fi
    return $status
}

# Reads GoogleTest's lines "[       OK ] Suite.Test (3 ms)", also of tests that were stopped. A test of a device has its name
# behind a slash: Every/Rotate.Turns/device0.
read_tests() {
    local shard line ended
    local -a text=()
    passed=0 skipped=0 on_a_device=0 without_layer=''
    failures=() last=()
    for shard in "$work"/shard.*; do
        ended=no
        while IFS= read -r line; do
            case $line in
            '[ RUN      ] '*) text=() ;;
            '[       OK ] '*' ms)')
                passed=$((passed + 1))
                [[ $line != *' Every/'*/* ]] || on_a_device=$((on_a_device + 1))
                ;;
            '[  SKIPPED ] '*' ms)') skipped=$((skipped + 1)) ;;
            '[  FAILED  ] '*' ms)') failures+=("failed: ${line#*] }" "${text[@]:0:20}") ;;
            '[==========] '*' ran.'*) ended=yes ;;
            'devices are tried without the validation layer') without_layer=', without the validation layer' ;;
            *) text+=("    $line") ;;
            esac
        done <"$shard"
        [ $ended = yes ] || last+=("$(tail -n 5 "$shard")")
    done
}

count_tests() {
    local line failed=0
    read_tests
    for line in "${failures[@]}"; do [[ $line != 'failed: '* ]] || failed=$((failed + 1)); done
    echo "$passed tests passed, $on_a_device of them on a device$without_layer; $skipped were skipped, $failed failed, ${#last[@]} processes ended early"
    [ ${#failures[@]} = 0 ] || printf '%s\n' "${failures[@]}"
    [ ${#last[@]} = 0 ] || printf 'a process ended early: %s\n' "${last[@]}"
}

# The program's tests take Python with numpy.
run_tool() {
    local name status=0
    python3 -c 'import numpy' 2>/dev/null || { echo "left out: there is no python3 with numpy" && return 0; }
    for name in $(python3 "$root/tests/program/run.py" --list); do
        if python3 "$root/tests/program/run.py" "$build/vkrope" "$name" >"$work/one" 2>&1; then
            echo "passed: $name"
        elif [ $? = 77 ]; then
            echo "skipped: $name"
        else
            echo "failed: $name: $(tail -n 1 "$work/one")"
            status=1
        fi
    done
    return $status
}

run_check() { "$build/vkrope" check --quick ${on_device[@]+"${on_device[@]}"}; }

bench() { "$build/vkrope" bench ${rounds:+--rounds "$rounds"} ${on_device[@]+"${on_device[@]}"} "$@"; }

run_rotation() {
    local tokens=1,8,32,128,512,4096,32768
    [ $short = no ] || tokens=1,32
    bench --source rows,table,inline --element f32,f16,bf16 --place in-place,out-of-place --tokens "$tokens"
}

# The other steps' pipelines go without a driver's checks of bounds where the device lets them.
run_bounds() {
    local tokens=1,32,512,4096 status=0 kind kinds='qkv qwen3'
    [ $short = no ] || tokens=1 kinds='qkv_inline qwen3_inline'
    bench --bounds-checks --source rows,table,inline --element f32,f16,bf16 --place in-place --tokens "$tokens" || status=$?
    for kind in $kinds; do
        bench --bounds-checks --fused --only "$kind" --tokens "$tokens" || status=$?
    done
    return $status
}

# Other models' heads, a batch of sequences, and sequences of several lengths in one.
run_models() {
    local models=gemma3,qwen3-0.6b,deepseek-v3,vision-72,vision-80 tokens=4096 sequence=512 status=0
    [ $short = no ] || models=gemma3,vision-72 tokens=16 sequence=4
    local -a common=(--source rows,inline --element f32,f16,bf16 --place in-place)
    bench "${common[@]}" --model "$models" --tokens "$tokens" || status=$?
    bench "${common[@]}" --batch 8 --tokens "$sequence" || status=$?
    bench "${common[@]}" --packed 8 --tokens "$tokens" || status=$?
    return $status
}

run_table() { bench --table --tokens "$([ $short = yes ] && echo 1,32 || echo 1,32,512,4096,32768)"; }

run_fused() {
    local kind status=0
    if [ $short = no ]; then
        bench --fused --tokens 1,32,512,4096
        return
    fi
    for kind in kv_q8_0_hadamard qwen3_inline shift; do
        bench --fused --only "$kind" --tokens 16 || status=$?
    done
    return $status
}

run_encodings() {
    if [ $short = yes ]; then
        bench --encodings --tokens 8
    else
        bench --encodings
    fi
}

# ggml's shaders, if bench/beside.sh has put them into the build folder.
run_beside() {
    local status=0
    if [ ! -d "$build/beside" ]; then
        echo 'there are no shaders of ggml here, which bench/beside.sh compiles into the folder beside/ of the build folder'
        return
    fi
    bench --tokens 512 --element f32 --place in-place --beside "$build/beside/rope.json" || status=$?
    bench --fused --only kv_f32_to_f16_inline --tokens 512 --beside "$build/beside/rope_set_rows.json" || status=$?
    bench --fused --only kv_q8_0_hadamard --tokens 512 --beside "$build/beside/hadamard.json" || status=$?
    return $status
}

run_picture() {
    local -a cases=(--tokens 1,8,32,512,4096,32768)
    [ $short = no ] || cases=(--tokens 1,32 --element f32)
    bench --place out-of-place "${cases[@]}" --json >"$work/picture.json" || return
    export PYTHONPATH=$build/python${PYTHONPATH:+:$PYTHONPATH}
    if python3 -c 'from importlib.util import find_spec; exit(not (find_spec("matplotlib") and find_spec("vkrope.__main__")))' 2>/dev/null; then
        python3 -m vkrope plot bandwidth --out "$work/picture.svg" "$work/picture.json"
    else
        echo 'no picture was drawn, for which python3 has no vkrope or no matplotlib: python3 -m vkrope plot bandwidth draws the .json'
    fi
}

# Runs a function in a group of processes of its own until it ends or the time is over, and returns its status.
in_group() { # FUNCTION OUTPUT ERRORS
    local status=0
    set -m
    (set +m && "$1") >"$2" 2>"$3" </dev/null &
    child=$!
    set +m
    while kill -0 "$child" 2>/dev/null && ! is_over; do sleep 0.2; done
    ! is_over || end_group
    wait "$child" || status=$?
    child=''
    return $status
}

is_over() { [ -n "$seconds" ] && [ "$SECONDS" -ge "$seconds" ]; }

# A program that does not hear the first signal is killed after three seconds.
end_group() {
    local i
    kill -TERM -- "-$child" 2>/dev/null || return 0
    for ((i = 0; i < 15; ++i)); do
        sleep 0.2
        kill -0 -- "-$child" 2>/dev/null || return 0
    done
    kill -KILL -- "-$child" 2>/dev/null || true
}

# Runs one step, keeps what it prints, and notes how it ended.
do_step() {
    local step=$1 begin=$SECONDS status=0
    if is_over; then
        end_step "$step" '**left out**: no time was left' 0
        return
    fi
    echo "gpu.sh: $step"
    running=$step
    in_group "run_$step" "$work/$step.out" "$work/$step.err" || status=$?
    if [ $status -gt 128 ] && is_over; then
        end_step "$step" '**stopped**: the time was over' $((SECONDS - begin))
        echo "gpu.sh: $step was stopped: the time was over" >&2
    elif [ $status != 0 ]; then
        end_step "$step" "**failed**, exit status $status" $((SECONDS - begin))
        echo "gpu.sh: $step failed: $(tail -n 1 "$work/$step.err")" >&2
    else
        end_step "$step" 'done' $((SECONDS - begin))
    fi
}

end_step() {
    result[$1]=$2
    took[$1]=$3
    running=''
    [ "$2" = 'done' ] || failed+=("$1")
    [ "$1" != tests ] || ! [ -f "$work/shard.0" ] || count_tests >>"$work/tests.out"
}

interrupt() {
    trap '' INT TERM HUP
    [ -z "$child" ] || end_group
    [ -z "$running" ] || end_step "$running" '**interrupted**' ''
    [ -z "$name" ] || leave_report "$file.partial"
    exit $((128 + $1))
}

# ---- The report ----------------------------------------------------------------------------------------------------------

# Returns the first value of that name in the JSON of a small bench, which is the device's.
device_value() {
    local line
    while IFS= read -r line; do
        [[ $line =~ ^\ *\"$1\":\ \"(.*)\",?$ ]] || continue
        line=${BASH_REMATCH[1]//\\\"/\"}
        echo "${line//\\\\/\\}"
        return
    done <"$work/device.json"
}

run_small_bench() { rounds=1 bench --tokens 1 --element f32 --place in-place --json; }

ask_device() {
    in_group run_small_bench "$work/device.json" "$work/device.err" || true
    asked=$(device_value name) || true
    ! is_over || refuse "no time was left after a first look at the device"
}

# Some machines keep NVIDIA's driver where no loader looks, and some have no loader.
find_device() {
    local place=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
    ask_device
    if [ -z "$asked" ] && [ -d "$build/loader" ]; then
        use_libraries "$build/loader"
        ask_device
    fi
    if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] && [ -f "$place" ] && { [ -z "$asked" ] || is_of_cpu; }; then
        export VK_DRIVER_FILES=$place VK_ICD_FILENAMES=$place
        ask_device
        [ -n "$asked" ] || { unset VK_DRIVER_FILES VK_ICD_FILENAMES && ask_device; }
    fi
    [ -n "$asked" ] || refuse "there is no device to measure: $(tail -n 1 "$work/device.err")"
    # A CPU's driver is measured if it was asked for.
    ! is_of_cpu || [ -n "$device" ] || [ $short = yes ] ||
        refuse "the best device is $asked, a CPU's driver; name it with --device if it is to be measured"
    driver=$(device_value driver) || true
    file=$(tr '[:upper:]' '[:lower:]' <<<"$asked")
    file=${file//(r)/} file=${file//(tm)/}
    file=$(tr -cs 'a-z0-9' '-' <<<"$file")
    file=${file#-} file=${file%-}
    file=${file:-device}$part
    [ $short = no ] || file+=-short
    name=$asked
}

is_of_cpu() { [ "$(device_value type)" = cpu ]; }

# A repository that holds this folder's copy says nothing of it.
find_commit() {
    local top
    top=$(git -C "$root" rev-parse --show-toplevel 2>/dev/null) || true
    if [ -n "${VKROPE_COMMIT:-}" ] || [ "$top" != "$root" ]; then
        echo "${VKROPE_COMMIT:-unknown}"
    else
        git -C "$root" describe --always --dirty --abbrev=12 --exclude '*'
    fi
}

title_of() {
    case $1 in
    build) echo 'The build' ;;
    tests) echo 'The tests that name no driver' ;;
    tool) echo "The program's tests" ;;
    check) echo 'The device against the reference' ;;
    rotation) echo 'Rotations' ;;
    bounds) echo "Rotations with a driver's checks of bounds" ;;
    models) echo 'Rotations of other models, batches and packed sequences' ;;
    table) echo 'Tables of cosines and sines' ;;
    fused) echo 'Fused passes' ;;
    encodings) echo 'Other encodings' ;;
    beside) echo 'Beside the shaders of ggml' ;;
    picture) echo 'Bandwidth' ;;
    esac
}

print_report() { # NAME
    local step
    echo "# $name"
    echo
    echo "- driver: $driver"
    echo "- date: $(date -u +%Y-%m-%d)"
    echo "- commit: $commit"
    [ -z "$programs" ] || echo "- programs: $programs"
    echo "- rounds of each case: $rounds$([ $short = no ] || echo ', and fewer lengths and fused passes (--short)')"
    echo "- failed or left out: $([ ${#failed[@]} = 0 ] && echo nothing || echo "${failed[*]}")"
    echo
    echo "| step | seconds | result |"
    echo "|---|---|---|"
    for step in ${steps//,/ }; do
        echo "| $step | ${took[$step]:-} | ${result[$step]:-**not run**} |"
    done
    for step in ${steps//,/ }; do
        [ -f "$work/$step.out" ] || continue
        printf '\n## %s\n\n' "$(title_of "$step")"
        if [ "$step" = picture ] && [ -f "$work/picture.svg" ]; then
            echo "![Bandwidth over the bytes moved]($1.svg)"
            continue
        fi
        echo '```'
        cat "$work/$step.out"
        [ -z "$(tail -c 1 "$work/$step.out")" ] || echo # what was stopped may end in a line
        [ "${result[$step]}" = 'done' ] || tail -n 20 "$work/$step.err"
        echo '```'
    done
}

# A report is moved to its place when it is whole, and what lies beside it before. What was measured stays in any case.
leave_report() { # NAME
    if ! { mkdir -p "$out" && write_report "$1"; }; then
        echo "gpu.sh: no report could be written into $out; what was measured is in $work" >&2
        trap - EXIT
        return 1
    fi
    [ "$1" = "$file.partial" ] || rm -f "$out/$file.partial".{md,json,svg}
}

write_report() { # NAME
    local ending
    for ending in json svg; do
        [ -f "$work/picture.$ending" ] || continue
        cp "$work/picture.$ending" "$out/.$1.$ending.$$" && mv "$out/.$1.$ending.$$" "$out/$1.$ending" || return
    done
    print_report "$1" >"$out/.$1.md.$$" && mv "$out/.$1.md.$$" "$out/$1.md"
}

# Builds here. Packages are asked for in front, where a password can be given.
build_here() {
    build=${VKROPE_BUILD:-$root/build}
    mkdir -p "$build"
    build=$(cd "$build" && pwd)
    export VKROPE_BUILD=$build
    "$root/host/package/install_packages.sh" gpu >"$work/packages.log" 2>&1 || cat "$work/packages.log" >&2
    do_step build
}

parse "$@"
check_arguments
commit=$(find_commit)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkrope-gpu.XXXXXX")
trap 'rm -rf "$work"; rm -f "$out"/.*.{md,json,svg}.$$' EXIT
on_device=()
[ -z "$device" ] || on_device=(--device "$device")
failed=() child='' running='' name='' asked=''
declare -A took=() result=()
trap 'interrupt 1' HUP
trap 'interrupt 2' INT
trap 'interrupt 15' TERM

if [ -n "$pack" ]; then
    build_here
    [ "${result[build]}" = 'done' ] || exit 1
    pack_programs
    echo "gpu.sh: $out has the programs of $commit"
    exit 0
fi
if [ -z "$build" ]; then
    build_here
    steps=build,$steps
    if [ "${result[build]}" != 'done' ]; then # there is nothing else to do
        steps=build name='no device' driver='unknown, as no program was built' file=no-device
        leave_report "$file"
        exit 1
    fi
fi
find_device
for step in ${steps//,/ }; do
    [ "$step" = build ] || do_step "$step"
    leave_report "$file.partial"
done
leave_report "$file"
echo "gpu.sh: $out/$file.md"
[ ${#failed[@]} = 0 ]
