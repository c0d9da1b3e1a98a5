#!/usr/bin/env bash
# Tries and measures vkrope on this machine's GPU, and leaves one report: bench/results/DEVICE.md, and DEVICE.svg beside it.
#   gpu.sh [--from-build DIR] [--device D] [--steps LIST] [--rounds N] [--seconds N] [--short] [--out DIR]
#   gpu.sh --pack DIR
#   --from-build DIR  uses the programs in DIR that were built or packed before; bash and coreutils are enough then
#   --device D        a device's index or a part of its name; without it the best GPU there is. The tests take every device.
#   --steps LIST      some of quickstart,check,rotation,fused,encodings,models,bounds,table,picture,tests,tool, in
#                     this order; without it all. The names of the report's files then end with those of the steps
#   --rounds N        of each case that is timed; without it 21
#   --seconds N       after so long the step that runs is stopped, and the others are left out; without it there is no limit
#   --short           fewer tests, lengths and rounds: half a minute on a CPU's driver
#   --out DIR         another folder for the report
#   --pack DIR        builds, and puts what another machine needs beside this repository's files into DIR: programs, shaders,
#                     shared libraries, the commit. There: gpu.sh --from-build DIR
#   --help            prints this.
# The report is renewed after each step, also when the script is interrupted.
# Exit status 1: a step failed, was stopped or left out, and the report says which. 2: an argument is wrong or there is no
# device, and nothing was measured.
# VKROPE_BUILD names the folder to build in. VK_DRIVER_FILES, where set, names the drivers. Where there is no git,
# VKROPE_COMMIT names the commit.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly all_steps=quickstart,check,rotation,fused,encodings,models,bounds,table,picture,tests,tool
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
    mkdir -p "$out" 2>/dev/null && [ -w "$out" ] || refuse "--out: nothing can be written into $out"
    out=$(cd "$out" && pwd)
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
    for name in vkrope vkrope-quickstart vkrope-tests; do
        [ "$name" = vkrope ] || [[ ,$steps, == *,"${name#vkrope-}",* ]] || continue
        [ -x "$build/$name" ] || refuse "--from-build: there is no program $name in $build"
    done
    if [ -f "$build/commit" ]; then
        programs="of $(cat "$build/commit")"
    else
        programs="built before, at $(date -u -r "$build/vkrope" '+%Y-%m-%d %H:%M') UTC; the commit is that of these scripts"
    fi
    [ ! -d "$build/lib" ] || export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
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
    cmake --build "$build" --parallel "$(jobs)" --target vkrope-tool vkrope-quickstart vkrope-tests || return
    commit >"$build/commit"
}

# Leaves out what the machine that runs the programs has: the C and C++ libraries.
pack_programs() {
    local name library
    mkdir -p "$out/lib"
    cp -r "$build/shaders" "$build/commit" "$out"
    for name in vkrope vkrope-quickstart vkrope-tests; do
        strip -o "$out/$name" "$build/$name"
    done
    for library in $(ldd "$build/vkrope-tests" | awk '$3 ~ /mpfr|gmp/ { print $3 }') \
        $(/sbin/ldconfig -p | awk '$1 == "libvulkan.so.1" && !found++ { print $NF }'); do
        cp -L "$library" "$out/lib/"
    done
}

run_quickstart() { "$build/vkrope-quickstart" ${on_device[@]+"${on_device[@]}"}; }

