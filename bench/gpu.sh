#!/usr/bin/env bash
# Tries and measures vkrope on this machine's GPU, and leaves one report: bench/results/DEVICE.md, and DEVICE.svg beside it.
#   gpu.sh [--from-build DIR] [--device D] [--steps LIST] [--rounds N] [--short] [--out DIR]
#   --from-build DIR  uses the programs that were built into DIR; bash and coreutils are enough then
#   --device D        a device's index or a part of its name; without it the best there is. The tests take every device.
#   --steps LIST      some of quickstart,tests,tool,check,rotation,bounds,models,table,fused,encodings,picture;
#                     without it all
#   --rounds N        of each case that is timed; without it 21
#   --short           fewer tests, lengths and rounds: half a minute on a CPU's driver
#   --out DIR         another folder for the report
#   --help            prints this.
# Exit status 1: a step failed, and the report says which. 2: an argument is wrong, and nothing was done.
# VKROPE_BUILD names the folder to build in. VK_DRIVER_FILES, where set, names the drivers. The tests read this repository at
# the path where they were built. Where there is no git, VKROPE_COMMIT names the commit.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly all_steps=quickstart,tests,tool,check,rotation,bounds,models,table,fused,encodings,picture
build='' programs='' device='' steps='' rounds='' short=no out=$root/bench/results

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
        --from-build | --device | --steps | --rounds | --out) ;;
        *) refuse "there is no argument '$1'; --help names those there are" ;;
        esac
        [ $# -ge 2 ] && [ -n "$2" ] || refuse "$1 needs a value after it; --help says which"
        case $1 in
        --from-build) build=$2 ;;
        --device) device=$2 ;;
        --steps) steps=$2 ;;
        --rounds) rounds=$2 ;;
        --out) out=$2 ;;
        esac
        shift 2
    done
}

check_arguments() {
    local step name
    if [ -z "$steps" ]; then # Python's part takes minutes
        steps=$([ $short = yes ] && echo "${all_steps/tool,/}" || echo "$all_steps")
    fi
    for step in ${steps//,/ }; do
        [[ ,$all_steps, == *,"$step",* ]] || refuse "there is no step '$step'; --steps takes some of $all_steps"
    done
    [[ $rounds =~ ^([1-9][0-9]{0,3})?$ ]] || refuse "--rounds takes a whole number from 1 to 9999, not '$rounds'"
    [ -n "$rounds" ] || rounds=$([ $short = yes ] && echo 2 || echo 21)
    if [ -n "$build" ]; then
        [ -d "$build" ] || refuse "--from-build: there is no folder $build"
        build=$(cd "$build" && pwd)
        for name in vkrope vkrope-quickstart vkrope-tests; do
            [ -x "$build/$name" ] || refuse "--from-build: there is no program $name in $build"
        done
        programs="built before, at $(date -u -r "$build/vkrope" '+%Y-%m-%d %H:%M') UTC; the commit is that of these scripts"
    fi
    mkdir -p "$out" 2>/dev/null && [ -w "$out" ] || refuse "--out: nothing can be written into $out"
    out=$(cd "$out" && pwd)
}

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
    "$root/host/package/install_packages.sh" gpu || return
    local -a generator=()
    if ! [ -f "$build/build.ninja" ] && ! [ -f "$build/Makefile" ]; then
        rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles" # half made
        if command -v ninja >/dev/null; then generator=(-G Ninja); fi
    fi
    if ! grep -qs '^VKROPE_BUILD_TESTS:BOOL=ON$' "$build/CMakeCache.txt"; then
        cmake -S "$root" -B "$build" ${generator[@]+"${generator[@]}"} -DCMAKE_BUILD_TYPE=Release -DVKROPE_BUILD_TESTS=ON \
            -DVKROPE_BUILD_DEVICE=ON -DVKROPE_BUILD_TOOL=ON || return
    fi
    cmake --build "$build" --parallel "$(jobs)" --target vkrope-tool vkrope-quickstart vkrope-tests
}

run_quickstart() { "$build/vkrope-quickstart" ${on_device[@]+"${on_device[@]}"}; }

