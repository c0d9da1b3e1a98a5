"""A small model in numpy, and the program's rotations held against it."""
import json

import numpy as np

from program import devices, run

LLAMA = {"model_type": "llama", "head_dim": 64, "rope_theta": 500000.0}


def write_config(path="config.json", **changes):
    config = {k: v for k, v in {**LLAMA, **changes}.items() if v is not None}
    with open(path, "w") as file:
        json.dump(config, file)


def write_axes(order, sections):
    """A model whose pairs turn by t, h and w."""
    write_config(model_type={"contiguous": "qwen2_vl", "interleaved": "qwen3_vl_text"}[order], head_dim=2 * sum(sections),
                 rope_theta=10000.0, rope_scaling=dict(rope_type="default", mrope_section=sections))


def write_scaled(scale, head_dim, **changes):
    """A model whose cos and sin have a factor, and whose frequencies are plain."""
    write_config(head_dim=head_dim, rope_theta=10000.0, rope_scaling=dict(
        rope_type="yarn", factor=1.0, attention_factor=scale, original_max_position_embeddings=4096), **changes)


def frequencies(base=500000.0, rotary=64):
    return np.float64(base) ** (-np.arange(0, rotary, 2, dtype=np.float64) / rotary)


def to_bf16(values):
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def widen(array):
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def narrow(values, element):
    if element == "bf16":
        return to_bf16(values)
    return values.astype({"f32": np.float32, "f16": np.float16}[element])


def indices(pairing, rotary, begin, chunk=None):
    half = (chunk or rotary) // 2
    pair = np.arange(rotary // 2)
    if pairing == "half":
        first = begin + pair // half * 2 * half + pair % half
        return first, first + half
    return begin + 2 * pair, begin + 2 * pair + 1


def rotate(x, cos, sin, pairing="half", pairing_out=None, begin=0, order="bshd", chunk=None):
    """x: [b, s, h, d] or in the order bhsd, float64; cos and sin: [b or 1, s, pairs]."""
    axis = 2 if order == "bshd" else 1
    c, s = np.expand_dims(cos, axis), np.expand_dims(sin, axis)
    rotary = 2 * cos.shape[-1]
    first, second = indices(pairing, rotary, begin, chunk)
    first_out, second_out = indices(pairing_out or pairing, rotary, begin, chunk)
    result = x.copy()
    a, b = x[..., first], x[..., second]
    result[..., first_out], result[..., second_out] = a * c - b * s, a * s + b * c
    return result


def angles(positions, values, scale=1.0):
    turned = np.multiply.outer(np.asarray(positions, np.float64), values)
    return np.cos(turned) * scale, np.sin(turned) * scale


def axis_angles(positions, axes, values, scale=1.0):
    """positions: [axes, b, s]; axes: that of each pair."""
    turned = np.moveaxis(np.asarray(positions, np.float64)[axes], 0, -1) * values
    return np.cos(turned) * scale, np.sin(turned) * scale


def axes_of(order, sections):
    """The axis of each pair, as Qwen2-VL's and Qwen3-VL's own code say it."""
    if order == "contiguous":
        return np.repeat(np.arange(len(sections)), sections)
    axes = np.zeros(sum(sections), int)
    for axis in range(1, len(sections)):
        axes[axis:axis + len(sections) * sections[axis]:len(sections)] = axis
    return axes


def sinusoids(positions, dim, base=10000.0, order="interleaved", flip=False):
    """Vaswani et al.'s table, in float64."""
    turned = np.multiply.outer(np.asarray(positions, np.float64), base ** (-np.arange(0, dim, 2) / dim))
    parts = (np.cos(turned), np.sin(turned)) if flip else (np.sin(turned), np.cos(turned))
    if order == "halves":
        return np.concatenate(parts, axis=-1)
    return np.stack(parts, axis=-1).reshape(*turned.shape[:-1], dim)


TOLERANCE = {"f32": 2e-6, "f16": 2e-3, "bf16": 1.6e-2}


def expect_close(got, wanted, element, what):
    assert got.shape == wanted.shape, f"{what}: shape {got.shape}, not {wanted.shape}"
    assert got.dtype == {"f32": np.float32, "f16": np.float16, "bf16": np.uint16}[element], f"{what}: {got.dtype}"
    error = np.abs(widen(got) - wanted).max()
    assert error <= TOLERANCE[element] * max(1.0, np.abs(wanted).max()), f"{what}: off by {error}"


def random(shape, element="f32", seed=1):
    return narrow(np.random.default_rng(seed).uniform(-1, 1, shape), element)


def positions_of_axes(axes, batch, tokens, seed=7):
    return np.random.default_rng(seed).integers(-9, 400, (axes, batch, tokens))


def rotate_both(name, arguments, q, k, wanted, element, *warnings):
    """Each of the warnings is a line that holds these words."""
    warnings = [words for words in warnings if words]
    np.save("q.npy", q)
    np.save("k.npy", k)
    outputs = {}
    for device in devices():
        _, errors = run("rotate", *arguments, "--q", "q.npy", "--k", "k.npy", "--q-out", "qo.npy", "--k-out", "ko.npy",
                        "--device", device)
        assert errors.count("\n") == len(warnings) and all(words in errors for words in warnings), errors
        for path, x in (("qo.npy", q), ("ko.npy", k)):
            expect_close(np.load(path), wanted(widen(x)), element, f"{name} on {device}, {path}")
        outputs[device] = np.load("qo.npy").tobytes() + np.load("ko.npy").tobytes()
    bits = [outputs[device] for device in outputs if device != "reference"]
    assert all(b == bits[0] for b in bits), f"{name}: the devices' bits differ"
