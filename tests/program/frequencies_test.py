import json

import numpy as np

from program import devices, run, test
from vectors import cases_of


def frequency_cases():
    """Each case of the manifest with its arrays, and the options that choose it."""
    for case, arrays in cases_of("frequencies"):
        with open("config.json", "w") as file:
            json.dump(case["config"], file)
        options = ["--config", "config.json", "--length", case["seq_len_seen"]]
        options += ["--layer-type", case["layer_type"]] if case["layer_type"] else []
        yield case, arrays, options


@test
def frequencies_are_those_of_transformers():
    worst, count = 0.0, 0
    for case, arrays, options in frequency_cases():
        got = json.loads(run("frequencies", *options, "--json")[0])
        values, wanted = np.array(got["frequencies"]), arrays["inv_freq"].astype(np.float64)
        assert values.shape == wanted.shape and got["rotary_dim"] == 2 * len(wanted), case["name"]
        assert np.array_equal(values == 0, wanted == 0), case["name"]
        error = np.abs(values / np.where(wanted == 0, 1, wanted) - 1)[wanted != 0].max()
        assert error <= 5e-7, f"{case['name']}: frequencies off by {error}"
        assert abs(got["scale"] / case["attention_scaling"] - 1) <= 1e-6, case["name"]
        text = run("frequencies", *options)[0]
        printed = [float(line.split()[1]) for line in text.splitlines()[-len(wanted):]]
        assert printed == got["frequencies"], case["name"]
        worst, count = max(worst, error), count + 1
    assert count == 20
    print(f"worst relative error of {count} cases: {worst:.3g}")


@test
def frequencies_tell_the_axes():
    told = ["axes", "axis_names", "skip_first", "skip_last", "chunk_dim"]
    wan = {"_class_name": "WanTransformer3DModel", "attention_head_dim": 12}
    cases = [
        (dict(model_type="qwen2_vl", rope_scaling=dict(mrope_section=[16, 24, 24])), [],
         dict(axes=[0] * 16 + [1] * 24 + [2] * 24, axis_names=["t", "h", "w"])),
        (wan, [], dict(axes=[0, 0, 1, 1, 2, 2], axis_names=["t", "h", "w"])),
        (dict(model_type="llama4", vision_config=dict(hidden_size=128)), ["--layer-type", "vision"],
         dict(axes=[0, 0, 1, 1], axis_names=["x", "y"], skip_last=1)),
        (dict(model_type="gemma4_vision", head_dim=8), [], dict(axes=[0, 0, 1, 1], axis_names=["x", "y"], chunk_dim=4)),
        (dict(model_type="dinov3_vit", hidden_size=48, num_register_tokens=4), [],
         dict(axes=[0, 0, 1, 1], axis_names=["h", "w"], skip_first=5)),
    ]
    for config, options, wanted in cases:
        with open("config.json", "w") as file:
            json.dump(config, file)
        got = json.loads(run("frequencies", "--config", "config.json", *options, "--json")[0])
        assert {key: value for key, value in got.items() if key in told} == wanted, config
        lines = run("frequencies", "--config", "config.json", *options)[0].splitlines()
        assert lines[2].split() == "pair radians per position axis positions per turn".split(), lines[2]
        names = [line.split()[2] for line in lines[3:]]
        assert names == [wanted["axis_names"][axis] for axis in wanted["axes"]], config
        for key, words in (("chunk_dim", "in chunks of 4"), ("skip_first", "first 5"), ("skip_last", "the last token")):
            assert (words in lines[0]) == (key in wanted), lines[0]


@test
def frequencies_tell_the_length():
    longrope = dict(model_type="phi3", hidden_size=8, num_attention_heads=1, max_position_embeddings=64,
                    original_max_position_embeddings=16,
                    rope_scaling=dict(type="longrope", short_factor=[1.0] * 4, long_factor=[2.0] * 4))
    dynamic = dict(model_type="llama", head_dim=8, max_position_embeddings=16,
                   rope_scaling=dict(type="dynamic", factor=2))
    for config, options, words in [(longrope, [], "rule longrope, short factors up to a length of 16, "),
                                   (longrope, ["--length", "17"], "rule longrope, long factors, of a length of 17, "),
                                   (dynamic, ["--length", "16"], "rule dynamic, up to a length of 16, "),
                                   (dynamic, ["--length", "17"], "rule dynamic, of a length of 17, ")]:
        with open("config.json", "w") as file:
            json.dump(config, file)
        text = run("frequencies", "--config", "config.json", *options)[0]
        assert text.startswith(words), text


@test
def one_row_of_positions_serves_the_axes_of_a_text_alone():
    config = dict(model_type="qwen2_vl", head_dim=128, rope_scaling=dict(mrope_section=[16, 24, 24]),
                  vision_config=dict(model_type="qwen2_vl", embed_dim=64, num_heads=2))
    with open("config.json", "w") as file:
        json.dump(config, file)
    for options, words in [([], ""), (["--layer-type", "vision"], "the same position on all 2 axes")]:
        said = run("table", "--config", "config.json", *options, "--positions", "0:4", "--cos", "c.npy", "--sin", "s.npy",
                   "--device", "reference")[1]
        assert words in said and (said == "") == (words == ""), said


@test
def tables_of_configs_are_those_of_transformers():
    worst = 0.0
    for case, arrays, options in frequency_cases():
        np.save("p.npy", np.array(case["positions"], np.int64))
        frequency, scale = arrays["inv_freq"].astype(np.float64), case["attention_scaling"]
        allowed = np.multiply.outer(np.array(case["positions"], np.float64), frequency) * 5e-7 + 2e-7 * scale
        for device in devices():
            run("table", *options, "--positions", "p.npy", "--angle", "compatible", "--cos", "c.npy", "--sin", "s.npy",
                "--device", device)
            for name, path in (("cos", "c.npy"), ("sin", "s.npy")):
                share = (np.abs(np.load(path).astype(np.float64) - arrays[name]) / allowed).max()
                assert share <= 1, f"{case['name']} on {device}: {name} off by {share} of what is allowed"
                worst = max(worst, share)
    print(f"worst share of the allowed error: {worst:.3g}")


@test
def frequencies_are_written_as_they_are_printed():
    for case, _, options in frequency_cases():
        got = json.loads(run("frequencies", *options, "--json", "--npy", "f.npy")[0])
        assert np.load("f.npy").dtype == np.float64 and np.load("f.npy").tolist() == got["frequencies"], case["name"]
