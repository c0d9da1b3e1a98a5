"""bench/gpu.sh: with programs that only pretend, and in short with the real ones."""
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import xml.etree.ElementTree

from program import PROGRAM, RUNNER, test, vulkan_devices

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "gpu.sh")
COREUTILS = ["cat", "cp", "date", "dirname", "mkdir", "mktemp", "mv", "rm", "sleep", "tail", "tr"]
DEVICE = '{\n  "device": {\n    "name": "Pretender 9 (tm)",\n    "driver": "words 1.2"\n  }\n}'
PICTURE = "<svg xmlns='http://www.w3.org/2000/svg'/>"
# vkrope: a failing command says so; --json is asked for the device, and for the picture.
STUB = f"""#!/bin/bash
[ "$1" != "${{STUB_FAILS:-nothing}}" ] || {{ echo "$1 broke" >&2; exit 3; }}
case " $* " in
*" --json "*) echo '{DEVICE}' && echo "\\"type\\": \\"${{STUB_TYPE:-discrete}}\\"" ;;
*) echo "stub: $*" ;;
esac
[[ " $* " != *" ${{STUB_HANGS:-nothing}} "* ]] || {{ echo $$ >hung && exec sleep 600; }}
"""
# python3 with matplotlib and vkrope, but without numpy. It draws only what was measured for it.
PYTHON = f"""#!/bin/bash
case "$1 $2" in
"-c import numpy") exit 1 ;;
"-c "*) [ -d "${{PYTHONPATH%%:*}}/vkrope" ] ;;
"-m vkrope") [ "$3 $4 $5" = "plot bandwidth --out" ] && [ -s "$7" ] && echo "{PICTURE}" >"$6" ;;
esac
"""
TESTS = """#!/bin/bash
[ "$1" = "--gtest_filter=${STUB_FILTER:-*}-*lavapipe*:*SwiftShader*" ] || exit 9
[ "$GTEST_SHARD_INDEX" = 0 ] || { echo '[==========] 0 tests from 0 test suites ran.'; exit 0; }
[ "${STUB_TESTS:-}" = deviceless ] || echo '[       OK ] Every/Some.Test/device0 (1 ms)'
case ${STUB_TESTS:-} in
deviceless) echo '[       OK ] Some.Test (1 ms)' ;;
fail) echo '[ RUN      ] Other.Test' && echo '3 is not 4' && echo '[  FAILED  ] Other.Test (2 ms)' && echo '[==========] 2 tests from 1 test suites ran. (1 ms)' && exit 1 ;;
crash) echo 'device lost' && exit 139 ;;
hang) echo '[  FAILED  ] Other.Test (2 ms)' && printf 'half a line' && sleep 600 ;;
esac
echo '[==========] 1 tests from 1 test suites ran. (1 ms)'
"""


def write_program(path, text):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def pretend():
    """A build folder, and a PATH that has bash and coreutils alone."""
    os.makedirs("build")
    write_program("build/vkrope", STUB)
    write_program("build/vkrope-tests", TESTS)
    os.makedirs("path")
    for name in [*COREUTILS, "bash"]:
        os.symlink(shutil.which(name), os.path.join("path", name))


def script(*arguments, status=0, path=None, **environment):
    bash = shutil.which("bash")
    if bash is None or RUNNER:
        sys.exit(77)
    done = subprocess.run([bash, SCRIPT, *arguments], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
                          env={**os.environ, **({"PATH": path} if path else {}), **environment})
    assert done.returncode == status, f"{arguments}: exit status {done.returncode}, not {status}: {done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def read(path):
    with open(path) as file:
        return file.read()


@test
def gpu_script_needs_nothing_but_programs_that_are_built():
    script("--help")
    pretend()
    path = os.path.abspath("path")
    script("--from-build", "build", "--out", "out", path=path, VKROPE_COMMIT="abc123")
    assert sorted(os.listdir("out")) == ["pretender-9.json", "pretender-9.md"], os.listdir("out")
    report = read("out/pretender-9.md")
    for line in ["# Pretender 9 (tm)", "- driver: words 1.2", "- commit: abc123", "- failed or left out: nothing",
                 "no picture was drawn, for which python3 has no vkrope or no matplotlib: python3 -m vkrope plot bandwidth draws the .json",
                 "1 tests passed, 1 of them on a device; 0 were skipped, 0 failed, 0 processes ended early",
                 "left out: there is no python3 with numpy", "stub: check --quick"]:
        assert line in report.splitlines(), f"{line} is not in {report}"
    lengths = "1,8,32,128,512,4096,32768"
    assert (f"stub: bench --rounds 21 --source rows,table,inline --element f32,f16,bf16 --place in-place,out-of-place "
            f"--tokens {lengths}") in report, report
    assert re.search(r"- programs: built before, at \d{4}-\d\d-\d\d \d\d:\d\d UTC; the commit is that of these scripts\n", report), report
    assert re.search(r"- date: \d{4}-\d\d-\d\d\n", report) and report.count("| done |") == 11, report
    for wanted in ["--model gemma3,qwen3-0.6b,deepseek-v3,vision-72,vision-80 --tokens 4096", "--batch 8 --tokens 512",
                   "--packed 8 --tokens 4096"]:
        assert f"stub: bench --rounds 21 --source rows,inline --element f32,f16,bf16 --place in-place {wanted}" in report, report
    assert "stub: bench --rounds 21 --bounds-checks --source rows,table,inline --element f32,f16,bf16 --place in-place" in report, report
    assert "stub: bench --rounds 21 --bounds-checks --fused --only qwen3 --tokens 1,32,512,4096" in report, report
    assert os.path.abspath(".") not in report, "a report has no paths of the machine"


