import os

import numpy as np

from model import expect_close, random, widen
from program import devices, expect_refusal, run, test


def t5_buckets(behind, buckets, distance, both):
    """Repeats T5's own code; behind is the query's position less the key's."""
    side = buckets // 2 if both else buckets
    n = np.abs(behind) if both else np.maximum(behind, 0)
    own = side // 2
    large = own + (np.log(np.maximum(n, 1) / own) / np.log(distance / own) * (side - own) + 1e-9).astype(np.int64)
    return np.where(n < own, n, np.minimum(large, side - 1)) + (side * (behind < 0) if both else 0)


def slopes_of(heads):
    power = 2 ** int(np.floor(np.log2(heads)))
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    return np.array(slopes + [2.0 ** (-8 * (2 * h + 1) / (2 * power)) for h in range(heads - power)])


def add_bias(name, arguments, scores, wanted, element):
    outputs = {}
    np.save("s.npy", scores)
    bits = []
    for device in devices():
        for given, plus in [(["--scores", "s.npy"], widen(scores)),
                            (["--queries", scores.shape[2], "--keys", scores.shape[3]], None)]:
            heads = ["--heads", scores.shape[1]] if arguments[0] == "alibi" and plus is None else []
            run("bias", *arguments, *given, *heads, "--out", "o.npy", "--device", device, "--element", element)
            got, expected = np.load("o.npy"), wanted if plus is None else wanted + plus
            masked = np.isneginf(expected)
            assert got.shape == expected.shape and np.array_equal(masked, np.isneginf(widen(got))), name
            expect_close(np.where(masked, got.dtype.type(0), got), np.where(masked, 0, expected), element, name)
            outputs.setdefault(device, []).append(got.tobytes())
    bits = [outputs[device] for device in outputs if device != "reference"]
    assert all(b == bits[0] for b in bits), f"{name}: the devices' bits differ"


@test
def biases_are_numpys():
    behind = (np.arange(7)[:, None] + 40) - np.arange(60)
    masked = np.where(behind < 0, -np.inf, 0.0)
    for element in ["f32", "f16", "bf16"]:
        scores = random((2, 3, 7, 60), element)
        weights = random((32, 3), element, 5)
        np.save("w.npy", weights)
        for both in [False, True]:
            bias = np.moveaxis(widen(weights)[t5_buckets(behind, 32, 50, both)], -1, 0)
            add_bias("t5", ["t5", "--weights", "w.npy", "--max-distance", "50", "--first-query", "40"] +
                     (["--bidirectional"] if both else []), scores, bias, element)
        bias = np.moveaxis(widen(weights)[np.clip(behind, -9, 22) + 9], -1, 0)
        add_bias("clipped", ["clipped", "--weights", "w.npy", "--least", "-9", "--first-query", "40", "--causal"], scores,
                 bias + masked, element)
        for both in [False, True]:
            bias = -slopes_of(3)[:, None, None] * (np.abs(behind) if both else behind)
            add_bias("alibi", ["alibi", "--first-query", "40"] + (["--bidirectional"] if both else []), scores, bias,
                     element)


@test
def nonsense_about_biases_is_refused_in_one_line():
    np.save("s.npy", random((1, 3, 4, 4)))
    np.save("rank3.npy", random((3, 4, 4)))
    np.save("w.npy", random((32, 3)))
    np.save("w4.npy", random((32, 4)))
    np.save("w1.npy", random((1, 3)))
    np.save("wide.npy", np.zeros((1, 65537, 1, 1), np.float32))
    before = sorted(os.listdir("."))
    size = ["--queries", "4", "--keys", "4"]
    end = ["--out", "o.npy", "--device", "reference"]
    for what, arguments, sentence in [
        ("no kind", size, "kind is missing"),
        ("unknown kind", ["t6"] + size, "t6"),
        ("no weights", ["t5"] + size, "--weights is missing"),
        ("weights of alibi", ["alibi", "--weights", "w.npy"] + size, "--weights goes with"),
        ("no sizes", ["t5", "--weights", "w.npy"], "--scores, or --queries and --keys are missing"),
        ("no heads", ["alibi"] + size, "--heads is missing"),
        ("heads of t5", ["t5", "--weights", "w.npy", "--heads", "3"] + size, "--heads goes with alibi"),
        ("sizes twice", ["t5", "--weights", "w.npy", "--scores", "s.npy"] + size, "which have them"),
        ("other heads", ["t5", "--weights", "w4.npy", "--scores", "s.npy"], "--weights has 4 heads"),
        ("rank of scores", ["t5", "--weights", "w.npy", "--scores", "rank3.npy"], "[batch, heads, queries, keys]"),
        ("rank of weights", ["t5", "--weights", "s.npy"] + size, "[buckets, heads]"),
        ("one bucket", ["t5", "--weights", "w1.npy"] + size, "buckets is 1"),
        ("near", ["t5", "--weights", "w.npy", "--max-distance", "16"] + size, "max_distance is 16"),
        ("a distance of alibi", ["alibi", "--heads", "2", "--max-distance", "7"] + size, "--max-distance goes with t5"),
        ("least of t5", ["t5", "--weights", "w.npy", "--least", "3"] + size, "--least goes with clipped"),
        ("sides", ["clipped", "--weights", "w.npy", "--bidirectional"] + size, "--bidirectional goes with"),
        ("huge", ["alibi", "--heads", "1000", "--queries", "1000000", "--keys", "1000000"], "GiB"),
        ("no file", ["t5", "--weights", "none.npy"] + size, "none.npy"),
        ("many slopes", ["alibi", "--heads", "65537"] + size, "--heads takes a whole number from 1 to 65536, not '65537'"),
        ("many heads", ["alibi", "--scores", "wide.npy"], "--scores has 65537 heads; alibi has slopes of at most 65536"),
        *[(option, [*kind, option + "=" + text, *size], option + " takes a whole number in digits from -")
          for kind, option in [(["alibi", "--heads", "3"], "--first-query"), (["clipped", "--weights", "w.npy"], "--least")]
          for text in ["1e1", "1.0", "0x10", "-", "--1", "1 ", "2147483648"]],
    ]:
        expect_refusal(what, ["bias"] + arguments + end, sentence, before)
    expect_refusal("overwrites", ["bias", "t5", "--weights", "w.npy"] + size + ["--out", "w.npy"], "--weights", before)


@test
def whole_numbers_are_decimal():
    np.save("w.npy", random((32, 3)))
    size = ["--queries", "4", "--keys", "4", "--device", "reference", "--out"]
    for kind, option in [(["alibi", "--heads", "3", "--causal"], "--first-query"),
                         (["clipped", "--weights", "w.npy"], "--least")]:
        for given, same in [("010", "10"), ("08", "8"), ("-010", "-10"), ("+3", "3")]:
            run("bias", *kind, f"{option}={given}", *size, "o.npy")
            run("bias", *kind, f"{option}={same}", *size, "o2.npy")
            run("bias", *kind, option + "=0", *size, "o0.npy")
            got = np.load("o.npy")
            assert np.array_equal(got, np.load("o2.npy")) and not np.array_equal(got, np.load("o0.npy")), (option, given)
