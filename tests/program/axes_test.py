import os

import numpy as np

from model import (angles, axes_of, axis_angles, expect_close, frequencies, positions_of_axes, random, rotate, rotate_both,
                   widen, write_config)
from program import devices, expect_refusal, run, test


@test
def several_axes_turn_as_numpys():
    np.save("f.npy", frequencies(10000, 48))
    given = ["--frequencies", "f.npy", "--scale", "1.25", "--positions", "p.npy"]
    listed = np.random.default_rng(3).integers(0, 4, 24)
    cases = [(axes_of(order, sections), ["--sections", ",".join(map(str, sections)), "--axes", order])
             for order in ["contiguous", "interleaved"] for sections in [[8, 8, 8], [6, 9, 9], [4, 20], [5, 0, 9, 10]]]
    cases += [(axes_of("contiguous", [10, 8, 6]), ["--sections", "10,8,6"]),
              (listed, ["--axes", ",".join(map(str, listed))])]
    q, k = random((2, 6, 3, 64)), random((2, 6, 1, 64), seed=2)
    for number, (axes, options) in enumerate(cases):
        positions = positions_of_axes(max(axes) + 1, 2, 6, number)
        np.save("p.npy", positions.astype([np.int64, np.int32, np.float32, np.float64][number % 4]))
        cos, sin = axis_angles(positions, axes, frequencies(10000, 48), 1.25)
        pairing = ["half", "interleaved"][number // 2 % 2]
        for source in ["inline", "table", "rows"]:
            arguments = given + options + ["--source", source, "--pairing", pairing]
            rotate_both(" ".join(arguments), arguments, q, k, lambda x: rotate(x, cos, sin, pairing), "f32")


@test
def positions_of_every_shape_turn_as_numpys():
    np.save("f.npy", frequencies(10000, 32))
    axes, values = axes_of("contiguous", [4, 6, 6]), frequencies(10000, 32)
    given = ["--frequencies", "f.npy", "--sections", "4,6,6"]
    q, k = random((2, 7, 2, 32)), random((2, 7, 1, 32), seed=2)
    full = positions_of_axes(3, 2, 7)
    cases = [("[axes, batch, tokens]", full, full), ("[axes, 1, tokens]", full[:, :1], full[:, [0, 0]]),
             ("[axes, tokens]", full[:, 0], full[:, [0, 0]]), ("[batch, tokens]", full[0], full[[0, 0, 0]]),
             ("[1, batch, tokens]", full[:1], full[[0, 0, 0]]), ("[tokens]", full[0, 0], full[[0, 0, 0]][:, [0, 0]])]
    for name, array, meant in cases:
        np.save("p.npy", array)
        cos, sin = axis_angles(meant, axes, values)
        rotate_both(name, given + ["--positions", "p.npy"], q, k, lambda x: rotate(x, cos, sin), "f32")
    cos, sin = axis_angles(np.broadcast_to(np.arange(-2, 5), (3, 2, 7)), axes, values)
    rotate_both("a range", given + ["--positions", "-2:5"], q, k, lambda x: rotate(x, cos, sin), "f32")


@test
def positions_of_as_many_sequences_as_axes_say_which_they_are():
    np.save("f.npy", frequencies(10000, 32))
    axes, values = axes_of("contiguous", [4, 6, 6]), frequencies(10000, 32)
    q, rows = random((3, 7, 2, 32)), positions_of_axes(3, 1, 7)[:, 0]
    np.save("q.npy", q)
    rotation = ["rotate", "--frequencies", "f.npy", "--positions", "p.npy", "--q", "q.npy", "--q-out", "o.npy", "--device",
                "reference"]
    three, two = ["--sections", "4,6,6"], ["--axes", "1,0," * 7 + "0,1"]
    for options, positions, meant in [(three, rows[:, None], rows[:, None].repeat(3, 1)), (three, rows[None], rows[None].repeat(3, 0)),
                                      (two, rows, rows[None].repeat(3, 0))]:
        np.save("p.npy", positions)
        assert run(*rotation, *options)[1] == ""
        cos, sin = axis_angles(meant, axes, values)
        expect_close(np.load("o.npy"), rotate(widen(q), cos, sin), "f32", str(positions.shape))
    np.save("p.npy", rows)
    expect_refusal("both", rotation + three, "p.npy has the shape [3, 7], which may be [axes, tokens] or [batch, tokens]; "
                   "[3, 1, 7] says the first, and [1, 3, 7] the second", sorted(os.listdir(".")))


@test
def fractional_positions_turn_as_numpys():
    values = frequencies(10000, 32)
    np.save("f.npy", values)
    axes = axes_of("interleaved", [6, 5, 5])
    q, k = random((2, 6, 2, 32)), random((2, 6, 1, 32), seed=2)
    rng = np.random.default_rng(11)
    for kind in [np.float32, np.float64]:
        for count, options in [(1, []), (3, ["--sections", "6,5,5", "--axes", "interleaved"])]:
            positions = rng.uniform(-300, 300, (count, 2, 6)).astype(kind)
            np.save("p.npy", positions)
            cos, sin = axis_angles(positions, axes if count == 3 else np.zeros(16, int), values)
            for source in ["inline", "rows"]:
                arguments = ["--frequencies", "f.npy", "--positions", "p.npy", "--source", source, *options]
                rotate_both(f"{np.dtype(kind)} on {count} axes, {source}", arguments, q, k,
                            lambda x: rotate(x, cos, sin), "f32")
    # float64 holds 2^-32ths of large positions too, and float32 ones give the bits of the same float64.
    far = np.array([2**31 - 2**-22, -(2**31) + 2**-22, 2**20 + 2**-32, 2.0**-32, 1e9 + 1 / 3, 0.5])
    np.save("far.npy", far)
    near = rng.uniform(0, 100, 6).astype(np.float32)
    np.save("near.npy", near)
    np.save("near64.npy", near.astype(np.float64))
    slow = np.float64(2.0) ** -np.arange(16)  # so that numpy's product is exact
    np.save("f2.npy", slow)
    for device in devices():
        for name in ["far", "near", "near64"]:
            run("table", "--frequencies", "f2.npy", "--positions", name + ".npy", "--cos", name + "_c.npy", "--sin",
                name + "_s.npy", "--device", device)
        cos, sin = angles(far, slow)
        assert np.abs(np.load("far_c.npy") - cos).max() < 1e-7 and np.abs(np.load("far_s.npy") - sin).max() < 1e-7
        for end in ["_c.npy", "_s.npy"]:
            assert open("near" + end, "rb").read() == open("near64" + end, "rb").read()


@test
def a_given_table_is_read_by_axis():
    rng = np.random.default_rng(5)
    cos, sin = rng.uniform(-1, 1, (2, 20, 24)).astype(np.float32)
    np.save("c.npy", cos)
    np.save("s.npy", sin)
    q, k = random((2, 5, 3, 64)), random((2, 5, 1, 64), seed=2)
    positions = rng.integers(0, 20, (3, 2, 5))
    np.save("p.npy", positions)
    for order in ["contiguous", "interleaved"]:
        axes = axes_of(order, [10, 7, 7])
        rows = [np.stack([widen(t)[positions[axes[j]], j] for j in range(24)], -1) for t in (cos, sin)]
        arguments = ["--cos", "c.npy", "--sin", "s.npy", "--sections", "10,7,7", "--axes", order, "--positions", "p.npy"]
        rotate_both("a table by axis, " + order, arguments, q, k, lambda x: rotate(x, *rows), "f32")
    positions[2, 1, 3], positions[0, 0, 0] = 20, -1
    np.save("p.npy", positions)
    np.save("q.npy", q)
    for device in devices():
        rotation = ["rotate", *arguments, "--q", "q.npy", "--q-out", "o.npy", "--device", device]
        assert "--positions has -1 for token 0 of sequence 0 on axis 0, " in run(*rotation, status=2)[1]
        _, errors = run(*rotation, "--outside", "pass")
        assert errors.count("\n") == 1 and "2 of 10 tokens" in errors, errors
        assert np.array_equal(np.load("o.npy")[[0, 1], [0, 3]], q[[0, 1], [0, 3]])


@test
def nonsense_about_axes_is_refused_in_one_line():
    write_config()
    np.save("q.npy", random((2, 6, 2, 64)))
    np.save("f.npy", frequencies(10000, 64))
    np.save("long.npy", frequencies(10000, 600))
    np.save("wide.npy", random((2, 6, 1, 600)))
    np.save("c.npy", np.ones((9, 32), np.float32))
    np.save("rows.npy", np.ones((2, 6, 32), np.float32))
    for name, shape in [("p3", (3, 2, 6)), ("p4", (4, 2, 6)), ("p5", (5, 2, 6)), ("pb", (3, 3, 6)), ("pt", (3, 2, 5)),
                        ("p36", (3, 6)), ("p46", (4, 6)), ("p1111", (1, 1, 2, 6)), ("p0", (3, 0, 6)), ("p", (6,))]:
        np.save(name + ".npy", np.zeros(shape, np.int64))
    for name, value in [("nan", np.nan), ("inf", -np.inf), ("far", 2.0**31), ("below", -(2.0**31)), ("half", 0.5)]:
        np.save(name + ".npy", np.full((3, 2, 6), value))
        np.save(name + "32.npy", np.full((3, 2, 6), value, np.float32))
    np.save("f16.npy", np.zeros((3, 2, 6), np.float16))
    np.save("bool.npy", np.zeros((3, 2, 6), bool))
    sections = ["--sections", "8,12,12"]
    model, given, table = ["--config", "config.json"], ["--frequencies", "f.npy"], ["--cos", "c.npy", "--sin", "c.npy"]
    rows = ["--cos", "rows.npy", "--sin", "rows.npy"]

    def by(positions="p3.npy"):
        return ["--positions", positions]

    cases = [
        (given + ["--sections", "8,12,13"] + by(), "33 pairs together"),
        (model + ["--sections", "8,12"] + by(), "20 pairs together, but there are 32"),
        (table + ["--sections", "8,12,13"] + by(), "there are 32"),
        (given + ["--sections", "8,8,8,4,4"] + by(), "at most 4"),
        (given + ["--sections", "8,12,"] + by(), "16,24,24"), (given + ["--sections", ",32"] + by(), "16,24,24"),
        (given + ["--sections", "8,-12,36"] + by(), "16,24,24"), (given + ["--sections", "8;24"] + by(), "16,24,24"),
        (given + ["--sections", "8,1e1,14"] + by(), "16,24,24"), (given + ["--sections", "t,h,w"] + by(), "16,24,24"),
        (given + ["--sections", "4294967296,32"] + by(), "16,24,24"),
        (given + ["--sections", "1," * 9000 + "1"] + by(), "not '1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,...'"),
        (given + ["--sections", ""] + by(), "--sections is empty"),
        (given + sections + ["--axes", "woven"] + by(), "woven"),
        (given + sections + ["--axes", "0,1,2"] + by(), "0,1,2"),
        (given + ["--axes", "interleaved"] + by(), "needs --sections"),
        (given + ["--axes", "contiguous"] + by(), "needs --sections"),
        (given + ["--axes", "0,1,2"] + by(), "3 pairs, but there are 32"),
        (given + ["--axes", "0," * 31 + "4"] + by(), "axis 4"), (given + ["--axes", "0," * 31 + "x"] + by(), "0,0,1,2"),
        (given + ["--axes", "0," * 32] + by(), "0,0,1,2"), (given + ["--axes", "Interleaved"] + by(), "Interleaved"),
        (given + by(), "--sections or --axes"), (model + by(), "positions of 3 axes, but the pairs turn by 1"),
        (given + sections + by("p4.npy"), "positions of 4 axes, but the pairs turn by 3; if the first of the 4 rows has "
         "the text's positions, as recent versions of Transformers put them there, leave it out"),
        (given + sections + by("p5.npy"), "[5, 2, 6], positions of 5 axes, but the pairs turn by 3\n"),
        (given + ["--sections", "16,16"] + by(), "positions of 3 axes, but the pairs turn by 2"),
        (given + ["--axes", "0," * 31 + "1"] + by(), "turn by 2"),
        (given + sections + by("pb.npy"), "3 x 3 x 6 positions"), (given + sections + by("pt.npy"), "3 x 2 x 5"),
        (given + sections + by("p46.npy"), "[4, 6], but the pairs turn by 3 axes; if the first of the 4 rows has"), (given + by("p36.npy"), "3 x 6"),
        (given + sections + by("p1111.npy"), "[1, 1, 2, 6]"), (given + sections + by("p0.npy"), "not empty"),
        (given + sections + by("0:5"), "[axes, batch, tokens]"),
        (given + sections + by("nan.npy"), "nan"), (given + sections + by("inf.npy"), "-inf"),
        (given + sections + by("far.npy"), "2147483648"), (given + sections + by("below.npy"), "-2147483648"),
        (given + sections + by("nan32.npy"), "nan"), (given + sections + by("far32.npy"), "2147483648"),
        (given + sections + by("f16.npy"), "float16"), (given + sections + by("bool.npy"), "bool.npy"),
        (given + sections + by("half.npy") + ["--source", "table"], "whole positions"),
        (given + sections + by("half32.npy") + ["--source", "table"], "whole positions"),
        (table + sections + by("half.npy"), "whole positions"),
        (table + sections, "--sections and --axes"), (rows + sections + by(), "--sections and --axes"),
        (rows + by("p36.npy"), "leave them out"),
        (["--frequencies", "long.npy", "--sections", "100,100,100"] + by() + ["--q", "wide.npy"], "at most 256"),
        (given + sections + by() + ["--skip-first", "7"], "7 tokens together"),
        (given + sections + by() + ["--skip-first", "4", "--skip-last", "3"], "but --q has 6"),
        (given + sections + by() + ["--skip-last", "4294967295", "--skip-first", "4294967295"], "8589934590"),
        (given + sections + by() + ["--skip-first", "-1"], "--skip-first takes a whole number"),
        (given + sections + by() + ["--skip-last", "one"], "--skip-last takes a whole number"),
        (given + sections + by("pt.npy") + ["--skip-first", "2"], "of which 4 turn"),
        (given + by("p.npy") + ["--chunk-dim", "3"], "--chunk-dim is 3"),
        (given + by("p.npy") + ["--chunk-dim", "24"], "divide the rotary part of 64"),
        (given + by("p.npy") + ["--chunk-dim", "128"], "--chunk-dim is 128"),
        (given + by("p.npy") + ["--chunk-dim", "0"], "--chunk-dim takes"),
        (given + by("p.npy") + ["--chunk-dim", "16", "--pairing", "interleaved"], "half pairing"),
        (sections + by(), "--config"),
    ]
    before = sorted(os.listdir("."))
    for arguments, sentence in cases:
        arguments = [str(a) for a in arguments]
        files = [] if "--q" in arguments else ["--q", "q.npy"]
        expect_refusal(" ".join(arguments)[:90], ["rotate", *arguments, *files, "--q-out", "o.npy"], sentence, before)
    for arguments, sentence in [(given + by(), "--sections or --axes"), (given + sections + by("p4.npy"), "4 axes"),
                                (given + sections + by("inf.npy"), "-inf"), (given + ["--sections", "8"] + by(), "8 pairs"),
                                (sections + by(), "--config")]:
        expect_refusal("table " + " ".join(arguments), ["table", *arguments, "--cos", "o.npy", "--sin", "o2.npy"], sentence,
                       before)
