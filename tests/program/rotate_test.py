import json
import os

import numpy as np

from model import (angles, expect_close, frequencies, narrow, random, rotate, rotate_both, widen, write_config,
                   write_scaled)
from program import devices, expect_refusal, run, test


@test
def rotate_is_numpys_in_every_order_and_pairing():
    write_config()
    positions = np.array([3, -1, 70000, 12, 5], np.int64)
    np.save("p.npy", positions)
    cos, sin = (a[None] for a in angles(positions, frequencies()))
    for order in ["bshd", "bhsd"]:
        shape = (lambda h: (2, 5, h, 64)) if order == "bshd" else (lambda h: (2, h, 5, 64))
        q, k = random(shape(6)), random(shape(2), seed=2)
        for pairing, out in [("half", None), ("interleaved", None), ("half", "interleaved"), ("interleaved", "half")]:
            arguments = ["--config", "config.json", "--positions", "p.npy", "--order", order, "--pairing", pairing]
            arguments += ["--pairing-out", out] if out else []
            rotate_both(" ".join(arguments), arguments, q, k, lambda x: rotate(x, cos, sin, pairing, out, 0, order), "f32")


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
    write_scaled(1.5, 64)
    cos, sin = (a[None] for a in angles(np.arange(7), frequencies(10000, 24), 1.5))
    q, k = random((2, 7, 3, 64)), random((2, 7, 1, 64), seed=2)
    given = ["--config", "config.json", "--positions", "0:7", "--rotary-dim", "24"]
    operations = {None: (cos, sin), "--transpose": (cos, -sin), "--inverse": (cos / 1.5**2, -sin / 1.5**2),
                  "--shift": (cos / 1.5, sin / 1.5)}
    for begin in [None, 40]:
        for operation, (c, s) in operations.items():
            arguments = given + ([operation] if operation else [])
            arguments += ["--rotary-offset", begin] if begin else []
            rotate_both(str(arguments), arguments, q, k, lambda x: rotate(x, c, s, begin=begin or 0), "f32")


@test
def chunks_hold_halves_of_their_own():
    q, k = random((1, 5, 2, 32)), random((1, 5, 1, 32), seed=2)
    write_config(model_type="gemma4_vision", head_dim=32, rope_theta=None)
    told = json.loads(run("frequencies", "--config", "config.json", "--json")[0])
    cos, sin = (a[None] for a in angles(np.arange(5), np.array(told["frequencies"])))
    for pairing, out in [("half", None), ("half", "interleaved"), ("interleaved", "half")]:
        arguments = ["--config", "config.json", "--positions", "0:5", "--pairing", pairing] + (["--pairing-out", out] if out else [])
        rotate_both(str(arguments), arguments, q, k, lambda x: rotate(x, cos, sin, pairing, out, chunk=told["chunk_dim"]), "f32",
                    "on all 2 axes")


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
