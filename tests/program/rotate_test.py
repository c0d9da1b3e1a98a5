import os

import numpy as np

from model import (angles, axes_of, axis_angles, expect_close, frequencies, narrow, positions_of_axes, random, rotate,
                   rotate_both, widen, write_config)
from program import devices, expect_refusal, run, test


@test
def rotate_is_numpys_in_every_order_pairing_and_source():
    write_config()
    positions = np.array([3, -1, 70000, 12, 5], np.int64)
    np.save("p.npy", positions)
    cos, sin = (a[None] for a in angles(positions, frequencies()))
    for order in ["bshd", "bhsd"]:
        shape = (lambda h: (2, 5, h, 64)) if order == "bshd" else (lambda h: (2, h, 5, 64))
        q, k = random(shape(6)), random(shape(2), seed=2)
        for pairing, out in [("half", None), ("interleaved", None), ("half", "interleaved"), ("interleaved", "half")]:
            for source in [None, "inline", "table", "rows"]:
                arguments = ["--config", "config.json", "--positions", "p.npy", "--order", order, "--pairing", pairing]
                arguments += ["--pairing-out", out] if out else []
                arguments += ["--source", source] if source else []
                rotate_both(" ".join(arguments), arguments, q, k,
                            lambda x: rotate(x, cos, sin, pairing, out, 0, order), "f32")


@test
def rotate_is_numpys_in_every_element():
    write_config()
    cos, sin = (a[None] for a in angles(np.arange(-3, 6), frequencies()))
    for element in ["f32", "f16", "bf16"]:
        q, k = random((1, 9, 4, 64), element), random((1, 9, 1, 64), element, 2)
        for out in [None, "f32", "f16", "bf16"]:
            arguments = ["--config", "config.json", "--positions", "-3:6"]
            arguments += ["--element", element] if element != "f16" else []  # float16 says so itself
            arguments += ["--element-out", out] if out else []
            rotate_both(" ".join(arguments), arguments, q, k, lambda x: rotate(x, cos, sin), out or element)


@test
def reference_is_rounded_once():
    write_config()
    q = random((1, 40, 8, 64), "f16")
    np.save("q.npy", q)
    cos, sin = (a[None] for a in angles(np.arange(40), frequencies()))
    wanted = rotate(widen(q), cos, sin)
    for element in ["f16", "bf16"]:
        run("rotate", "--config", "config.json", "--positions", "0:40", "--q", "q.npy", "--q-out", "o.npy", "--element-out",
            element, "--device", "reference")
        got = np.load("o.npy")
        nearest = narrow(wanted, element)  # numpy rounds float64 to float16 once
        differing = np.count_nonzero(got != nearest)
        assert differing <= (0 if element == "f16" else 4), f"{element}: {differing} differ"  # bf16 rounds twice here


@test
def rotate_takes_parts_offsets_and_operations():
    values = frequencies(10000, 24)
    np.save("f.npy", values)
    cos, sin = (a[None] for a in angles(np.arange(7), values, 1.5))
    q, k = random((2, 7, 3, 64)), random((2, 7, 1, 64), seed=2)
    given = ["--frequencies", "f.npy", "--scale", "1.5", "--positions", "0:7", "--rotary-dim", "24"]
    operations = {None: (cos, sin), "--transpose": (cos, -sin), "--inverse": (cos / 1.5**2, -sin / 1.5**2),
                  "--shift": (cos / 1.5, sin / 1.5)}
    for begin in [None, 40]:
        for operation, (c, s) in operations.items():
            for source in ["inline", "rows", "table"]:
                arguments = given + ["--source", source] + ([operation] if operation else [])
                arguments += ["--rotary-offset", begin] if begin else []
                rotate_both(str(arguments), arguments, q, k, lambda x: rotate(x, c, s, begin=begin or 0), "f32")
    np.save("c.npy", cos[0].astype(np.float32))
    np.save("s.npy", sin[0].astype(np.float32))
    for operation in ["--inverse", "--shift"]:
        c, s = operations[operation]
        rotate_both(f"{operation} by given rows of a scale",
                    ["--cos", "c.npy", "--sin", "s.npy", "--scale", "1.5", operation], q, k,
                    lambda x: rotate(x, c, s), "f32")
    write_config()
    plain = angles(np.arange(7), frequencies(500000, 32))
    rotate_both("--rotary-dim of a model", ["--config", "config.json", "--positions", "0:7", "--rotary-dim", "32"], q, k,
                lambda x: rotate(x, plain[0][None], plain[1][None]), "f32")