# The tests share the processors; none that names lavapipe or SwiftShader is run.
run_tests() {
    local wanted='*' count i status=0 one
    local -a processes=()
    [ $short = no ] || wanted='Index.*:BenchClock.*:Every/Submission.*:Every/BenchRepeats.*'
    count=$(jobs)
    for ((i = 0; i < count; ++i)); do
        GTEST_TOTAL_SHARDS=$count GTEST_SHARD_INDEX=$i "$build/vkrope-tests" \
            "--gtest_filter=$wanted-*lavapipe*:*SwiftShader*" >"$work/shard.$i" 2>&1 &
        processes+=($!)
    done
    for one in "${processes[@]}"; do
        i=0
        wait "$one" || i=$?
        [ $i = 0 ] || [ $i = 77 ] || status=1 # 77: all of a process' tests were skipped
    done
    count_tests
    return $status
}

# Counts GoogleTest's lines "[       OK ] Suite.Test (3 ms)". A process that ended early shows its last lines.
count_tests() {
    local shard line ended passed=0 skipped=0
    local -a failures=() last=()
    for shard in "$work"/shard.*; do
        ended=no
        while IFS= read -r line; do
            case $line in
            '[       OK ] '*' ms)') passed=$((passed + 1)) ;;
            '[  SKIPPED ] '*' ms)') skipped=$((skipped + 1)) ;;
            '[  FAILED  ] '*' ms)') failures+=("${line#*] }") ;;
            '[==========] '*' ran.'*) ended=yes ;;
            esac
        done <"$shard"
        [ $ended = yes ] || last+=("$(tail -n 5 "$shard")")
    done
    echo "$passed tests passed, $skipped were skipped, ${#failures[@]} failed"
    [ ${#failures[@]} = 0 ] || printf 'failed: %s\n' "${failures[@]}"
    [ ${#last[@]} = 0 ] || printf 'a process ended early: %s\n' "${last[@]}"
}

# The program's tests take Python with numpy.
run_tool() {
    local name status=0
    python3 -c 'import numpy' 2>/dev/null || { echo "left out: there is no python3 with numpy" && return 0; }
    for name in $(python3 "$root/tests/tool/run.py" --list); do
        if python3 "$root/tests/tool/run.py" "$build/vkrope" "$name" >"$work/one" 2>&1; then
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
    local tokens=1,32,4096
    [ $short = no ] || tokens=1
    bench --bounds-checks --source rows,inline --element f32,f16 --place in-place --tokens "$tokens"
}

# Other models' heads, a batch of sequences, and sequences of several lengths in one.
run_models() {
    local models=gemma3,qwen3-0.6b,deepseek-v3,vision-72,vision-80 tokens=4096 sequence=512
    [ $short = no ] || models=gemma3,vision-72 tokens=16 sequence=4
    local -a common=(--source rows,inline --element f32,f16,bf16 --place in-place)
    bench "${common[@]}" --model "$models" --tokens "$tokens" &&
        bench "${common[@]}" --batch 8 --tokens "$sequence" &&
        bench "${common[@]}" --packed 8 --tokens "$tokens"
}

run_table() { bench --table --tokens "$([ $short = yes ] && echo 1,32 || echo 1,32,512,4096,32768)"; }

run_fused() { bench --fused --tokens "$([ $short = yes ] && echo 16 || echo 1,32,512,4096)"; }

run_encodings() {
    if [ $short = yes ]; then
        bench --encodings --tokens 8
    else
        bench --encodings
    fi
}

run_picture() {
    local -a fewer=()
    [ $short = no ] || fewer=(--tokens 1,32 --element f32)
    bench --plot "$work/picture.svg" ${fewer[@]+"${fewer[@]}"} >/dev/null
}

# Runs one step in a process of its own, keeps what it prints, and notes how long it took.
do_step() {
    local step=$1 begin=$SECONDS status=0
    echo "gpu.sh: $step"
    ("run_$step") >"$work/$step.out" 2>"$work/$step.err" || status=$?
    took[$step]=$((SECONDS - begin))
    result[$step]=$status
    [ $status = 0 ] || failed+=("$step")
    [ $status = 0 ] || echo "gpu.sh: $step failed: $(tail -n 1 "$work/$step.err")" >&2
}

# ---- The report ----------------------------------------------------------------------------------------------------------

# The first line of that name in the JSON of a small bench is the device's.
device_value() {
    local line
    while IFS= read -r line; do
        [[ $line =~ ^\ *\"$1\":\ \"(.*)\",?$ ]] && echo "${BASH_REMATCH[1]}" && return
    done <"$work/device.json"
}

ask_device() {
    rounds=1 bench --tokens 1 --element f32 --place in-place --json >"$work/device.json" 2>"$work/device.err" || true
    name=$(device_value name) || true
    driver=$(device_value driver) || true
    if [ -z "$name" ]; then
        name='no device'
        driver='unknown, as no program was built'
        [ ! -x "$build/vkrope" ] || driver=$(tail -n 1 "$work/device.err")
    fi
    file=${name%%(*}
    file=$(tr '[:upper:]' '[:lower:]' <<<"$file" | tr -cs 'a-z0-9' '-')
    file=${file#-} file=${file%-}
    [ -n "$file" ] || file=device
}

commit() { git -C "$root" describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || echo "${VKROPE_COMMIT:-unknown}"; }

title_of() {
    case $1 in
    build) echo 'The build' ;;
    quickstart) echo 'The first program' ;;
    tests) echo 'The tests that name no driver' ;;
    tool) echo "The program's tests" ;;
    check) echo 'The device against the reference' ;;
    rotation) echo 'Rotations' ;;
    bounds) echo "Rotations with a driver's checks of bounds" ;;
    models) echo 'Rotations of other models, batches and packed sequences' ;;
    table) echo 'Tables of cosines and sines' ;;
    fused) echo 'Fused passes' ;;
    encodings) echo 'Other encodings' ;;
    picture) echo 'Bandwidth' ;;
    esac
}

