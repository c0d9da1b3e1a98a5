import os

import numpy as np

from model import expect_close, frequencies, random, sinusoids, widen
from program import devices, expect_refusal, run, test


def add_positions(name, arguments, x, wanted, element, warning=""):
    np.save("x.npy", x)
    outputs = {}
    for device in devices():
        _, errors = run("add-positions", *arguments, "--x", "x.npy", "--out", "o.npy", "--device", device)
        assert errors == "" if warning == "" else errors.count("\n") == 1 and warning in errors, errors
        expect_close(np.load("o.npy"), wanted, element, f"{name} on {device}")
        outputs[device] = np.load("o.npy").tobytes()
    bits = [outputs[device] for device in outputs if device != "reference"]
    assert all(b == bits[0] for b in bits), f"{name}: the devices' bits differ"


@test
def sinusoids_added_are_numpys():
    positions = np.array([[0, 7, -3, 4095], [1, 2, 100000, 5]], np.int64)
    np.save("p.npy", positions)
    np.save("f.npy", frequencies(500, 64))
    for element in ["f32", "f16", "bf16"]:
        x = random((2, 4, 64), element)
        for out in [None, "f32", "f16", "bf16"]:
            arguments = ["--positions", "p.npy", "--element", element] + (["--element-out", out] if out else [])
            add_positions(str(arguments), arguments, x, widen(x) + sinusoids(positions, 64), out or element)
    x = random((2, 4, 64))
    for order in ["interleaved", "halves"]:
        for flip in [False, True]:
            arguments = ["--positions", "p.npy", "--order", order, "--base", "500", "--scale", "8"]
            arguments += ["--cosine-first"] if flip else []
            add_positions(str(arguments), arguments, x, 8 * widen(x) + sinusoids(positions, 64, 500, order, flip), "f32")
    add_positions("own frequencies", ["--positions", "p.npy", "--frequencies", "f.npy"], x,
                  widen(x) + sinusoids(positions, 64, 500), "f32")
    half = np.arange(4) / 2
    np.save("half.npy", half)
    add_positions("fractions, of rank 2", ["--positions", "half.npy"], x[0], widen(x[0]) + sinusoids(half, 64), "f32")


@test
def learned_tables_added_are_numpys():
    positions = np.array([0, 9, -2, 5, 10, 2**31 - 1], np.int64)
    np.save("p.npy", positions)
    for element in ["f32", "f16", "bf16"]:
        table = random((12, 24), element, seed=3)
        np.save("t.npy", table)
        x = random((1, 6, 24), element)
        wanted = widen(x) * 2
        wanted[0, :4] += widen(table)[positions[:4] + 2]
        np.save("x.npy", x)
        before = sorted(os.listdir("."))
        arguments = ["--positions", "p.npy", "--table", "t.npy", "--first-position", "-2", "--scale", "2", "--element", element]
        expect_refusal(element, ["add-positions", *arguments, "--x", "x.npy", "--out", "none.npy", "--device", "cpu"],
                       "--positions has 10 for token 4, outside the 12 rows of --table, of the positions -2 to 9", before)
        arguments += ["--outside", "pass"]
        add_positions(element, arguments, x, wanted, element, "2 of 6 tokens have positions outside the table of 12")


@test
def nonsense_about_embeddings_is_refused_in_one_line():
    np.save("x.npy", random((1, 4, 6)))
    np.save("odd.npy", random((4, 7)))
    np.save("rank4.npy", random((1, 4, 2, 6)))
    np.save("t.npy", random((4, 8)))
    np.save("f.npy", frequencies(10000, 8))
    before = sorted(os.listdir("."))
    plain = ["add-positions", "--x", "x.npy", "--positions", "0:4", "--out", "o.npy", "--device", "reference"]
    swap = lambda old, new: [new if a == old else a for a in plain]
    for what, arguments, sentence in [
        ("odd", swap("x.npy", "odd.npy"), "dim is 7; it must be even"),
        ("rank", swap("x.npy", "rank4.npy"), "[batch, tokens, dim]"),
        ("no file", swap("x.npy", "none.npy"), "none.npy"),
        ("positions", swap("0:4", "0:5"), "--x has 1 x 4 tokens"),
        ("table", plain + ["--table", "t.npy"], "--table has rows of 8"),
        ("rank of a table", plain + ["--table", "rank4.npy"], "[positions, dim]"),
        ("frequencies", plain + ["--frequencies", "f.npy"], "--frequencies has 4 pairs"),
        ("base of a table", plain + ["--table", "t.npy", "--base", "5"], "--base"),
        ("base", plain + ["--base", "0.5"], "--base takes a number"),
        ("scale", plain + ["--scale", "nan"], "--scale takes a number"),
        ("order", plain + ["--order", "both"], "--order"),
        ("no decimal", plain + ["--table", "t.npy", "--first-position", "1e1"],
         "--first-position takes a whole number in digits from -2147483648 to 2147483647, not '1e1'"),
        ("overwrites its positions", swap("0:4", "t.npy")[:-4] + ["--out", "t.npy"], "--positions"),
    ]:
        expect_refusal(what, arguments, sentence, before)