@test
def rotate_takes_a_given_table_or_rows():
    rng = np.random.default_rng(5)
    cos, sin = rng.uniform(-1, 1, (2, 20, 32)).astype(np.float32)
    q, k = random((2, 5, 3, 64)), random((2, 5, 1, 64), seed=2)
    positions = np.array([[0, 19, 4, 4, 7], [1, 2, 3, 11, 10]], np.int64)
    np.save("c.npy", cos)
    np.save("s.npy", sin)
    np.save("p.npy", positions)
    table = ["--cos", "c.npy", "--sin", "s.npy"]
    rotate_both("table", table + ["--positions", "p.npy"], q, k,
                lambda x: rotate(x, widen(cos)[positions], widen(sin)[positions]), "f32")
    np.save("c.npy", cos[:10].reshape(2, 5, 32))
    np.save("s.npy", sin[:10].reshape(2, 5, 32))
    by_token = (widen(cos[:10].reshape(2, 5, 32)), widen(sin[:10].reshape(2, 5, 32)))
    rotate_both("rows of a batch", table, q, k, lambda x: rotate(x, *by_token), "f32")
    np.save("c.npy", cos[:10])
    np.save("s.npy", sin[:10])
    rotate_both("rows", table + ["--source", "rows"], q, k, lambda x: rotate(x, *by_token), "f32")
    np.save("c.npy", cos[:5].astype(np.float16))
    np.save("s.npy", sin[:5].astype(np.float16))
    shared = (widen(cos[None, :5].astype(np.float16)), widen(sin[None, :5].astype(np.float16)))
    rotate_both("float16 rows of one sequence", table, q, k, lambda x: rotate(x, *shared), "f32")


@test
def positions_outside_a_table_are_refused_or_pass():
    np.save("c.npy", np.zeros((4, 16), np.float32))
    np.save("s.npy", np.ones((4, 16), np.float32))
    q = random((1, 6, 2, 32))
    np.save("q.npy", q)
    np.save("p.npy", np.array([-1, 0, 3, 4, 2000000000, 1], np.int32))
    before = sorted(os.listdir("."))
    plain = ["rotate", "--cos", "c.npy", "--sin", "s.npy", "--q", "q.npy", "--q-out", "o.npy", "--device"]
    outside = "outside the 4 rows of --cos and --sin, of the positions 0 to 3; --outside pass lets such tokens pass"
    for device in devices():
        for positions, options, words in [("p.npy", [], "-1 for token 0"), ("p.npy", ["--skip-first", "1"], "4 for token 3"),
                                          ("0:6", [], "4 for token 4"), ("1:7", ["--outside", "refuse"], "4 for token 3"),
                                          ("-1:5", ["--skip-first", "1"], "4 for token 5")]:
            expect_refusal(positions, [*plain, device, "--positions", positions, *options],
                           f"--positions has {words}, {outside}", before)
    for device in devices():
        run(*plain, device, "--positions", "0:4", "--skip-last", "2")
        assert np.array_equal(np.load("o.npy")[:, 4:], q[:, 4:])
        _, errors = run(*plain, device, "--positions", "p.npy", "--outside", "pass")
        assert errors.count("\n") == 1 and "3 of 6 tokens" in errors and errors.startswith("vkrope rotate: "), errors
        got = np.load("o.npy")
        assert np.array_equal(got[:, [0, 3, 4]], q[:, [0, 3, 4]])
        assert np.array_equal(got[:, [1, 2, 5], :, :16], -q[:, [1, 2, 5], :, 16:])
    before = sorted(os.listdir("."))
    expect_refusal("rows", ["rotate", "--cos", "c.npy", "--sin", "s.npy", "--source", "rows", "--outside", "pass", "--q",
                            "q.npy", "--q-out", "new.npy"], "--outside goes with --positions", before)
    expect_refusal("a word", [*plain, "cpu", "--outside", "skip"], "--outside", before)


@test
def an_order_that_the_shape_leaves_open_is_said():
    write_config()
    for shape, options, words in [((2, 4, 4, 64), [], "[batch, seq, heads, dim]; --order bhsd says [batch, heads, seq, dim]"),
                                  ((4, 4, 64), [], "[batch, seq, dim] of one head; --order shd says [seq, heads, dim]"),
                                  ((2, 4, 4, 64), ["--order", "bshd"], ""), ((4, 4, 64), ["--order", "bsd"], ""),
                                  ((4, 4, 4, 64), ["--order", "bhsd"], ""), ((4, 4, 3, 64), [], ""), ((2, 4, 64), [], ""),
                                  ((1, 1, 64), [], ""), ((3, 1, 1, 64), [], "")]:
        np.save("q.npy", random(shape))
        tokens = shape[2 if options == ["--order", "bhsd"] else 1]
        _, errors = run("rotate", "--config", "config.json", "--positions", f"0:{tokens}", "--q", "q.npy", "--q-out", "o.npy",
                        "--device", "cpu", *options)
        assert (errors.count("\n") == 1 and errors.startswith("vkrope rotate: note: --q has the shape [") and words in errors
                ) if words else errors == "", (shape, options, errors)


@test
def rotate_takes_rank_3_and_writes_in_place():
    write_config()
    q = random((2, 5, 64))
    cos, sin = (a[None] for a in angles(np.arange(5), frequencies()))
    np.save("p.npy", np.arange(5, dtype=np.int32)[None])
    for device in devices():
        np.save("q.npy", q)
        run("rotate", "--config", "config.json", "--positions", "p.npy", "--q", "q.npy", "--q-out", "q.npy", "--device",
            device)
        expect_close(np.load("q.npy")[:, :, None], rotate(widen(q)[:, :, None], cos, sin), "f32", device)


