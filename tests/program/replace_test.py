"""Each file is replaced as a whole, whatever stops the program, and nothing stays beside it."""
import errno
import os
import signal
import subprocess
import sys

from model import write_config
from program import COMMAND, LIMIT, PROGRAM, RUNNER, run, test

OUTPUTS = ["c.npy", "s.npy"]
TABLE = ["table", "--config", "config.json", "--cos", OUTPUTS[0], "--sin", OUTPUTS[1], "--device", "cpu"]
FAULTY = os.path.join(os.path.dirname(PROGRAM), "libvkrope-faulty-system.so")
OLD = [b"old cosines", b"old sines"]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


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


def hear_signals():
    """What runs in the background of a shell ignores some, and so would the program."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def first_new(new, old, count):
    return [*new[:count], *old[count:]]


@test
def a_signal_from_outside_leaves_whole_files():
    """The program tells on a terminal what it does. It gets the signal when it begins to write."""
    try:
        ours, theirs = os.openpty()
    except OSError as error:
        print(f"skipped: no terminal can be opened here: {error}")
        sys.exit(77)
    write_config()
    new = new_contents("0:20000")
    put(OLD)
    before = sorted(os.listdir("."))
    hear_signals()
    for number in SIGNALS * 2:
        put(OLD)
        process = subprocess.Popen([*COMMAND, *TABLE, "--positions", "0:20000"], stdout=subprocess.DEVNULL, stderr=theirs)
        shown = b""
        while b"writing" not in shown:
            shown += os.read(ours, 4096)
        process.send_signal(number)
        status = process.wait(LIMIT)
        assert status in (0, -number), f"{number!r}: exit status {status}"
        assert contents() in [first_new(new, OLD, count) for count in range(3)], f"{number!r}: a file is neither old nor new"
        assert status != 0 or contents() == new, f"{number!r}: a file is not written"
        assert sorted(os.listdir(".")) == before, f"{number!r} left {set(os.listdir('.')) - set(before)}"


def run_faulty(wish, positions="0:64"):
    """Runs the program with tests/program/faulty_system.cpp in its way."""
    if RUNNER or not os.path.exists(FAULTY):
        print("skipped: nothing can be preloaded into the program here")
        sys.exit(77)
    return subprocess.run([*COMMAND, *TABLE, "--positions", positions], capture_output=True, text=True, timeout=LIMIT,
                          env={**os.environ, "LD_PRELOAD": FAULTY, "VKROPE_TEST_SYSTEM": wish})


def cases_of_old():
    for old in (OLD, [None, OLD[1]], [OLD[0], None], [None, None]):
        put(old)
        yield old, sorted(os.listdir("."))


@test
def a_signal_between_two_steps_leaves_whole_files():
    """A file is written in two steps, the header and the data, and renamed."""
    write_config()
    new = new_contents("0:64")
    steps = [(f"{how} {step}", file) for how in ("before", "behind")
             for step, file in [("fwrite 1", 0), ("fwrite 2", 0), ("rename 1", 1), ("fwrite 3", 1), ("fwrite 4", 1), ("rename 2", 2)]]
    hear_signals()
    for i, (step, count) in enumerate(steps):
        for old, before in cases_of_old():
            number = SIGNALS[i % 3]
            done = run_faulty(f"{step} {int(number)}")
            assert done.returncode == -number, (step, done)
            assert contents() == first_new(new, old, count), (step, old)
            assert set(os.listdir(".")) == {*before, *OUTPUTS[:count]}, (step, old, os.listdir("."))


@test
def a_signal_that_is_ignored_stops_nothing():
    write_config()
    new = new_contents("0:64")
    put(OLD)
    was = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    done = run_faulty(f"before fwrite 1 {int(signal.SIGHUP)}")
    signal.signal(signal.SIGHUP, was)
    assert done.returncode == 0 and contents() == new, done


@test
def a_file_that_cannot_be_written_leaves_what_was_there():
    write_config()
    new = new_contents("0:64")
    for step, file, reason in [("fwrite 1", 0, errno.ENOSPC), ("fwrite 2", 0, errno.ENOSPC), ("rename 1", 0, errno.EIO),
                               ("fwrite 4", 1, errno.ENOSPC), ("rename 2", 1, errno.EIO)]:
        for old, before in cases_of_old():
            done = run_faulty(f"fail {step} {reason}")
            assert done.returncode == 2 and done.stderr.count("\n") == 1, done
            assert f"--{('cos', 'sin')[file]}: {OUTPUTS[file]}: it cannot be written: {os.strerror(reason)}" in done.stderr, done
            assert contents() == first_new(new, old, file), (step, old)
            assert set(os.listdir(".")) == {*before, *OUTPUTS[:file]}, (step, old, os.listdir("."))


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
    finally:
        os.umask(was)


@test
def a_file_beyond_the_limit_ends_in_a_sentence():
    write_config()
    put([OLD[0], None])
    before = sorted(os.listdir("."))
    arguments = " ".join([*TABLE, "--positions", "0:64"])
    _, errors = run(shell=f"ulimit -f 4; {' '.join(COMMAND)} {arguments}", status=2)
    assert errors.count("\n") == 1 and "c.npy: it cannot be written: File too large" in errors, errors
    assert sorted(os.listdir(".")) == before and contents()[0] == OLD[0]
