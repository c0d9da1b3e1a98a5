import json

import numpy as np

from model import angles, axis_angles, expect_close, frequencies, positions_of_axes, random, rotate, rotate_both, widen
from program import devices, run, test
from vectors import cases_of


def positions_of_several_axes(case, arrays):
    """[axes, batch, tokens]; None for the other cases."""
    if case["name"] == "pixtral_2d_d64":
        side = case["params"]["max_side"]
        return np.stack([arrays["position_ids"] // side, arrays["position_ids"] % side])[:, None]
    if case["name"] == "wan_3d_d48":
        return arrays["position_thw"].T[:, None]
    return arrays["position_ids"] if "mrope_section" in case["params"] or case["name"] == "ernie4_5_vl_d128" else None


@test
def models_of_several_axes_rotate_as_their_own_code():
    types = {"qwen2_vl_d128": "qwen2_vl", "qwen3_vl_d128": "qwen3_vl_text", "pixtral_2d_d64": "pixtral",
             "glm4v_d128_partial_interleaved": "glm4v_text", "ernie4_5_vl_d128": "ernie4_5_vl_moe_text"}
    wan = {"_class_name": "WanTransformer3DModel", "attention_head_dim": 48, "patch_size": [1, 2, 2], "rope_max_seq_len": 64}
    count = 0
    for case, arrays in cases_of("rotations"):
        positions, name = positions_of_several_axes(case, arrays), case["name"]
        if positions is None:
            continue
        with open("config.json", "w") as file:
            json.dump(wan if name.startswith("wan") else {**case["params"]["config"], "model_type": types[name]}, file)
        np.save("p.npy", positions)
        worst = 0.0
        for source, result in [("q", "q_out"), ("k", "k_out"), ("x", "out")]:
            if source not in arrays:
                continue
            np.save("q.npy", arrays[source])
            for device in devices():
                _, errors = run("rotate", "--config", "config.json", "--positions", "p.npy", "--angle", "compatible", "--order",
                                "bhsd", "--q", "q.npy", "--q-out", "o.npy", "--device", device)
                error = np.abs(np.load("o.npy").astype(np.float64) - arrays[result]).max()
                worst = max(worst, error / max(1.0, np.abs(arrays[result]).max()))
                assert errors == "" and worst <= 2e-6, f"{name}, {source} on {device}: off by {worst}, {errors}"
        print(f"{name}: off by {worst:.3g} at most")
        count += 1
    assert count == 6


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
        cos, sin = (np.pad(a, [(first, last), (0, 0)], constant_values=still)[None]
                    for a, still in zip(angles(np.arange(3, 9), np.array(told["frequencies"])), (1, 0)))
        rotate_both(f"{config['model_type']}, a range", ["--config", "config.json", "--positions", "3:9"], q, k,
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
