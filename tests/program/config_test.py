import json
import os

import numpy as np

from model import LLAMA, angles, expect_close, frequencies, random, rotate, widen, write_config
from program import expect_refusal, run, test


@test
def config_rules_are_those_of_numpy():
    plain = frequencies(500000, 64)
    cases = [
        (dict(), plain, 64),
        (dict(head_dim=None, hidden_size=1024, num_attention_heads=16), plain, 64),
        (dict(rope_scaling=None), plain, 64),
        (dict(rope_scaling={"type": "linear", "factor": 4.0}), plain / 4, 64),
        (dict(rope_scaling={"rope_type": "linear", "type": "linear", "factor": 2}), plain / 2, 64),
        (dict(rope_theta=None, rope_parameters={"rope_type": "default", "rope_theta": 500000.0}), plain, 64),
        (dict(rope_theta=None), frequencies(10000, 64), 64),
        (dict(model_type="stablelm", partial_rotary_factor=0.5), frequencies(500000, 32), 64),
        (dict(model_type=None, partial_rotary_factor=0.25), frequencies(500000, 16), 64),
        (dict(partial_rotary_factor=0.25), plain, 64),  # as its own code does
        (dict(no_rope_layers=[1, 0]), plain, 64),
        (dict(rope_parameters={"full_attention": {"rope_type": "default"}}), plain, 64),
        (dict(model_type="gemma3", head_dim=None, rope_theta=None, text_config={"head_dim": 64}),
         frequencies(1000000, 64), 64),
        (dict(model_type="stablelm", head_dim=80), frequencies(500000, 20), 80),
        (dict(model_type=None, vocab_size=32000, layer_types=["full_attention"], use_mrope=False,
              properties=[1], position_embedding_type="rope"), plain, 64),
    ]
    for changes, wanted, head in cases:
        write_config(**changes)
        run("table", "--config", "config.json", "--positions", "0:50", "--cos", "c.npy", "--sin", "s.npy", "--device",
            "reference")
        cos = np.load("c.npy")
        assert cos.shape == (50, len(wanted)), f"{changes}: {cos.shape}"
        assert np.abs(cos - angles(np.arange(50), wanted)[0]).max() < 2**-24.8, changes
    write_config(model_type="cohere")  # reads adjacent pairs
    x = random((1, 5, 2, 64))
    np.save("q.npy", x)
    run("rotate", "--config", "config.json", "--positions", "0:5", "--q", "q.npy", "--q-out", "o.npy", "--device",
        "reference")
    cos, sin = angles(np.arange(5), plain)
    expect_close(np.load("o.npy"), rotate(widen(x), cos[None], sin[None], "interleaved"), "f32", "cohere")


