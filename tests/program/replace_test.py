"""Files are replaced all or none, whatever stops the program, and nothing stays beside them."""
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np

from model import write_config
from program import COMMAND, LIMIT, PROGRAM, RUNNER, WHOLE, run, test

OUTPUTS = ["c.npy", "s.npy"]
TABLE = ["table", "--config", "config.json", "--cos", OUTPUTS[0], "--sin", OUTPUTS[1], "--device", "cpu"]
FAULTY = os.path.join(os.path.dirname(PROGRAM), "libvkrope-faulty-system.so")


def contents():
    return [open(name, "rb").read() if os.path.exists(name) else None for name in OUTPUTS]


def put(old):
    for name, content in zip(OUTPUTS, old):
        if content is None:
            if os.path.exists(name):
                os.remove(name)
        else:
            with open(name, "wb") as file:
                file.write(content)


def new_contents(positions):
    run(*TABLE, "--positions", positions)
    return contents()


def wait_for_writing(terminal):
    """The program tells on a terminal what it does."""
    shown = b""
    while b"writing" not in shown:
        shown += os.read(terminal, 4096)


def start_writing(arguments, terminal, wish="none"):
    ours, theirs = terminal
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=theirs, env=faulty(wish))
    wait_for_writing(ours)
    return process


def can_be_faulty():
    return not RUNNER and os.path.exists(FAULTY)


def faulty(wish):
    """The environment of a program that tests/program/faulty_system.cpp stands in the way of."""
    return {**os.environ, "LD_PRELOAD": FAULTY, "VKROPE_TEST_SYSTEM": wish} if can_be_faulty() else None


def drain(terminal):
    os.set_blocking(terminal, False)
    try:
        while os.read(terminal, 4096):
            pass
    except BlockingIOError:
        pass
    os.set_blocking(terminal, True)


def time_of_writing(arguments, terminal):
    process = start_writing(arguments, terminal)
    begin = time.monotonic()
    os.read(terminal[0], 4096)  # the line is wiped when both are in place
    end = time.monotonic()
    process.wait(LIMIT)
    drain(terminal[0])
    return end - begin


@test
def a_signal_leaves_both_old_or_both_new():
    """Signals at moments spread over the write of two arrays: 40 of them, in a whole run a thousand. In every second write the
    new files have names, as on systems that know no others."""
    try:
        terminal = os.openpty()
    except OSError as error:
        print(f"skipped: no terminal can be opened here: {error}")
        sys.exit(77)
    count = int(os.environ.get("VKROPE_SIGNALS", "6" if RUNNER else "1000" if WHOLE else "40"))
    write_config()
    arguments = [*TABLE, "--positions", "0:20000"]
    new = new_contents("0:20000")
    old = [b"old cosines", b"old sines"]
    put(old)
    before = sorted(os.listdir("."))
    span = sorted(time_of_writing(arguments, terminal) for _ in range(5))[2]
    chance, signals = random.Random(11), [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    seen = {"old": 0, "new": 0}
    for i in range(count):
        put(old)
        process = start_writing(arguments, terminal, ("none", "fail-unnamed 0")[i // 3 % 2])
        time.sleep(1.3 * span * (i + chance.random()) / count)
        process.send_signal(signals[i % 3])
        status = process.wait(LIMIT)
        drain(terminal[0])
        now = contents()
        assert now in (old, new), f"signal {i}: one of the files is neither"
        assert sorted(os.listdir(".")) == before, f"signal {i} left {set(os.listdir('.')) - set(before)}"
        assert status in (0, -signals[i % 3]) and (status != 0 or now == new), f"signal {i}: exit status {status}"
        seen["old" if now == old else "new"] += 1
    print(f"{count} signals in {span * 1000:.1f} ms of writing {sum(map(len, new))} bytes: {seen}")
    assert seen["old"] > count // 10, seen


def run_faulty(wish, positions):
    if not can_be_faulty():
        print("skipped: nothing can be preloaded into the program here")
        sys.exit(77)
    return subprocess.run([*COMMAND, *TABLE, "--positions", positions], env=faulty(wish), capture_output=True, text=True,
                          timeout=LIMIT)


def cases_of_old():
    for old in ([b"old cosines", b"old sines"], [None, b"old sines"], [b"old cosines", None], [None, None]):
        put(old)
        yield old, sorted(os.listdir("."))


@test
def a_signal_between_two_files_waits_for_the_second():
    write_config()
    new = new_contents("0:64")
    for old, before in cases_of_old():
        done = run_faulty("signal-at-rename 1", "0:64")
        assert done.returncode == -signal.SIGTERM, done
        assert contents() == new and set(os.listdir(".")) == {*before, *OUTPUTS}, (old, os.listdir("."))


@test
def a_second_file_that_fails_brings_the_first_back():
    write_config()
    for old, before in cases_of_old():
        for rename in (1, 2):
            done = run_faulty(f"fail-rename {rename}", "0:64")
            assert done.returncode == 2 and done.stderr.count("\n") == 1, done
            assert ("--cos: c.npy: ", "--sin: s.npy: ")[rename - 1] in done.stderr and "Input/output" in done.stderr, done
            assert contents() == old and sorted(os.listdir(".")) == before, (old, rename, os.listdir("."))


@test
def files_are_replaced_where_nothing_can_be_linked():
    write_config()
    new = new_contents("0:64")
    for old, before in cases_of_old():
        done = run_faulty("fail-links 0", "0:64")
        assert done.returncode == 0 and done.stderr == "", done
        assert contents() == new and set(os.listdir(".")) == {*before, *OUTPUTS}, (old, os.listdir("."))


def mode_of(path):
    return os.stat(path).st_mode & 0o7777


@test
def a_replaced_file_keeps_its_mode_and_a_new_one_follows_umask():
    write_config()
    arguments = [*TABLE, "--positions", "0:64"]
    was = os.umask(0o027)
    try:
        run(*arguments)
        assert [mode_of(name) for name in OUTPUTS] == [0o640, 0o640]
        os.chmod(OUTPUTS[0], 0o600)
        os.chmod(OUTPUTS[1], 0o666)
        run(*arguments)
        assert [mode_of(name) for name in OUTPUTS] == [0o600, 0o666]
        if os.geteuid() == 0:
            os.chown(OUTPUTS[0], 65534, 65533)
            run(*arguments)
            owned = os.stat(OUTPUTS[0])
            assert (owned.st_uid, owned.st_gid, mode_of(OUTPUTS[0])) == (65534, 65533, 0o600)
    finally:
        os.umask(was)


@test
def a_file_beyond_the_limit_ends_in_a_sentence():
    write_config()
    put([b"old cosines", None])
    before = sorted(os.listdir("."))
    arguments = " ".join([*TABLE, "--positions", "0:64"])
    _, errors = run(shell=f"ulimit -f 4; {' '.join(COMMAND)} {arguments}", status=2)
    assert errors.count("\n") == 1 and "c.npy: it cannot be written: File too large" in errors, errors
    assert sorted(os.listdir(".")) == before and contents()[0] == b"old cosines"