# The tests share the processors; none that names lavapipe or SwiftShader is run.
run_tests() {
    local wanted='*' count i status=0 one
    local -a processes=()
    [ $short = no ] || wanted='Index.*:BenchClock.*:Every/Submission.*:Every/BenchRepeats.*'
    count=$(jobs)
    export VKROPE_TEST_ROOT=$root VKROPE_TEST_BUILD=$build
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
    echo "$passed tests passed, $skipped were skipped, ${#failures[@]} failed, ${#last[@]} processes ended early"
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
    local tokens=1,32,512,4096 status=0 kind
    [ $short = no ] || tokens=1
    bench --bounds-checks --source rows,table,inline --element f32,f16,bf16 --place in-place --tokens "$tokens" || status=$?
    for kind in qkv qwen3; do
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

# Runs one step in a group of processes of its own, keeps what it prints, and notes how it ended.
do_step() {
    local step=$1 begin=$SECONDS status=0 watch=''
    if [ -n "$seconds" ] && [ "$SECONDS" -ge "$seconds" ]; then
        end_step "$step" '**left out**: no time was left' 0
        return
    fi
    echo "gpu.sh: $step"
    running=$step
    set -m
    (set +m && "run_$step") >"$work/$step.out" 2>"$work/$step.err" &
    child=$!
    if [ -n "$seconds" ]; then
        (sleep $((seconds - SECONDS)) && end_group "$child") &
        watch=$!
        disown "$watch" # no word when it ends
    fi
    set +m
    wait "$child" || status=$?
    child=''
    [ -z "$watch" ] || kill -KILL -- "-$watch" 2>/dev/null || true
    if [ -n "$seconds" ] && [ "$SECONDS" -ge "$seconds" ] && [ $status -gt 128 ]; then
        end_step "$step" '**stopped**: the time was over' $((SECONDS - begin))
    elif [ $status != 0 ]; then
        end_step "$step" "**failed**, exit status $status" $((SECONDS - begin))
        echo "gpu.sh: $step failed: $(tail -n 1 "$work/$step.err")" >&2
    else
        end_step "$step" 'done' $((SECONDS - begin))
    fi
}

# A program may not hear the first signal.
end_group() {
    kill -TERM -- "-$1" 2>/dev/null || return 0
    sleep 3
    kill -KILL -- "-$1" 2>/dev/null || true
}

end_step() {
    result[$1]=$2
    took[$1]=$3
    running=''
    [ "$2" = 'done' ] || failed+=("$1")
}

interrupt() {
    trap '' INT TERM HUP
    [ -z "$child" ] || end_group "$child"
    [ -z "$running" ] || end_step "$running" '**interrupted**' ''
    [ -z "$name" ] || leave_report
    exit $((128 + $1))
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
    file=${name%%(*}
    file=$(tr '[:upper:]' '[:lower:]' <<<"$file" | tr -cs 'a-z0-9' '-')
    file=${file#-} file=${file%-}
    file=${file:-device}$part
}

# Some machines keep NVIDIA's driver where no loader looks. A CPU's driver is measured if it was asked for.
find_device() {
    local place=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
    ask_device
    if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] && [ -f "$place" ] && [[ $name != NVIDIA* ]]; then
        export VK_DRIVER_FILES=$place VK_ICD_FILENAMES=$place
        ask_device
    fi
    [ -n "$name" ] || refuse "there is no device to measure: $(tail -n 1 "$work/device.err")"
    [ "$(device_value type)" != cpu ] || [ -n "$device" ] || [ $short = yes ] ||
        refuse "the best device is $name, a CPU's driver; name it with --device if it is to be measured"
}

# A repository that holds this folder's copy says nothing of it.
commit() {
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
            echo "![Bandwidth over the bytes moved]($file.svg)"
            continue
        fi
        echo '```'
        cat "$work/$step.out"
        [ "${result[$step]}" = 'done' ] || tail -n 20 "$work/$step.err"
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
}

# Builds here. Without programs there is nothing else to do.
build_here() {
    build=${VKROPE_BUILD:-$root/build}
    mkdir -p "$build"
    build=$(cd "$build" && pwd)
    export VKROPE_BUILD=$build
    name='no device' driver='unknown, as no program was built' file=no-device
    do_step build
    if [ "${result[build]}" = 'done' ]; then steps=build,$steps; else steps=build; fi
}

parse "$@"
check_arguments
work=$(mktemp -d "${TMPDIR:-/tmp}/vkrope-gpu.XXXXXX")
trap 'rm -rf "$work"; rm -f "$out"/.*.md.$$ "$out"/.*.svg.$$' EXIT
on_device=()
[ -z "$device" ] || on_device=(--device "$device")
failed=() child='' running='' name=''
declare -A took=() result=()
trap 'interrupt 1' HUP
trap 'interrupt 2' INT
trap 'interrupt 15' TERM

if [ -n "$pack" ]; then
    build_here
    [ "${result[build]}" = 'done' ] || exit 1
    pack_programs
    echo "gpu.sh: $out has the programs of $(cat "$out/commit")"
    exit 0
fi
[ -n "$build" ] || build_here
[ "$steps" = build ] || find_device
for step in ${steps//,/ }; do
    [ "$step" = build ] || do_step "$step"
    leave_report
done
echo "gpu.sh: $out/$file.md"
[ ${#failed[@]} = 0 ]
