import os
import shlex
import subprocess
import sys

import numpy as np

from model import random, write_config
from program import COMMAND, LIMIT, expect_refusal, run, test


@test
def a_failed_output_leaves_whole_files():
    write_config()
    np.save("q.npy", random((1, 4, 1, 64)))
    np.save("k.npy", random((1, 4, 64, 64)))
    np.save("o.npy", np.arange(3))
    before = sorted(os.listdir("."))
    arguments = "rotate --config config.json --positions 0:4 --q q.npy --q-out o.npy --k k.npy --k-out o2.npy --device reference"
    _, errors = run(shell=f"trap '' XFSZ; ulimit -f 16; {shlex.join(COMMAND)} {arguments}", status=2)
    assert errors.count("\n") == 1 and "--k-out" in errors, errors
    assert sorted(os.listdir(".")) == before
    assert np.load("o.npy").shape == (1, 4, 1, 64)


def read_all(terminal):
    """What was written to a terminal whose other end is closed. It comes in parts; Linux ends it with an error."""
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            return shown
        if part == b"":
            return shown
        shown += part


@test
def progress_shows_on_a_terminal_alone():
    write_config()
    arguments = ["table", "--config", "config.json", "--positions", "0:64", "--cos", "c.npy", "--sin", "s.npy",
                 "--device", "reference"]
    assert run(*arguments)[1] == ""
    try:
        ours, theirs = os.openpty()
    except OSError as error:
        print(f"skipped: no terminal can be opened here: {error}")
        sys.exit(77)
    done = subprocess.run([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=theirs, timeout=LIMIT)
    os.close(theirs)
    shown = read_all(ours)
    assert done.returncode == 0 and b"making 64 rows" in shown and b"\n" not in shown, shown
    assert shown.split(b"\r")[-1] == b"", shown


@test
def what_standard_output_cannot_take_is_a_failure():
    write_config()
    if not os.path.exists("/dev/full"):
        sys.exit(77)
    for arguments in (["frequencies", "--config", "config.json"], ["--help"], ["rotate", "--help"], ["--version"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and "standard output" in done.stderr, done


@test
def odd_values_are_refused_and_files_beside_an_output_kept():
    write_config()
    table = ["table", "--config", "config.json", "--positions", "0:4", "--cos", "c.npy", "--sin", "s.npy"]
    before = sorted(os.listdir("."))
    expect_refusal("a length that is none", table + ["--length", "nan"], "--length", before)
    with open("twice.json", "w") as file:
        file.write('{"model_type": "llama", "head_dim": 64, "rope_theta": 10000, "rope_theta": 500000}')
    expect_refusal("a key twice", ["frequencies", "--config", "twice.json"], "twice", sorted(os.listdir(".")))
    with open("bytes.json", "wb") as file:
        file.write(b'{"model_type": "\xff\xfe"}')
    expect_refusal("no UTF-8", ["frequencies", "--config", "bytes.json"], "JSON", sorted(os.listdir(".")))
    for name in [".vkrope-new", ".vkrope-old"]:
        with open(name, "w") as file:
            file.write("keep")
    for _ in range(2):
        run(*table)
    for name in [".vkrope-new", ".vkrope-old"]:
        assert open(name).read() == "keep"
        os.remove(name)
    assert sorted(os.listdir(".")) == sorted({*before, "bytes.json", "twice.json", "c.npy", "s.npy"})


@test
def a_file_may_have_the_longest_name():
    write_config()
    cos, sin = "c" * 255, "s" * 255
    before = os.listdir(".")
    for positions in ["0:4", "4:8"]:
        run("table", "--config", "config.json", "--positions", positions, "--cos", cos, "--sin", sin, "--device", "cpu")
        assert sorted(os.listdir(".")) == sorted([*before, cos, sin])
    run("table", "--config", "config.json", "--positions", "4:8", "--cos", "c.npy", "--sin", "s.npy", "--device", "cpu")
    assert open(cos, "rb").read() == open("c.npy", "rb").read() and open(sin, "rb").read() == open("s.npy", "rb").read()


@test
def no_ending_promises_another_format():
    write_config()
    os.mkdir("json.txt")
    before = sorted(os.listdir("."))
    for name in ["f.txt", "f.bin", "f.pt", "f.json", "f.gguf", "f.svg", "-", "json.txt/f.png"]:
        expect_refusal(name, ["frequencies", "--config", "config.json", "--npy", name], "arrays are written to .npy\n", before)
    os.mkdir("d.safetensors:x")
    for name in ["f", "json.txt/f", "f.v1", "f.npy", "d.safetensors:x/f.npy", "f.npz.npy"]:
        run("frequencies", "--config", "config.json", "--npy", name)
    assert open("f", "rb").read() == open("f.npy", "rb").read()


@test
def links_are_followed_to_what_is_not_there_yet():
    write_config()
    os.mkdir("there")
    os.symlink("there/f.npy", "f.npy")
    os.symlink("f.npy", "again.npy")
    os.symlink("nowhere/f.npy", "astray.npy")
    os.symlink("round.npy", "circle.npy")
    os.symlink("circle.npy", "round.npy")
    config = ["frequencies", "--config", "config.json", "--npy"]
    run(*config, "again.npy")
    assert os.path.islink("f.npy") and os.path.islink("again.npy") and os.listdir("there") == ["f.npy"]
    assert np.array_equal(np.load("there/f.npy"), np.load("f.npy"))
    run(*config, "f.npy")
    assert os.path.islink("f.npy") and os.listdir("there") == ["f.npy"]
    os.remove("there/f.npy")
    before = sorted(os.listdir("."))
    expect_refusal("a link to no folder", config + ["astray.npy"], "no folder", before)
    expect_refusal("links in a circle", config + ["circle.npy"], "circle.npy", before)
    expect_refusal("two links to one file", ["table", "--config", "config.json", "--positions", "0:4", "--cos", "f.npy",
                                             "--sin", "again.npy", "--device", "reference"], "same file", before)
    assert os.listdir("there") == []
    open("a.npy", "w").close()
    os.symlink("a.npy", "l.npy")
    os.link("a.npy", "h.npy")
    np.save("q.npy", random((1, 4, 1, 64)))
    before = sorted(os.listdir("."))
    for one in ["l.npy", "h.npy", "./a.npy"]:
        for q, k in [("a.npy", one), (one, "a.npy")]:
            expect_refusal("links", ["rotate", "--config", "config.json", "--positions", "0:4", "--q", "q.npy", "--q-out", q,
                                     "--k", "q.npy", "--k-out", k], "the same file", before)
