import os

import numpy as np

from model import (angles, axes_of, axis_angles, expect_close, frequencies, positions_of_axes, random, rotate, rotate_both,
                   widen, write_axes, write_config)
from program import devices, expect_refusal, run, test

GIVEN = ["--config", "config.json", "--positions", "p.npy"]


@test
def several_axes_turn_as_numpys():
    q, k = random((2, 6, 3, 48)), random((2, 6, 1, 48), seed=2)
    number = 0
    for order in ["contiguous", "interleaved"]:
        for sections in [[8, 8, 8], [10, 8, 6], [12, 6, 6], [14, 5, 5]]:
            write_axes(order, sections)
            positions = positions_of_axes(3, 2, 6, number)
            np.save("p.npy", positions.astype([np.int64, np.int32, np.float32, np.float64][number % 4]))
            cos, sin = axis_angles(positions, axes_of(order, sections), frequencies(10000, 48))
            pairing = ["half", "interleaved"][number // 2 % 2]
            rotate_both(f"{order} {sections} {pairing}", [*GIVEN, "--pairing", pairing], q, k,
                        lambda x: rotate(x, cos, sin, pairing), "f32")
            number += 1


@test
def positions_of_every_shape_turn_as_numpys():
    write_axes("contiguous", [4, 6, 6])
    axes, values = axes_of("contiguous", [4, 6, 6]), frequencies(10000, 32)
    q, k = random((2, 7, 2, 32)), random((2, 7, 1, 32), seed=2)
    full = positions_of_axes(3, 2, 7)
    cases = [("[axes, batch, tokens]", full, full), ("[axes, 1, tokens]", full[:, :1], full[:, [0, 0]]),
             ("[axes, tokens]", full[:, 0], full[:, [0, 0]]), ("[batch, tokens]", full[0], full[[0, 0, 0]]),
             ("[1, batch, tokens]", full[:1], full[[0, 0, 0]]), ("[tokens]", full[0, 0], full[[0, 0, 0]][:, [0, 0]])]
    for name, array, meant in cases:
        np.save("p.npy", array)
        cos, sin = axis_angles(meant, axes, values)
        rotate_both(name, GIVEN, q, k, lambda x: rotate(x, cos, sin), "f32")
    cos, sin = axis_angles(np.broadcast_to(np.arange(-2, 5), (3, 2, 7)), axes, values)
    rotate_both("a range", [*GIVEN[:3], "-2:5"], q, k, lambda x: rotate(x, cos, sin), "f32")


@test
def positions_of_as_many_sequences_as_axes_say_which_they_are():
    write_axes("contiguous", [4, 6, 6])
    axes, values = axes_of("contiguous", [4, 6, 6]), frequencies(10000, 32)
    q, rows = random((3, 7, 2, 32)), positions_of_axes(3, 1, 7)[:, 0]
    np.save("q.npy", q)
    rotation = ["rotate", *GIVEN, "--q", "q.npy", "--q-out", "o.npy", "--device", "reference"]
    for positions, meant in [(rows[:, None], rows[:, None].repeat(3, 1)), (rows[None], rows[None].repeat(3, 0))]:
        np.save("p.npy", positions)
        assert run(*rotation)[1] == ""
        cos, sin = axis_angles(meant, axes, values)
        expect_close(np.load("o.npy"), rotate(widen(q), cos, sin), "f32", str(positions.shape))
    np.save("p.npy", rows)
    expect_refusal("both", rotation, "p.npy has the shape [3, 7], which may be [axes, tokens] or [batch, tokens]; "
                   "[3, 1, 7] says the first, and [1, 3, 7] the second", sorted(os.listdir(".")))
    write_config(model_type="gemma4_vision", head_dim=32, rope_theta=None)  # of two axes
    run(*rotation)
    turned = np.load("o.npy")
    np.save("p.npy", rows[None].repeat(2, 0))
    assert run(*rotation)[1] == ""
    assert turned.tobytes() == np.load("o.npy").tobytes()


@test
def fractional_positions_turn_as_numpys():
    values = frequencies(10000, 32)
    q, k = random((2, 6, 2, 32)), random((2, 6, 1, 32), seed=2)
    rng = np.random.default_rng(11)
    for kind in [np.float32, np.float64]:
        for count in [1, 3]:
            if count == 3:
                write_axes("interleaved", [6, 5, 5])
            else:
                write_config(head_dim=32, rope_theta=10000.0)
            positions = rng.uniform(-300, 300, (count, 2, 6)).astype(kind)
            np.save("p.npy", positions)
            axes = axes_of("interleaved", [6, 5, 5]) if count == 3 else np.zeros(16, int)
            cos, sin = axis_angles(positions, axes, values)
            rotate_both(f"{np.dtype(kind)} on {count} axes", GIVEN, q, k, lambda x: rotate(x, cos, sin), "f32")
    # float64 holds 2^-32ths of large positions too, and float32 ones give the bits of the same float64.
    far = np.array([2**31 - 2**-22, -(2**31) + 2**-22, 2**20 + 2**-32, 2.0**-32, 1e9 + 1 / 3, 0.5])
    np.save("far.npy", far)
    near = rng.uniform(0, 100, 6).astype(np.float32)
    np.save("near.npy", near)
    np.save("near64.npy", near.astype(np.float64))
    write_config(head_dim=32, rope_theta=65536.0)
    slow = np.float64(2.0) ** -np.arange(16)  # so that numpy's product is exact
    for device in devices():
        for name in ["far", "near", "near64"]:
            run("table", "--config", "config.json", "--positions", name + ".npy", "--cos", name + "_c.npy", "--sin",
                name + "_s.npy", "--device", device)
        cos, sin = angles(far, slow)
        assert np.abs(np.load("far_c.npy") - cos).max() < 1e-7 and np.abs(np.load("far_s.npy") - sin).max() < 1e-7
        for end in ["_c.npy", "_s.npy"]:
            assert open("near" + end, "rb").read() == open("near64" + end, "rb").read()


@test
def nonsense_about_axes_is_refused_in_one_line():
    write_axes("contiguous", [8, 12, 12])
    os.rename("config.json", "axes.json")
    write_config()
    np.save("q.npy", random((2, 6, 2, 64)))
    for name, shape in [("p3", (3, 2, 6)), ("p4", (4, 2, 6)), ("p5", (5, 2, 6)), ("pb", (3, 3, 6)), ("pt", (3, 2, 5)),
                        ("p36", (3, 6)), ("p46", (4, 6)), ("p1111", (1, 1, 2, 6)), ("p0", (3, 0, 6)), ("p", (6,))]:
        np.save(name + ".npy", np.zeros(shape, np.int64))
    for name, value in [("nan", np.nan), ("inf", -np.inf), ("far", 2.0**31), ("below", -(2.0**31))]:
        np.save(name + ".npy", np.full((3, 2, 6), value))
        np.save(name + "32.npy", np.full((3, 2, 6), value, np.float32))
    np.save("f16.npy", np.zeros((3, 2, 6), np.float16))
    np.save("bool.npy", np.zeros((3, 2, 6), bool))
    cases = [
        ("config.json", "p3.npy", "positions of 3 axes, but the pairs turn by 1\n"),
        ("axes.json", "p4.npy", "positions of 4 axes, but the pairs turn by 3; if the first of the 4 rows has "
         "the text's positions, as recent versions of Transformers put them there, leave it out"),
        ("axes.json", "p5.npy", "[5, 2, 6], positions of 5 axes, but the pairs turn by 3\n"),
        ("axes.json", "pb.npy", "3 x 3 x 6 positions"), ("axes.json", "pt.npy", "3 x 2 x 5"),
        ("axes.json", "p46.npy", "[4, 6], but the pairs turn by 3 axes; if the first of the 4 rows has"),
        ("config.json", "p36.npy", "3 x 6"), ("axes.json", "p1111.npy", "[1, 1, 2, 6]"), ("axes.json", "p0.npy", "not empty"),
        ("axes.json", "0:5", "[axes, batch, tokens]"), ("axes.json", "nan.npy", "nan"), ("axes.json", "inf.npy", "-inf"),
        ("axes.json", "far.npy", "2147483648"), ("axes.json", "below.npy", "-2147483648"), ("axes.json", "nan32.npy", "nan"),
        ("axes.json", "far32.npy", "2147483648"), ("axes.json", "f16.npy", "float16"), ("axes.json", "bool.npy", "bool.npy"),
    ]
    before = sorted(os.listdir("."))
    for config, positions, sentence in cases:
        given = ["--config", config, "--positions", positions]
        expect_refusal(f"{config} {positions}", ["rotate", *given, "--q", "q.npy", "--q-out", "o.npy"], sentence, before)
        if positions in ("p3.npy", "p4.npy", "inf.npy"):
            expect_refusal(f"table {positions}", ["table", *given, "--cos", "o.npy", "--sin", "o2.npy"], sentence, before)
