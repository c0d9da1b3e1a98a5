import json
import os

import numpy as np

from model import angles, axis_angles, expect_close, frequencies, positions_of_axes, random, rotate, rotate_both, widen
from program import devices, run, test
from vectors import ONNX, cases_of


@test
def mrotary_of_onnx_runtime():
    with open(os.path.join(ONNX, "manifest_ort.json")) as file:
        cases = [case for case in json.load(file)["cases"] if "mrope_section" in case]
    assert len(cases) == 3
    for case in cases:
        arrays = {name: np.load(os.path.join(ONNX, path)) for name, path in case["files"].items()}
        x, order = arrays["input"], "bhsd"
        if x.ndim == 3:
            x, order = x.reshape(*x.shape[:2], case["num_heads"], case["head_size"]), "bshd"
        np.save("q.npy", x)
        np.save("p.npy", arrays["position_ids"])
        np.save("c.npy", arrays["cos_cache"] * np.float32(case["scale"]))
        np.save("s.npy", arrays["sin_cache"] * np.float32(case["scale"]))
        for device in devices():
            run("rotate", "--cos", "c.npy", "--sin", "s.npy", "--sections", ",".join(map(str, case["mrope_section"])),
                "--axes", ["contiguous", "interleaved"][case["mrope_layout"]], "--pairing",
                ["half", "interleaved"][case["interleaved"]], "--order", order, "--positions", "p.npy", "--q", "q.npy",
                "--q-out", "o.npy", "--device", device)
            error = np.abs(np.load("o.npy").reshape(arrays["output"].shape) - arrays["output"]).max()
            assert error <= 2e-3, f"{case['name']} on {device}: off by {error}"