@test
def skipped_tokens_stay():
    values = frequencies(10000, 32)
    np.save("f.npy", values)
    axes = axes_of("contiguous", [8, 8])
    q, k = random((2, 9, 2, 32)), random((2, 9, 1, 32), seed=2)
    full = positions_of_axes(2, 2, 9)
    full[:, :, 0] = 2**31 - 1  # a skipped token's widens no table
    for first, last in [(1, 0), (0, 2), (1, 2), (4, 5)]:
        skips = ["--skip-first", first, "--skip-last", last]
        turning = slice(first, 9 - last)

        def window(cos, sin):
            held = np.ones((2, 9, 16)), np.zeros((2, 9, 16))
            for to, given in zip(held, (cos, sin)):
                to[:, turning] = given
            return held

        cos, sin = window(*axis_angles(full[:, :, turning], axes, values))
        arrays = [full] + ([full[:, :, turning]] if first + last < 9 else [])
        for array in arrays:
            np.save("p.npy", array)
            for source in ["inline", "table", "rows"]:
                if source == "table" and first in (0, 4):
                    continue  # the far token turns, or none does
                arguments = ["--frequencies", "f.npy", "--sections", "8,8", "--positions", "p.npy", "--source", source]
                rotate_both(str(skips + [source, array.shape]), arguments + skips, q, k,
                            lambda x: rotate(x, cos, sin), "f32")
        if first + last == 9:
            continue
        cos, sin = window(*angles(np.arange(3, 12 - first - last), values))
        for source in ["inline", "table", "rows"] if first == 1 else ["inline"]:
            arguments = ["--frequencies", "f.npy", "--positions", f"3:{12 - first - last}", "--source", source]
            rotate_both(str(skips + [source, "range"]), arguments + skips, q, k, lambda x: rotate(x, cos, sin), "f32")
        np.save("c.npy", cos[0, turning].astype(np.float32))
        np.save("s.npy", sin[0, turning].astype(np.float32))
        rotate_both(str(skips + ["given rows"]), ["--cos", "c.npy", "--sin", "s.npy", *skips], q, k,
                    lambda x: rotate(x, cos, sin), "f32")
    # Positions for every token: those skipped are not turned all the same.
    cos, sin = (a[None].copy() for a in angles(np.arange(9), values))
    cos[:, :2], sin[:, :2], cos[:, 8], sin[:, 8] = 1, 0, 1, 0
    rotate_both("a range of all", ["--frequencies", "f.npy", "--positions", "0:9", "--skip-first", "2", "--skip-last",
                                   "1"], q, k, lambda x: rotate(x, cos, sin), "f32")


@test
def chunks_hold_halves_of_their_own():
    values = frequencies(10000, 32)
    np.save("f.npy", values)
    cos, sin = (a[None] for a in angles(np.arange(5), values))
    q, k = random((1, 5, 2, 40)), random((1, 5, 1, 40), seed=2)
    for chunk in [4, 8, 16, 32]:
        for pairing, out in [("half", None), ("half", "interleaved"), ("interleaved", "half")]:
            arguments = ["--frequencies", "f.npy", "--positions", "0:5", "--rotary-offset", "4", "--chunk-dim", chunk]
            arguments += ["--pairing", pairing] + (["--pairing-out", out] if out else [])
            rotate_both(str(arguments), arguments, q, k, lambda x: rotate(x, cos, sin, pairing, out, 4, chunk=chunk),
                        "f32")


@test
def rank_3_is_told_apart_by_its_order():
    write_config()
    cos, sin = (a[None] for a in angles(np.arange(5), frequencies()))
    one_head = (3, 5, 64), lambda x: x[:, :, None], lambda x: x[:, :, 0]
    for order, shape, to_bshd, back in [("shd", (5, 3, 64), lambda x: x[None], lambda x: x[0]),
                                        ("hsd", (3, 5, 64), lambda x: x.swapaxes(0, 1)[None],
                                         lambda x: x[0].swapaxes(0, 1)),
                                        ("bsd", *one_head), (None, *one_head), ("bhsd", *one_head)]:
        q, bits = random(shape), set()
        np.save("q.npy", q)
        wanted = back(rotate(to_bshd(widen(q)), cos, sin))
        for device in devices():
            run("rotate", "--config", "config.json", "--positions", "0:5", "--q", "q.npy", "--q-out", "o.npy",
                "--device", device, *(["--order", order] if order else []))
            expect_close(np.load("o.npy"), wanted, "f32", f"{order} on {device}")
            if device != "reference":
                bits.add(np.load("o.npy").tobytes())
        assert len(bits) == 1, order
    np.save("q4.npy", random((1, 5, 3, 64)))
    rotation = ["rotate", "--config", "config.json", "--positions", "0:5", "--q-out", "o.npy"]
    expect_refusal("rank 4", rotation + ["--q", "q4.npy", "--order", "shd"], "--order shd is of rank 3",
                   sorted(os.listdir(".")))
    np.save("q2.npy", random((5, 64)))
    expect_refusal("rank 2", rotation + ["--q", "q2.npy"], "--order shd or hsd", sorted(os.listdir(".")))