@test
def configs_that_cannot_be_honoured_are_refused_by_name():
    np.save("q.npy", random((1, 4, 2, 64)))
    deep = "[" * 100000 + "]" * 100000
    cases = [
        ("", "JSON"), ("[]", "object"), ("{", "JSON"), ('{"head_dim": 64}', "rope_theta"), (deep, "nested"),
        ('{"head_dim": 64, "rope_theta": 1e400}', "JSON"),
        ('{"rope_scaling": ' + deep + ', "rope_parameters": ' + deep + "}", "nested"),
    ]
    changes = [
        (dict(model_type=None, head_dim=None), "head_dim"), (dict(head_dim=64.5), "head_dim"), (dict(head_dim="64"), "head_dim"),
        (dict(head_dim=0), "head_dim"), (dict(head_dim=-64), "head_dim"), (dict(head_dim=1e9), "head_dim"),
        (dict(head_dim=None, hidden_size=100, num_attention_heads=7), "hidden_size"),
        (dict(rope_theta="big"), "rope_theta"), (dict(rope_theta=0.5), "rope_theta"), (dict(rope_theta=True), "rope_theta"),
        (dict(rope_theta=[1e4, 1e4]), "a number"), (dict(model_type="step3p5", rope_theta=[1e4, 1e5]), "agree"),
        (dict(model_type="step3p5", rope_theta=[0]), "no layer"),
        (dict(partial_rotary_factor=1.5), "partial_rotary_factor"),
        (dict(model_type="phi", partial_rotary_factor=0.33), "even"),
        (dict(model_type="phi", partial_rotary_factor=0.5, rotary_dim=16), "agree"),
        (dict(rope_scaling={"type": "yarn", "factor": 4.0}), "original_max_position_embeddings"),
        (dict(rope_scaling={"type": "yarn", "original_max_position_embeddings": 4096}), "factor"),
        (dict(rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
              original_max_position_embeddings=8192), "two values"),
        (dict(rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096,
                            "attention_factor": 0}), "attention_factor"),
        (dict(rope_scaling={"rope_type": "frobnicate"}), "frobnicate"),
        (dict(rope_scaling={"type": "linear", "rope_type": "yarn", "factor": 4.0}), "yarn"),
        (dict(rope_scaling={"type": "linear"}), "factor"), (dict(rope_scaling={"factor": 4.0}), "factor"),
        (dict(rope_scaling={"type": "linear", "factor": 0}), "factor"),
        (dict(rope_scaling={"type": "linear", "factor": 2, "beta_fast": 32}), "beta_fast"),
        (dict(rope_scaling={"type": "dynamic", "factor": 2}), "max_position_embeddings"),
        (dict(rope_scaling={"type": "dynamic", "alpha": 1000}, max_position_embeddings=64), "alpha"),
        (dict(rope_scaling={"type": "llama3", "factor": 2}, max_position_embeddings=64), "low_freq_factor"),
        (dict(rope_scaling={"type": "longrope"}, max_position_embeddings=64), "short_factor"),
        (dict(rope_scaling={"type": "longrope", "short_factor": [1], "long_factor": ["1"]}, max_position_embeddings=64),
         "long_factor"),
        (dict(rope_scaling={"type": "longrope", "short_factor": [1], "long_factor": [1]}, max_position_embeddings=64),
         "one per pair"),
        (dict(rope_scaling={"type": "default", "mrope_section": [16, 24, 24]}), "mrope_section"),
        (dict(rope_scaling=4), "rope_scaling"),
        (dict(rope_scaling={"type": "linear", "factor": 2}, rope_parameters={"rope_type": "default"}), "differ"),
        (dict(rope_parameters={"rope_type": "default", "rope_theta": 10000}), "two values of rope_theta"),
        (dict(model_type="unheard-of", rope_parameters={"a_attention": {}, "b_attention": {"rope_theta": 1}}),
         "b_attention"),
        (dict(rope_parameters={"full_attention": {}, "factor": 4}), "nested"),
        (dict(model_type="gemma3_text", rope_parameters={"rope_type": "linear", "factor": 8}), "sliding_attention"),
        (dict(rope_local_base_freq=10000), "rope_local_base_freq"), (dict(qk_rope_head_dim=64), "qk_rope_head_dim"),
        (dict(rope_ratio=2), "rope_ratio"), (dict(position_embedding_type="alibi"), "alibi"), (dict(alibi=True), "alibi"),
        (dict(use_rope=False), "use_rope"), (dict(use_rope=1), "use_rope"),
        (dict(text_config={"head_dim": 64, "rope_theta": 7}), "text_config"),
        (dict(rope_scaling={"type": "linear", "factor": 2}, text_config={"head_dim": 64}), "text_config"),
        (dict(model_type="vjepa2"), "vjepa2"), (dict(model_type="hunyuan_vl\n"), "hunyuan_vl"),
        (dict(model_type="qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": [9, 9, 9]}), "mrope_section"),
        (dict(model_type=7), "model_type"),
        (dict(model_type="unheard-of", rope_theta=None), "rope_theta"), (dict(head_dim=32), "32"),
    ]
    for change, sentence in changes:
        cases.append((json.dumps({k: v for k, v in {**LLAMA, **change}.items() if v is not None}), sentence))
    write_config()
    before = sorted(os.listdir("."))
    for text, sentence in cases:
        with open("config.json", "w") as file:
            file.write(text)
        arguments = ["rotate", "--config", "config.json", "--positions", "0:4", "--q", "q.npy", "--q-out", "o.npy",
                     "--device", "reference"]
        expect_refusal(text[:60], arguments, sentence, before)


@test
def unknown_pairings_are_asked_for():
    np.save("q.npy", random((1, 4, 2, 64)))
    np.save("p.npy", np.arange(4))
    rotation = ["rotate", "--config", "config.json", "--positions", "0:4", "--q", "q.npy", "--q-out", "o.npy", "--device",
                "reference"]
    for model_type in ["unheard-of", None]:
        write_config(model_type=model_type)
        before = sorted(os.listdir("."))
        expect_refusal(f"model type {model_type}", rotation, "--pairing half or --pairing interleaved", before)
        expect_refusal("out alone", rotation + ["--pairing-out", "half"], model_type or "model_type", before)
        for pairing in ["half", "interleaved"]:
            said = run(*rotation, "--pairing", pairing)[1]
            assert said.count("\n") == 1 and ("is not known" if model_type else "no model_type") in said, said
            cos, sin = angles(np.arange(4), frequencies())
            wanted = rotate(widen(np.load("q.npy")), cos[None], sin[None], pairing)
            expect_close(np.load("o.npy"), wanted, "f32", pairing)
        os.remove("o.npy")
        assert '"pairing": "unknown"' in run("frequencies", "--config", "config.json", "--json")[0]
        assert "pairing unknown" in run("frequencies", "--config", "config.json")[0]
        run("table", "--config", "config.json", "--positions", "0:4", "--cos", "c.npy", "--sin", "s.npy", "--device",
            "reference")
        os.remove("c.npy")
        os.remove("s.npy")


@test
def configs_are_told_what_was_not_read():
    for changes, words in [(dict(), ""), (dict(partial_rotary_factor=0.5), "partial_rotary_factor of 0.5 is ignored"),
                           (dict(model_type="apertus"), "rope_theta of 500000.0 is ignored"),
                           (dict(model_type="unheard-of"), "the model type \"unheard-of\" is not known")]:
        write_config(**changes)
        said = run("frequencies", "--config", "config.json")[1]
        assert words in said and (said == "") == (words == ""), said
    for config, command in [(dict(model_type="t5", d_model=512), "Device.bias('t5'"),
                            (dict(model_type="whisper"), "Device.add(x, positions, table")]:
        with open("config.json", "w") as file:
            json.dump(config, file)
        expect_refusal(config["model_type"], ["frequencies", "--config", "config.json"], command, ["config.json"])
    with open("config.json", "w") as file:
        json.dump(dict(model_type="glmasr", audio_config=dict(model_type="glmasr_encoder"), text_config=dict()), file)
    got = json.loads(run("frequencies", "--config", "config.json", "--layer-type", "audio", "--json")[0])
    assert got["rotary_dim"] == 32, got
