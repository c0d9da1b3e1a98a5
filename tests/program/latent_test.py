"""Latent attention: whole heads and split ones, by their own configurations."""
import json
import os

import numpy as np

from model import angles, expect_close, random, rotate, widen
from program import devices, expect_refusal, run, test

TOKENS = 5


def write(config):
    with open("config.json", "w") as file:
        json.dump(config, file)


def rotated(x, nope, rope, pairing_out):
    cos, sin = angles(np.arange(TOKENS), 10000.0 ** (-np.arange(0, rope, 2) / rope))
    return rotate(widen(x), cos[None], sin[None], "interleaved", pairing_out, begin=x.shape[-1] - rope)


@test
def whole_heads_turn_at_their_ends():
    configs = [(dict(model_type="deepseek_v3", qk_nope_head_dim=128, qk_rope_head_dim=64), 128, 64, "half"),
               (dict(model_type="deepseek_v3"), 128, 64, "half"),
               (dict(model_type="deepseek_v2"), 128, 64, "interleaved"),
               (dict(model_type="axk2"), 64, 32, "half")]
    for config, nope, rope, out in configs:
        write(config)
        for q_dim, k_dim in [(nope + rope, nope + rope), (nope + rope, rope), (rope, nope + rope), (rope, rope)]:
            q, k = random((1, TOKENS, 3, q_dim)), random((1, TOKENS, 1, k_dim), seed=2)
            np.save("q.npy", q)
            np.save("k.npy", k)
            bits = []
            for device in devices():
                _, errors = run("rotate", "--config", "config.json", "--positions", f"0:{TOKENS}", "--q", "q.npy", "--k", "k.npy",
                                "--q-out", "qo.npy", "--k-out", "ko.npy", "--device", device)
                assert errors == "", errors
                for path, x in (("qo.npy", q), ("ko.npy", k)):
                    what = f"{config}, heads of {q_dim} and {k_dim}, {path} on {device}"
                    got = np.load(path)
                    expect_close(got, rotated(x, nope, rope, out), "f32", what)
                    assert np.array_equal(got[..., :-rope], x[..., :-rope]), what
                if device != "reference":
                    bits.append(open("qo.npy", "rb").read() + open("ko.npy", "rb").read())
            assert all(b == bits[0] for b in bits), f"{config}: the devices' bits differ"
    write(configs[0][0])
    np.save("q.npy", random((1, TOKENS, 1, 100)))
    expect_refusal("heads of another size", ["rotate", "--config", "config.json", "--positions", f"0:{TOKENS}", "--q",
                                             "q.npy", "--q-out", "x.npy"],
                   "--config says 64, or 192 with the 128 before them that do not turn", sorted(os.listdir(".")))
    text = run("frequencies", "--config", "config.json")[0]
    assert "from element 0 of 64" in text and "elements 128 to 191 of a whole head of 192" in text, text


@test
def what_is_turned_lies_as_the_model_writes_it():
    write(dict(model_type="deepseek_v3", qk_nope_head_dim=128, qk_rope_head_dim=64))
    q, gradient = random((1, TOKENS, 3, 192)), random((1, TOKENS, 3, 192), seed=2)
    np.save("q.npy", q)
    np.save("gradient.npy", gradient)

    def turned(source, out, *options, first=0):
        run("rotate", "--config", "config.json", "--positions", f"{first}:{first + TOKENS}", "--q", source, "--q-out", out,
            *options)
        return np.load(out)

    there = turned("q.npy", "there.npy")
    expect_close(turned("there.npy", "back.npy", "--inverse"), widen(q), "f32", "turned back")
    expect_close(turned("there.npy", "far.npy", "--shift", first=0), shifted(there), "f32", "a shift")
    sent_back = turned("gradient.npy", "transposed.npy", "--transpose")
    products = [float((widen(there) * widen(gradient)).sum()), float((widen(q) * widen(sent_back)).sum())]
    assert abs(products[0] - products[1]) < 1e-4 * abs(products[0]) + 1e-3, f"no transpose: {products}"


@test
def a_row_of_a_latent_cache_turns_at_its_end():
    write(dict(model_type="deepseek_v3"))
    row = random((1, TOKENS, 1, 576))
    np.save("row.npy", row)
    run("rotate", "--config", "config.json", "--positions", f"0:{TOKENS}", "--q", "row.npy", "--q-out", "out.npy",
        "--rotary-offset", "512")
    expect_close(np.load("out.npy"), rotated(row, 512, 64, "half"), "f32", "a row of 512 and 64")


def shifted(there):
    cos, sin = angles(np.arange(TOKENS), 10000.0 ** (-np.arange(0, 64, 2) / 64))
    return rotate(widen(there), cos[None], sin[None], "half", "half", begin=128)