def several_axes_of(case, arrays):
    """Positions [axes, batch, tokens], frequencies, and the options that tell the rest; None for the other cases."""
    name, position_ids = case["name"], arrays.get("position_ids")
    if name == "pixtral_2d_d64":
        side, values = case["params"]["max_side"], 10000.0 ** (-np.arange(0, 64, 2) / 64)
        return (np.stack([position_ids // side, position_ids % side])[:, None],
                np.concatenate([values[::2], values[1::2]]), ["--sections", "16,16"])
    if name == "wan_3d_d48":
        return (arrays["position_thw"].T[:, None], np.tile(10000.0 ** (-np.arange(8) / 8), 3),
                ["--sections", "8,8,8", "--pairing", "interleaved"])
    if name == "ernie4_5_vl_d128":
        held = arrays["inv_freq_prerotated"].astype(np.float64)
        held[0:44:2], held[1:44:2] = held[:22].copy(), held[22:44].copy()
        return position_ids, held, ["--axes", "1,2," * 22 + ",".join("0" * 20), "--pairing", "interleaved"]
    if "mrope_section" not in case["params"]:
        return None
    options = ["--sections", ",".join(map(str, case["params"]["mrope_section"]))]
    options += ["--axes", "interleaved"] if name.startswith("qwen3") else []
    options += ["--pairing", "interleaved"] if name.startswith("glm4v") else []
    return position_ids, arrays["inv_freq"].astype(np.float64), options


@test
def models_of_several_axes_rotate_as_their_own_code():
    count = 0
    for case, arrays in cases_of("rotations"):
        told = several_axes_of(case, arrays)
        if told is None:
            continue
        positions, values, options = told
        np.save("p.npy", positions)
        np.save("f.npy", values)
        worst = 0.0
        for name, result in [("q", "q_out"), ("k", "k_out"), ("x", "out")]:
            if name not in arrays:
                continue
            np.save("q.npy", arrays[name])
            for device in devices():
                for source in ["inline", "table", "rows"]:
                    _, errors = run("rotate", "--frequencies", "f.npy", *options, "--positions", "p.npy", "--angle",
                                    "compatible", "--order", "bhsd", "--source", source, "--q", "q.npy", "--q-out",
                                    "o.npy", "--device", device)
                    worst = max(worst, np.abs(np.load("o.npy").astype(np.float64) - arrays[result]).max())
                    assert errors == "" and worst <= 2e-6, f"{case['name']}, {name} on {device}: off by {worst}"
        print(f"{case['name']}: off by {worst:.3g} at most")
        count += 1
    assert count == 6


@test
def configs_of_several_axes_need_no_option():
    types = {"qwen2_vl_d128": "qwen2_vl", "qwen3_vl_d128": "qwen3_vl_text", "pixtral_2d_d64": "pixtral",
             "glm4v_d128_partial_interleaved": "glm4v_text", "ernie4_5_vl_d128": "ernie4_5_vl_moe_text"}
    wan = {"_class_name": "WanTransformer3DModel", "attention_head_dim": 48, "patch_size": [1, 2, 2], "rope_max_seq_len": 64}
    for case, arrays in cases_of("rotations"):
        told, name = several_axes_of(case, arrays), case["name"]
        if told is None:
            continue
        with open("config.json", "w") as file:
            json.dump(wan if name.startswith("wan") else {**case["params"]["config"], "model_type": types[name]}, file)
        np.save("p.npy", told[0])
        q, wanted = (arrays["x"], arrays["out"]) if "x" in arrays else (arrays["q"], arrays["q_out"])
        np.save("q.npy", q)
        for device in devices():
            _, errors = run("rotate", "--config", "config.json", "--positions", "p.npy", "--angle", "compatible", "--order",
                            "bhsd", "--q", "q.npy", "--q-out", "o.npy", "--device", device)
            error = np.abs(np.load("o.npy").astype(np.float64) - wanted).max()
            assert errors == "" and error <= 2e-6, f"{name} on {device}: off by {error}, {errors}"
        print(f"{name}: off by {error:.3g}")


@test
def towers_of_vision_skip_and_chunk_by_their_configs():
    """Against numpy by what `vkrope frequencies` says of them."""
    size = dict(hidden_size=128, num_attention_heads=2)
    configs = [(dict(size, model_type="dinov3_vit", num_register_tokens=4), "centres of patches"),
               (dict(size, model_type="llama4_vision_model"), "start at 1"),
               (dict(size, model_type="gemma4_vision", head_dim=64), "")]
    skipped = chunked = 0
    for config, warning in configs:
        with open("config.json", "w") as file:
            json.dump(config, file)
        told = json.loads(run("frequencies", "--config", "config.json", "--json")[0])
        first, last, chunk = (told.get(key, 0) for key in ("skip_first", "skip_last", "chunk_dim"))
        skipped, chunked = skipped + first + last, chunked + chunk
        tokens = 6 + first + last
        q, k = random((2, tokens, 2, 64)), random((2, tokens, 1, 64), seed=2)
        for positions in [positions_of_axes(2, 2, 6) / 7, positions_of_axes(2, 2, tokens)]:
            np.save("p.npy", positions)
            cos, sin = axis_angles(positions, told["axes"], np.array(told["frequencies"]))
            if positions.shape[-1] != tokens:
                around = [(0, 0), (first, last), (0, 0)]
                cos, sin = np.pad(cos, around, constant_values=1), np.pad(sin, around)
            rotate_both(f"{config['model_type']}, {positions.shape}", ["--config", "config.json", "--positions", "p.npy"], q, k,
                        lambda x: rotate(x, cos, sin, told["pairing"], chunk=chunk), "f32", warning)
        cos, sin = (a[None] for a in angles(np.arange(tokens), np.array(told["frequencies"])))
        cos, sin = cos.copy(), sin.copy()
        cos[:, :2], sin[:, :2] = 1, 0
        rotate_both(f"{config['model_type']}, --skip-first in place of its own",
                    ["--config", "config.json", "--positions", f"2:{tokens}", "--skip-first", "2"], q, k,
                    lambda x: rotate(x, cos, sin, told["pairing"], chunk=chunk), "f32", warning, "on all 2 axes")
    assert skipped > 0 and chunked > 0


@test
def models_rotate_as_their_configs_say():
    x = random((1, 6, 2, 64))
    np.save("q.npy", x)
    cos, sin = (a[None] for a in angles(np.arange(6), frequencies(10000, 64)))
    cases = [
        (dict(model_type="deepseek_v3", qk_rope_head_dim=64), lambda: rotate(widen(x), cos, sin, "interleaved", "half")),
        (dict(model_type="deepseek_v3", qk_rope_head_dim=64, rope_interleave=False), lambda: rotate(widen(x), cos, sin)),
        (dict(model_type="nanochat", head_dim=64), lambda: rotate(widen(x), cos, -sin)),
        (dict(model_type="gptj", n_embd=128, n_head=2, rotary_dim=64), lambda: rotate(widen(x), cos, sin, "interleaved")),
    ]
    for config, wanted in cases:
        with open("config.json", "w") as file:
            json.dump(config, file)
        run("rotate", "--config", "config.json", "--positions", "0:6", "--q", "q.npy", "--q-out", "o.npy", "--device",
            "reference")
        expect_close(np.load("o.npy"), wanted(), "f32", str(config))