print_report() {
    local step
    echo "# $name"
    echo
    echo "- driver: $driver"
    echo "- date: $(date -u +%Y-%m-%d)"
    echo "- commit: $(commit)"
    [ -z "$programs" ] || echo "- programs: $programs"
    echo "- rounds of each case: $rounds$([ $short = no ] || echo ', and fewer lengths (--short)')"
    echo "- failed: $([ ${#failed[@]} = 0 ] && echo nothing || echo "${failed[*]}")"
    echo
    echo "| step | seconds | result |"
    echo "|---|---|---|"
    for step in ${steps//,/ }; do
        echo "| $step | ${took[$step]} | $([ "${result[$step]}" = 0 ] && echo done || echo "**failed**, exit status ${result[$step]}") |"
    done
    for step in ${steps//,/ }; do
        printf '\n## %s\n\n' "$(title_of "$step")"
        if [ "$step" = picture ] && [ -f "$work/picture.svg" ]; then
            echo "![Bandwidth over the bytes moved]($file.svg)"
            continue
        fi
        echo '```'
        cat "$work/$step.out"
        [ "${result[$step]}" = 0 ] || tail -n 20 "$work/$step.err"
        echo '```'
    done
}

# A report is moved to its place when it is whole, and its picture before it.
leave_report() {
    if [ -f "$work/picture.svg" ]; then
        cp "$work/picture.svg" "$out/.$file.svg.$$"
        mv "$out/.$file.svg.$$" "$out/$file.svg"
    fi
    print_report >"$out/.$file.md.$$"
    mv "$out/.$file.md.$$" "$out/$file.md"
    echo "gpu.sh: $out/$file.md"
}

parse "$@"
check_arguments
work=$(mktemp -d "${TMPDIR:-/tmp}/vkrope-gpu.XXXXXX")
trap 'rm -rf "$work"; rm -f "$out"/.*.md.$$ "$out"/.*.svg.$$' EXIT
on_device=()
[ -z "$device" ] || on_device=(--device "$device")
failed=()
declare -A took=() result=()

if [ -z "$build" ]; then
    build=${VKROPE_BUILD:-$root/build}
    mkdir -p "$build"
    build=$(cd "$build" && pwd)
    export VKROPE_BUILD=$build
    do_step build
    # Without programs there is nothing else to do.
    if [ "${result[build]}" = 0 ]; then steps=build,$steps; else steps=build; fi
fi
ask_device
for step in ${steps//,/ }; do
    [ "$step" = build ] || do_step "$step"
done
leave_report
[ ${#failed[@]} = 0 ]