@test
def gpu_script_draws_where_python_can():
    script("--help")
    pretend()
    path = os.path.abspath("path")
    write_program("path/python3", PYTHON)
    for drawn in [False, True]:
        script("--from-build", "build", "--out", "out", "--steps", "picture", path=path)
        names = [f"pretender-9-picture.{ending}" for ending in (["json", "md", "svg"] if drawn else ["json", "md"])]
        assert sorted(os.listdir("out")) == names, os.listdir("out")
        assert ("![Bandwidth over the bytes moved](pretender-9-picture.svg)\n" in read("out/" + names[1])) == drawn
        os.makedirs("build/python/vkrope", exist_ok=True)
    assert read("out/" + names[2]).strip() == PICTURE
    assert json.loads(read("out/" + names[0]).split("\n\"type\"")[0])["device"]["name"] == "Pretender 9 (tm)"


@test
def gpu_script_reports_what_failed():
    script("--help")
    pretend()
    for steps, environment, failed, words in [
        ("table,check", {"STUB_FAILS": "check"}, "check", ["check broke", "stub: bench --rounds 2 --table --tokens 1,32"]),
        ("check,tests", {"STUB_TESTS": "fail"}, "tests", ["1 tests passed, 1 of them on a device; 0 were skipped, 1 failed, 0 processes",
                                                                 "failed: Other.Test (2 ms)", "    3 is not 4"]),
        ("tests", {"STUB_TESTS": "deviceless"}, "tests", ["1 tests passed, 0 of them on a device; 0 were", "no test of a device passed"]),
        ("tests", {"STUB_TESTS": "crash"}, "tests", ["a process ended early: [       OK ] Every/Some.Test/device0 (1 ms)", "device lost"]),
    ]:
        shutil.rmtree("out", ignore_errors=True)
        short = "Index.*:BenchClock.*:Every/Submission.*:Every/BenchRepeats.*"
        _, errors = script("--from-build", "build", "--out", "out", "--short", "--steps", steps, status=1, STUB_FILTER=short,
                           **environment)
        assert f"gpu.sh: {failed} failed" in errors, errors
        names = os.listdir("out")
        assert names == [f"pretender-9-{'-'.join(sorted(steps.split(',')))}-short.md"], names
        report = read(os.path.join("out", names[0]))
        assert f"- failed or left out: {failed}\n" in report and f"| {failed} | " in report and "**failed**, exit status" in report, report
        assert all(any(line.startswith(word) for line in report.splitlines()) for word in words), report
    # The steps that install and build find no program at all.
    script("--out", "unbuilt", status=1, path=os.path.abspath("path"), VKROPE_BUILD=os.path.abspath("fresh"))
    report = read("unbuilt/no-device.md")
    assert "- failed or left out: build\n" in report and "| build | " in report and "| check | " not in report, report
    _, errors = script("--from-build", "build", "--out", "none", status=2, STUB_FAILS="bench")
    assert errors == "gpu.sh: there is no device to measure: bench broke\n" and os.listdir("none") == [], errors
    _, errors = script("--from-build", "build", "--out", "none", status=2, STUB_TYPE="cpu")
    assert "a CPU's driver; name it with --device" in errors and os.listdir("none") == [], errors


def wait_for(path):
    """A line in a file that a program writes."""
    end = time.monotonic() + 60
    while not os.path.exists(path) or not read(path).endswith("\n"):
        assert time.monotonic() < end, f"there is no {path}"
        time.sleep(0.05)


def expect_dead():
    """The program that wrote its number into `hung`."""
    wait_for("hung")
    try:
        os.kill(int(read("hung")), 0)
    except ProcessLookupError:
        os.remove("hung")
        return
    raise AssertionError("a program outlives the script")


