import os

import numpy as np

from model import (angles, axes_of, axis_angles, expect_close, frequencies, random, rotate, rotate_both,
                   widen)
from program import devices, expect_refusal, run, test

FAR = [2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 2**32 + 5]


@test
def int64_beyond_int32_is_no_position():
    """As the library takes it: such a token stays, a row made for it is 1 and 0, and nothing is added to it."""
    values = frequencies(10000, 32)
    np.save("f.npy", values)
    positions = np.array([FAR + [3, 2**31 - 1, -(2**31)], [7, FAR[0], 1, 2, 0, 5, FAR[1], 9]])
    beyond = (positions > 2**31 - 1) | (positions < -(2**31))
    np.save("p.npy", positions)
    cos, sin = angles(np.where(beyond, 0, positions), values)
    q, k = random((2, 8, 3, 40)), random((2, 8, 1, 40), seed=2)
    for source in ["inline", "rows"]:
        rotate_both(source, ["--frequencies", "f.npy", "--positions", "p.npy", "--outside", "pass", "--source", source], q, k,
                    lambda x: rotate(x, cos, sin), "f32", "7 of 16 tokens have positions beyond int32; they pass")
    near = np.where(beyond, np.where(positions < 0, FAR[1], FAR[0]), positions % 1000)
    np.save("near.npy", near)
    c, s = angles(np.where(beyond, 0, near), values)
    rotate_both("table", ["--frequencies", "f.npy", "--positions", "near.npy", "--outside", "pass", "--source", "table"], q, k,
                lambda x: rotate(x, c, s), "f32", "7 of 16 tokens")
    for device in devices():
        _, errors = run("table", "--frequencies", "f.npy", "--positions", "p.npy", "--cos", "c.npy", "--sin", "s.npy",
                        "--outside", "pass", "--device", device)
        assert errors.count("\n") == 1 and "7 of 16 positions are beyond int32" in errors, errors
        got = np.load("c.npy"), np.load("s.npy")
        assert (got[0][beyond] == 1).all() and (got[1][beyond] == 0).all() and np.abs(got[0] - cos).max() < 1.2e-7


@test
def one_axis_beyond_int32_keeps_a_token():
    values = frequencies(10000, 32)
    np.save("f.npy", values)
    axes = axes_of("contiguous", [4, 6, 6])
    positions = np.random.default_rng(4).integers(0, 99, (3, 1, 6))
    positions[1, 0, 2], positions[0, 0, 3], positions[2, 0, 3] = FAR[0], FAR[1], FAR[2]
    np.save("p.npy", positions)
    kept = positions.copy()
    kept[:, 0, [2, 3]] = 0
    cos, sin = axis_angles(kept, axes, values)
    q, k = random((2, 6, 2, 32)), random((2, 6, 1, 32), seed=2)
    for skip, count in [([], 4), (["--skip-first", "3"], 2)]:
        c, s = cos.copy(), sin.copy()
        if skip:
            c[:, :3], s[:, :3] = 1, 0
        rotate_both(str(skip), ["--frequencies", "f.npy", "--sections", "4,6,6", "--positions", "p.npy", "--outside", "pass", *skip], q, k,
                    lambda x: rotate(x, c, s), "f32", f"{count} of 12 tokens have positions beyond int32")


@test
def all_positions_may_be_beyond_int32():
    np.save("f.npy", frequencies(10000, 32))
    np.save("p.npy", np.array(FAR))
    q = random((1, 5, 2, 32))
    for source in ["inline", "rows", "table"]:
        rotate_both(source, ["--frequencies", "f.npy", "--positions", "p.npy", "--outside", "pass", "--source", source], q, q, lambda x: x,
                    "f32", "5 of 5 tokens have positions beyond int32")


@test
def positions_beyond_int32_are_refused():
    np.save("f.npy", frequencies(10000, 32))
    np.save("p.npy", np.array([[7, 1, 3, 2], [1, 2, FAR[0], FAR[1]]]))
    np.save("q.npy", random((2, 4, 2, 32)))
    given = ["--positions", "p.npy", "--device", "cpu"]
    sentence = "--positions has 2147483648 for token 2 of sequence 1, outside int32, -2147483648 to 2147483647; --outside pass"
    before = sorted(os.listdir("."))
    for command in (["rotate", "--frequencies", "f.npy", "--q", "q.npy", "--q-out", "o.npy", "--source", "inline"],
                    ["rotate", "--frequencies", "f.npy", "--q", "q.npy", "--q-out", "o.npy", "--source", "table"],
                    ["table", "--frequencies", "f.npy", "--cos", "o.npy", "--sin", "o2.npy"]):
        expect_refusal(command[0], [*command, *given], sentence, before)
    run("rotate", "--frequencies", "f.npy", "--q", "q.npy", "--q-out", "o.npy", *given, "--skip-last", "2")
