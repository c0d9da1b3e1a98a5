"""The length that rules take from the positions that table and rotate are given."""
import json
import os

import numpy as np

from gguf import gguf
from model import angles, random, rotate, widen
from program import devices, expect_refusal, run, test
from vectors import cases_of

WITHIN = "the frequencies depend on the length (these: {}); --length N chooses another"
SAID = "the frequencies are those of a length of {}, the largest position plus one; --length N chooses another"


def case_of(name):
    case, arrays = next((case, arrays) for case, arrays in cases_of("frequencies") if case["name"] == name)
    with open("config.json", "w") as file:
        json.dump(case["config"], file)
    return arrays["inv_freq"].astype(np.float64), case["attention_scaling"]


def table(*options, positions="0:8192", device="reference"):
    _, errors = run("table", "--config", "config.json", "--positions", positions, "--cos", "c.npy", "--sin", "s.npy",
                    "--device", device, *options)
    return np.load("c.npy"), np.load("s.npy"), errors


def expect_table(got, positions, frequencies, scale, what):
    """The frequencies of Transformers are float32."""
    for array, wanted in zip(got, angles(positions, frequencies, scale)):
        allowed = np.multiply.outer(np.abs(np.asarray(positions, np.float64)), frequencies) * 5e-7 + 2e-7 * scale
        share = (np.abs(array - wanted) / allowed).max()
        assert share <= 1, f"{what}: off by {share} of what is allowed"


@test
def positions_beyond_the_original_length_take_the_long_factors():
    """Phi-3.5's own configuration: 4096 positions are within its original length, 4097 beyond it."""
    long, scale = case_of("phi3_5_mini_long")
    short, _ = case_of("phi3_5_mini_short")
    assert np.abs(long / short - 1).max() > 0.5
    for device in devices():
        got = table(device=device)
        expect_table(got, np.arange(8192), long, scale, f"0:8192 on {device}")
        assert got[2] == f"vkrope table: note: {SAID.format(8192)}\n", got[2]
    for text, last, frequencies in [("0:4096", 4095, short), ("0:4097", 4096, long), ("-9:7", 6, short),
                                    ("-4:-1", -2, short), ("5000:5001", 5000, long)]:
        first = int(text.split(":")[0])
        got = table(positions=text)
        expect_table(got, np.arange(first, last + 1), frequencies, scale, text)
        said = SAID.format(last + 1) if frequencies is long else WITHIN.format("short factors up to a length of 4096")
        assert got[2] == f"vkrope table: note: {said}\n", f"{text}: {got[2]}"
    less = "vkrope table: note: --length is 4096, and the largest position plus one is 5000; the frequencies are those of --length\n"
    for length, frequencies, said in [("4096", short, less), ("5000", long, ""), ("131072", long, "")]:  # --length says otherwise
        got = table("--length", length, positions="0:5000")
        expect_table(got, np.arange(5000), frequencies, scale, f"--length {length}")
        assert got[2] == said, got[2]
    np.save("p.npy", np.array([[3, 1], [4095.5, 2]]))  # 4095.5 asks for 4096.5 positions
    got = table(positions="p.npy")
    assert SAID.format("4096.5") in got[2], got[2]


@test
def positions_choose_the_factors_of_a_gguf():
    factors = {"short": np.array([1, 1.25, 1.5, 2]), "long": np.array([2, 3, 4, 5.5])}
    with open("config.json", "wb") as file:
        file.write(gguf("phi3", {"attention.key_length": 8, "context_length": 512,
                                 "rope.scaling.original_context_length": 64},
                        {f"rope_factors_{name}.weight": values for name, values in factors.items()}))
    plain = 10000.0 ** (-np.arange(0, 8, 2) / 8)
    for end in (64, 65):
        got = table(positions=f"0:{end}")
        expect_table(got[:2], np.arange(end), plain / factors["long" if end > 64 else "short"], got[0][0, 0], f"0:{end}")
        said = WITHIN.format("short factors up to a length of 64") if end == 64 else SAID.format(65)
        assert got[2] == f"vkrope table: note: {said}\n", got[2]


@test
def rotations_take_the_length_of_all_their_positions():
    long, scale = case_of("phi3_5_mini_long")
    q, k = random((2, 3, 2, 96)), random((2, 3, 1, 96), seed=2)
    np.save("q.npy", q)
    np.save("k.npy", k)
    positions = np.array([[0, 1, 2], [7, 4096, 3]])  # one sequence alone reaches beyond
    np.save("p.npy", positions)
    cos, sin = angles(positions, long, scale)
    for device in devices():
        _, errors = run("rotate", "--config", "config.json", "--positions", "p.npy", "--q", "q.npy", "--k", "k.npy",
                        "--q-out", "qo.npy", "--k-out", "ko.npy", "--device", device)
        assert errors == f"vkrope rotate: note: {SAID.format(4097)}\n", errors
        for path, x in (("qo.npy", q), ("ko.npy", k)):
            error = np.abs(np.load(path) - rotate(widen(x), cos, sin)).max()
            assert error <= 4096 * 5e-7 * 3, f"{path} on {device}: off by {error}"


@test
def every_rule_that_grows_takes_the_positions():
    cases = [
        ("llama_dyn4_seq8192", "0:8192"), ("llama_dyn4_seq2048", "0:2048"),
    ]
    for name, positions in cases:
        frequencies, scale = case_of(name)
        got = table(positions=positions)
        expect_table(got, np.arange(int(positions[2:])), frequencies, scale, name)
        said = SAID.format(8192) if name.endswith("8192") else WITHIN.format("up to a length of 2048")
        assert got[2] == f"vkrope table: note: {said}\n", got[2]
    hunyuan, scale = case_of("hunyuan_alpha1000")
    got = table(positions="0:300")
    expect_table(got, np.arange(300), hunyuan, scale, "HunYuan's alpha within its length")
    with open("config.json") as file:
        beyond = int(json.load(file)["max_position_embeddings"]) + 1
    assert WITHIN.format(f"up to a length of {beyond - 1}") in got[2], got[2]
    assert SAID.format(beyond) in table(positions=f"{beyond - 2}:{beyond}")[2]  # the alpha is ignored there
    with open("config.json", "w") as file:  # Qwen's first: the base grows by steps, and queries are scaled
        json.dump(dict(model_type="qwen", seq_length=2048, max_position_embeddings=32768), file)
    for end, times in [(2048, 1), (2049, 3), (4096, 3), (4097, 7)]:
        got = table(positions=f"0:{end}")
        base = 10000.0 * times ** (128 / 126)
        expect_table(got, np.arange(end), base ** (-np.arange(0, 128, 2) / 128), 1.0, f"Qwen's {end}")
        said = SAID.format(end) if times > 1 else WITHIN.format("up to a length of 2048")
        assert said in got[2] and ("use_logn_attn" in got[2]) == (times > 1), got[2]
    with open("config.json", "w") as file:
        json.dump(dict(model_type="qwen"), file)
    before = sorted(os.listdir("."))
    expect_refusal("a length that the configuration cannot tell of",
                   ["table", "--config", "config.json", "--positions", "0:4", "--cos", "x.npy", "--sin", "y.npy"],
                   "seq_length", before)