@test
def gpu_script_keeps_what_it_measured_before_it_was_stopped():
    script("--help")
    pretend()
    arguments = ["--from-build", "build", "--out", "out", "--steps", "check,bounds,table"]
    _, errors = script(*arguments, "--seconds", "3", status=1, STUB_HANGS="--bounds-checks")
    assert errors == "gpu.sh: bounds was stopped: the time was over\n", errors
    report = read("out/pretender-9-check-bounds-table.md")
    for words in ["| check | ", " | done |", "**stopped**: the time was over |", "\nstub: check --quick\n",
                  "| table | 0 | **left out**: no time was left |", "- failed or left out: bounds table\n"]:
        assert words in report, f"{words} is not in {report}"
    expect_dead()
    shutil.rmtree("out")
    for more in [[], ["--seconds", "500"]]:
        running = subprocess.Popen([shutil.which("bash"), SCRIPT, *arguments, *more], stdout=subprocess.PIPE,
                                   env={**os.environ, "STUB_HANGS": "--bounds-checks"}, stderr=subprocess.DEVNULL, text=True)
        wait_for("hung")
        running.terminate()
        running.communicate(timeout=30)  # until nothing holds its output
        assert running.returncode == 143, running.returncode
        expect_dead()
        assert os.listdir("out") == ["pretender-9-check-bounds-table.partial.md"], os.listdir("out")
        report = read("out/pretender-9-check-bounds-table.partial.md")
        for words in [" | done |", "| bounds |  | **interrupted** |", "| table |  | **not run** |", "\nstub: check --quick\n"]:
            assert words in report, f"{words} is not in {report}"
    script(*arguments)
    assert os.listdir("out") == ["pretender-9-check-bounds-table.md"], os.listdir("out")


@test
def gpu_script_shows_what_tests_said_before_they_were_stopped():
    script("--help")
    pretend()
    script("--from-build", "build", "--out", "out", "--steps", "tests", "--seconds", "3", status=1, STUB_TESTS="hang")
    report = read("out/pretender-9-tests.md")
    for words in ["1 tests passed, 1 of them on a device; 0 were skipped, 1 failed, 1 processes ended early\n", "\nfailed: Other.Test (2 ms)\n",
                  "**stopped**: the time was over |", "half a line\n"]:
        assert words in report, f"{words} is not in {report}"
    assert report.endswith("\n```\n"), report


@test
def gpu_script_names_the_commit_of_programs_that_were_packed():
    script("--help")
    pretend()
    os.makedirs("build/lib")
    write_program("build/commit", "abc-dirty\n")
    script("--from-build", "build", "--out", "out", "--steps", "table", VKROPE_COMMIT="def")
    report = read("out/pretender-9-table.md")
    assert "- commit: def\n- programs: of abc-dirty\n" in report, report


@test
def gpu_script_refuses_nonsense_in_one_line():
    script("--help")
    pretend()
    os.makedirs("empty")
    write_program("file", "")
    before = sorted(os.listdir("."))
    for arguments, sentence in [
        (["--fast"], "there is no argument '--fast'"),
        (["--out"], "--out needs a value"),
        (["--from-build", "none"], "there is no folder none"),
        (["--from-build", "empty"], "there is no program vkrope in "),
        (["--from-build", "build", "--steps", "check table"], "--steps takes names with commas between them, not 'check table'"),
        (["--pack", "file"], "--pack: nothing can be written into file"),
        (["--from-build", "build", "--steps", "tests,dance"], "there is no step 'dance'"),
        (["--from-build", "build", "--seconds", "soon"], "--seconds takes a whole number from 1 to 99999, not 'soon'"),
        (["--from-build", "build", "--pack", "new"], "--pack builds, and --from-build does not; leave one out"),
        (["--from-build", "build", "--rounds", "0"], "--rounds takes a whole number from 1 to 9999, not '0'"),
        (["--from-build", "build", "--out", "file"], "nothing can be written into file"),
    ]:
        text, errors = script(*arguments, status=2)
        assert text == "" and errors.count("\n") == 1 and errors.startswith("gpu.sh: ") and sentence in errors, errors
        assert sorted(os.listdir(".")) == before, os.listdir(".")


@test
def gpu_script_leaves_a_report_of_a_device():
    build = os.path.dirname(PROGRAM)
    found = vulkan_devices()
    if not found or not os.path.exists(os.path.join(build, "vkrope-tests")):
        sys.exit(77)
    script("--from-build", build, "--short", "--device", found[-1], "--out", "out")
    names = sorted(os.listdir("out"))
    drawn = "no picture was drawn" not in read(os.path.join("out", names[1]))
    assert [os.path.splitext(name)[1] for name in names] == [".json", ".md", ".svg"][:2 + drawn], names
    report = read(os.path.join("out", names[1]))
    assert "- failed or left out: nothing" in report and report.count("| done |") == 10, report
    assert re.search(r"\n[1-9]\d* tests passed, [1-9]\d* of them on a device; \d+ were skipped, 0 failed, 0 processes ended early\n", report), report
    for words in ["every bit must be the CPU's", "none missed", "out-of-place", "FillBuffer", "unfused", "empty us", "sum"]:
        assert words in report, f"{words} is not in {report}"
    rotations, checked = report.split("## Rotations with a driver's checks of bounds", 1)
    assert re.search(r"^ +1 +f16 +rows +[0-9.]+ ", checked, re.M), checked
    for source in ["rows", "table", "inline"]:
        for element in ["f32", "f16", "bf16"]:
            assert len(re.findall(rf"^ +(?:1|32) +{element} +{source} +[0-9.]+ ", rotations, re.M)) == 4, f"{element} {source}"
    rows = json.loads(read(os.path.join("out", names[0])))["rows"]
    assert [(row["tokens"], row["element"], row["place"]) for row in rows] == [(1, "f32", "out-of-place"), (32, "f32", "out-of-place")], rows
    if drawn:
        xml.etree.ElementTree.parse(os.path.join("out", names[2]))
