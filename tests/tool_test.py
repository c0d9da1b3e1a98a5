#!/usr/bin/env python3
"""The program vkrope as a stranger uses it: tool_test.py PROGRAM [TEST...]. Exit status 77: skipped."""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no numpy")
    sys.exit(77)

PROGRAM = os.path.abspath(sys.argv[1])
TESTS = {}
LLAMA = {"model_type": "llama", "head_dim": 64, "rope_theta": 500000.0}


def test(function):
    """positions_outside is run as PositionsOutside."""
    TESTS["".join(word.capitalize() for word in function.__name__.split("_"))] = function
    return function


def run(*arguments, status=0, shell=None):
    """Runs a command in the current folder; returns what it printed, and on stderr."""
    command = shell if shell is not None else [PROGRAM, *[str(a) for a in arguments]]
    done = subprocess.run(command, shell=shell is not None, capture_output=True, text=True, timeout=600)
    assert done.returncode == status, f"{command}: exit status {done.returncode}, not {status}: {done.stderr}"
    return done.stdout, done.stderr


def devices():
    """What --device is tried with: every device that can be used, then the reference."""
    done = subprocess.run([PROGRAM, "devices", "--json"], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        return ["reference"]
    return [str(d["index"]) for d in json.loads(done.stdout) if d["usable"]] + ["reference"]


def write_config(path="config.json", **changes):
    config = {k: v for k, v in {**LLAMA, **changes}.items() if v is not None}
    with open(path, "w") as file:
        json.dump(config, file)


def frequencies(base=500000.0, rotary=64):
    return np.float64(base) ** (-np.arange(0, rotary, 2, dtype=np.float64) / rotary)


# ---- A small model -----------------------------------------------------------------------------------------------


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


TOLERANCE = {"f32": 2e-6, "f16": 2e-3, "bf16": 1.6e-2}


def expect_close(got, wanted, element, what):
    assert got.shape == wanted.shape, f"{what}: shape {got.shape}, not {wanted.shape}"
    assert got.dtype == {"f32": np.float32, "f16": np.float16, "bf16": np.uint16}[element], f"{what}: {got.dtype}"
    error = np.abs(widen(got) - wanted).max()
    assert error <= TOLERANCE[element] * max(1.0, np.abs(wanted).max()), f"{what}: off by {error}"


def random(shape, element="f32", seed=1):
    return narrow(np.random.default_rng(seed).uniform(-1, 1, shape), element)


# ---- Tests ---------------------------------------------------------------------------------------------------------


@test
def examples_in_help_run():
    folder = os.path.dirname(PROGRAM)
    has_device = devices() != ["reference"]
    assert re.fullmatch(r"vkrope \d+\.\d+\.\d+\n", run("--version")[0])
    assert "devices" in run("--help")[0]
    for command in ["devices", "frequencies", "plot", "table", "rotate", "add-positions", "bias", "permute", "check", "bench", "tune"]:
        text = run(command, "--help")[0]
        lines = re.search(r"example.*:\n((?:  .*\n?)+)", text).group(1)
        assert "vkrope " + command in lines, lines
        if command == "check" or (not has_device and command in ("table", "rotate", "add-positions", "bias", "bench", "tune")):
            continue  # the one has a test of its own, the others need a device
        # One of the name must be the program, whatever it is called here.
        os.environ["PATH"] = folder + os.pathsep + os.environ["PATH"]
        output, errors = run(shell="set -e\n" + lines)
        assert errors == "", errors
    if has_device:
        assert np.load("cos.npy").shape == (4096, 64)
        assert np.load("q_rotated.npy").shape == (1, 16, 32, 128)
        assert np.load("thw.npy")[:, 0].tolist() == [[0] * 16, sorted([0, 1, 2, 3] * 4), [0, 1, 2, 3] * 4]
        cos, sin = axis_angles(np.load("thw.npy"), axes_of("contiguous", [16, 24, 24]), frequencies(rotary=128))
        expect_close(np.load("q_image.npy"), rotate(widen(np.load("q.npy")), cos, sin), "f32", "the image in the help")
        assert np.allclose(np.load("q.npy"), 0x3F / 128 + 0x3F / 2**15 + 0.25, atol=0.01)
        wanted = np.load("x.npy").astype(np.float64) + sinusoids(np.arange(16), 128)
        expect_close(np.load("x_placed.npy"), wanted, "f32", "embeddings in the help")
        assert np.load("alibi.npy").shape == (8, 100, 100) and np.load("step.npy").shape == (8, 1, 100)
        assert np.array_equal(np.load("step.npy")[:, 0], np.load("alibi.npy")[:, 99])
    assert np.load("w_half.npy").shape == (128, 32)


@test
def devices_are_named():
    found = devices()
    if found == ["reference"]:
        sys.exit(77)
    text = run("devices")[0]
    for device in json.loads(run("devices", "--json")[0]):
        assert device["name"] in text
        if device["usable"]:
            assert device["rounding"] in ("nearest", "other")
            assert isinstance(device["offers"]["push_descriptors"], bool)
            assert device["limits"]["storage_range"] >= 2**27
            assert device["driver"] is not None


@test
def table_is_numpys_cos_and_sin():
    write_config()
    np.save("f.npy", frequencies(10000, 10))
    np.save("positions.npy", np.array([[0, -7, 4], [100000, 65535, -2]], np.int64))
    tables = {}
    for device in devices():
        text, _ = run("table", "--config", "config.json", "--positions", "-8:4096", "--cos", "c.npy", "--sin", "s.npy",
                      "--device", device)
        assert text.startswith(str(4104 * 32 * 8)), text
        cos, sin = np.load("c.npy"), np.load("s.npy")
        assert cos.dtype == sin.dtype == np.float32 and cos.shape == sin.shape == (4104, 32)
        wanted = angles(np.arange(-8, 4096), frequencies())
        # numpy rounds its products and powers, 4096 radians by 2^-41 each
        assert max(np.abs(cos - wanted[0]).max(), np.abs(sin - wanted[1]).max()) < 2**-24.8
        tables[device] = (cos.tobytes(), sin.tobytes())
        run("table", "--frequencies", "f.npy", "--scale", "1.25", "--positions", "positions.npy", "--cos", "c.npy",
            "--sin", "s.npy", "--device", device)
        wanted = angles(np.load("positions.npy"), frequencies(10000, 10), 1.25)
        assert np.load("c.npy").shape == (2, 3, 5)
        assert np.abs(np.load("c.npy") - wanted[0]).max() < 1.2e-7
        assert np.abs(np.load("s.npy") - wanted[1]).max() < 1.2e-7
    bits = [tables[device] for device in tables if device != "reference"]
    assert all(b == bits[0] for b in bits), "the devices' tables differ"


@test
def table_of_compatible_angles_is_float32s():
    write_config()
    for device in devices():
        run("table", "--config", "config.json", "--positions", "0:100000", "--angle", "compatible", "--cos", "c.npy",
            "--sin", "s.npy", "--device", device)
        turned = np.multiply.outer(np.arange(100000, dtype=np.float32), frequencies().astype(np.float32))
        assert turned.dtype == np.float32
        assert np.abs(np.load("c.npy") - np.cos(turned.astype(np.float64))).max() < 2**-24.8
        assert np.abs(np.load("s.npy") - np.sin(turned.astype(np.float64))).max() < 2**-24.8


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


def rotate_both(name, arguments, q, k, wanted, element, warning=""):
    np.save("q.npy", q)
    np.save("k.npy", k)
    outputs = {}
    for device in devices():
        _, errors = run("rotate", *arguments, "--q", "q.npy", "--k", "k.npy", "--q-out", "qo.npy", "--k-out", "ko.npy",
                        "--device", device)
        assert errors == "" if warning == "" else errors.count("\n") == 1 and warning in errors, errors
        for path, x in (("qo.npy", q), ("ko.npy", k)):
            expect_close(np.load(path), wanted(widen(x)), element, f"{name} on {device}, {path}")
        outputs[device] = np.load("qo.npy").tobytes() + np.load("ko.npy").tobytes()
    bits = [outputs[device] for device in outputs if device != "reference"]
    assert all(b == bits[0] for b in bits), f"{name}: the devices' bits differ"


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
def positions_outside_a_table_pass_through_with_a_warning():
    np.save("c.npy", np.zeros((4, 16), np.float32))
    np.save("s.npy", np.ones((4, 16), np.float32))
    q = random((1, 6, 2, 32))
    np.save("q.npy", q)
    np.save("p.npy", np.array([-1, 0, 3, 4, 2000000000, 1], np.int32))
    for device in devices():
        _, errors = run("rotate", "--cos", "c.npy", "--sin", "s.npy", "--positions", "p.npy", "--q", "q.npy", "--q-out",
                        "o.npy", "--device", device)
        assert errors.count("\n") == 1 and "3 of 6 tokens" in errors and errors.startswith("vkrope rotate: "), errors
        got = np.load("o.npy")
        assert np.array_equal(got[:, [0, 3, 4]], q[:, [0, 3, 4]])
        assert np.array_equal(got[:, [1, 2, 5], :, :16], -q[:, [1, 2, 5], :, 16:])


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
def permuted_weights_rotate_as_the_other_pairing():
    values = frequencies(10000, 16)
    np.save("f.npy", values)
    weights, hidden = random((3 * 24, 40), seed=3).astype(np.float64), random((1, 6, 40), seed=4).astype(np.float64)
    for to, old in [("half", "interleaved"), ("interleaved", "half")]:
        np.save("w.npy", weights)
        run("permute", "--to", to, "--heads", "3", "--rotary-dim", "16", "w.npy", "-o", "new.npy")
        new = np.load("new.npy")
        assert new.dtype == np.float64 and new.shape == weights.shape
        results = []
        for matrix, pairing in [(weights, old), (new, to)]:
            np.save("q.npy", (hidden @ matrix.T).reshape(1, 6, 3, 24).astype(np.float32))
            run("rotate", "--frequencies", "f.npy", "--positions", "0:6", "--q", "q.npy", "--q-out", "o.npy", "--pairing",
                pairing, "--device", devices()[0])
            results.append(np.load("o.npy"))
        first, second = indices(old, 16, 0)
        first_out, second_out = indices(to, 16, 0)
        moved = results[0].copy()
        moved[..., first_out], moved[..., second_out] = results[0][..., first], results[0][..., second]
        assert np.array_equal(moved, results[1]), to
        run("permute", "--to", old, "--heads", "3", "--rotary-dim", "16", "new.npy", "-o", "new.npy")
        assert np.array_equal(np.load("new.npy"), weights)
    np.save("bias.npy", np.arange(8, dtype=np.int32))
    run("permute", "--to", "half", "--heads", "2", "bias.npy", "-o", "bias_half.npy")
    assert np.load("bias_half.npy").tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


@test
def check_passes_on_every_device():
    found = devices()[:-1]
    if not found:
        sys.exit(77)
    for device in found:
        text, errors = run("check", "--quick", "--device", device)
        assert errors == "" and "none missed" in text, text + errors


@test
def check_finds_a_spoiled_plan():
    """Interleaved bfloat16 is turned the wrong way: those rows alone miss."""
    spoiled = os.path.join(os.path.dirname(PROGRAM), "vkrope-spoiled")
    found = devices()[:-1]
    if not found or not os.path.exists(spoiled):
        sys.exit(77)
    text, errors = run(shell=f"'{spoiled}' check --quick --device {found[-1]}", status=1)
    missed = [line for line in text.splitlines() if line.endswith("MISSED")]
    assert missed and all(" to bf16, " in line for line in missed), text
    assert "none missed" not in text
    lines = errors.splitlines()
    assert 2 <= len(lines) <= 6 and all("miss: " in line and "interleaved out" in line for line in lines[:-1]), errors
    assert re.fullmatch(r"vkrope check: \d+ of \d+ cases missed", lines[-1]), errors


SMALL_BENCH = ["bench", "--tokens", "1", "--rounds", "2"]


@test
def bench_stands_beside_kernels_of_the_same_bytes():
    found = devices()[:-1]
    if not found:
        sys.exit(77)
    copies = ["copy_1", "copy_2", "copy_4", "copy_8", "CopyBuffer"]
    for device in found:
        for clock, element in [("device", "bf16,f32"), ("host", "f16")]:
            text, errors = run(*SMALL_BENCH, "--json", "--model", "vision-72,llama3-8b", "--source", "table", "--source",
                               "rows", "--device", device, "--clock", clock, "--element", element)
            assert errors == "", errors
            report = json.loads(text)
            assert report["clock"] == clock and report["device"]["name"] in run("devices")[0]
            assert len(report["rows"]) == 2 * 2 * 2 * len(element.split(","))
            for row in report["rows"]:
                heads = {"llama3-8b": 40 * 128, "vision-72": 32 * 72}[row["model"]]
                assert row["bytes"] == 2 * heads * {"f32": 4, "f16": 2, "bf16": 2}[row["element"]], row
                assert row["verified"] and row["rounds"] == 2 and row["tokens"] == 1, row
                names = [other["name"] for other in row["beside"]]
                wanted = (copies if row["place"] == "elsewhere" else ["negate"]) + ["loads"]
                wanted += ([] if row["element"] == "f32" else ["float32"]) + ["empty"]
                assert names == wanted and ("best_copy" in row) == (row["place"] == "elsewhere"), names
    text = run(*SMALL_BENCH, "--element", "f16", "--place", "elsewhere", "--device", found[0])[0]
    assert re.search(r"\n +1 +f16 +inline +[0-9.]+ ", text) and "best copy" in text and "CopyBuffer" in text, text
    for other, wanted in [("--table", "FillBuffer"), ("--fused", "unfused"), ("--encodings", "sum")]:
        assert wanted in run(*SMALL_BENCH, other, "--device", found[0])[0]
    text = run("bench", "--encodings", "--tokens", "3", "--rounds", "1", "--json", "--device", found[0])[0]
    for row in json.loads(text)["rows"]:
        assert ("unfit" in row) == ("batch_8" in row["encoding"]), row


@test
def bench_times_nothing_that_is_wrong():
    """Interleaved bfloat16 is turned the wrong way."""
    spoiled = os.path.join(os.path.dirname(PROGRAM), "vkrope-spoiled")
    found = devices()[:-1]
    if not found or not os.path.exists(spoiled):
        sys.exit(77)
    command = " ".join(SMALL_BENCH) + f" --element f32,bf16 --pairing interleaved --device {found[-1]}"
    text, errors = run(shell=f"'{spoiled}' {command} --json", status=1)
    for row in json.loads(text)["rows"]:
        assert ("wrong" in row) == (row["element"] == "bf16") == ("us" not in row), row
    assert errors.count("\n") == 1 and "2 of 4 cases have wrong results" in errors, errors
    text, _ = run(shell=f"'{spoiled}' {command} --plot out.svg", status=1)
    assert text.count("WRONG") == 1 and not os.path.exists("out.svg"), text


@test
def bench_says_what_does_not_fit_and_goes_on():
    if devices() == ["reference"]:
        sys.exit(77)
    arguments = ["bench", "--model", "deepseek-v3", "--tokens", "1048576,1", "--rounds", "1", "--element", "f32", "--place",
                 "elsewhere"]
    rows = json.loads(run(*arguments, "--json")[0])["rows"]
    assert "MiB" in rows[0]["unfit"] and "us" not in rows[0] and "us" in rows[1], rows
    assert "not timed: " in run(*arguments)[0]


@test
def bench_draws_bandwidth():
    if devices() == ["reference"]:
        sys.exit(77)
    run(*SMALL_BENCH, "--tokens", "2,4", "--plot", "out.svg")
    text = open("out.svg").read()
    root = xml.etree.ElementTree.fromstring(text)
    words = "".join(root.itertext())
    assert all(word in words for word in ["f16", "bf16", "the fastest copy kernel", "vkCmdCopyBuffer", "GB/s"]), words
    assert "nan" not in text and "inf" not in text and os.listdir(".") == ["out.svg"]


@test
def bench_counts_costs():
    if devices() == ["reference"]:
        sys.exit(77)
    costs = {cost["name"]: cost for cost in json.loads(run("bench", "--costs", "--json")[0])["costs"]}
    for name in ["plan", "dispatch", "record", "record_driver"]:
        assert costs[name]["us"] > 0 and costs[name].get("allocations", 0) == 0, costs[name]
        assert costs[name]["vulkan_allocations"] == 0
    assert costs["context"]["vulkan_allocations"] > 0 and costs["context"].get("allocations", 1) > 0
    assert costs["pipelines"]["us"] > costs["record"]["us"] and costs["spirv/table"]["bytes"] > 1000
    assert "a plan, frequencies given" in run("bench", "--costs")[0]


@test
def bench_refuses_nonsense_in_one_line():
    before = sorted(os.listdir("."))
    for what, arguments, sentence in [
        ("model", ["--model", "llama3-8b,llama9"], "--model: llama9 not in {llama3-8b,"),
        ("tokens", ["--tokens", "1,0"], "--tokens takes a whole number of tokens from 1 to 1048576, not '0'"),
        ("no tokens", ["--tokens"], "--tokens needs a value"),
        ("element", ["--element", "f64"], "--element: f64 not in {f32,f16,bf16}"),
        ("pairing", ["--pairing", "thirds"], "thirds"),
        ("place", ["--place", "here"], "in-place"),
        ("source", ["--source", "memory"], "memory"),
        ("rounds", ["--rounds", "0"], "--rounds takes a whole number of rounds"),
        ("clock", ["--clock", "sun"], "sun"),
        ("plot in no folder", ["--plot", "none/x.svg"], "no folder none"),
        ("empty plot", ["--plot", ""], "--plot is empty"),
        ("plot of costs", ["--costs", "--plot", "x.svg"], "--plot goes with rotations"),
        ("model of fused passes", ["--fused", "--model", "gemma3"], "--model goes with rotations"),
        ("element of encodings", ["--encodings", "--element", "f16"], "--element goes with rotations"),
        ("the reference", ["--device", "reference"], "the reference is not timed"),
        ("three of a tuning", ["--tuning", "64,8,4"], "--tuning takes group size, heads, pairs and heads in flight"),
        ("tuning of costs", ["--costs", "--tuning", "64,8,4,1"], "--tuning goes with rotations"),
        ("tuning that is none", ["--tuning", "64,8,3,1"], "pairs is 3"),
        ("no such device", ["--device", "Voodoo", "--plot", "x.svg"], "Voodoo"),
    ]:
        if what in ("no such device", "tuning that is none") and devices() == ["reference"]:
            continue
        expect_refusal(what, ["bench", *arguments], sentence, before)
    for arguments, sentence in [(["--tokens", "x"], "--tokens takes"), (["--device", "reference"], "not timed")]:
        expect_refusal("tune", ["tune", *arguments], sentence, before)


@test
def tune_takes_what_is_surely_faster():
    found = devices()[:-1]
    if not found:
        sys.exit(77)
    arguments = ["tune", "--tokens", "2", "--element", "f32", "--model", "qwen3-0.6b", "--rounds", "3", "--device", found[-1]]
    row, = json.loads(run(*arguments, "--json")[0])["rows"]
    assert row["tried"] > 10 and row["own_us"] > 0 and row["best"] != row["own"], row
    sure = row["gain"]["low"] > max(row["noise"]["high"], 1.02)
    assert row["sure"] == sure and row["tuning"] == (row["best"] if sure else "{0, 0, 0, 0}"), row
    tuning = row["best"].strip("{}").replace(" ", "")
    assert re.fullmatch(r"\d+,\d+,\d,\d", tuning), row
    run(*SMALL_BENCH, "--tuning", tuning, "--device", found[-1])
    text = run(*arguments)[0]
    assert "qwen3-0.6b/in-place/f32/half/inline" in text and re.search(r"(keep|\{.*\})\n$", text), text


@test
def tune_finds_a_spoiled_plan():
    spoiled = os.path.join(os.path.dirname(PROGRAM), "vkrope-spoiled")
    found = devices()[:-1]
    if not found or not os.path.exists(spoiled):
        sys.exit(77)
    command = f"'{spoiled}' tune --tokens 1 --rounds 1 --element bf16 --pairing interleaved --device {found[-1]}"
    text, errors = run(shell=command, status=1)
    assert "WRONG, not timed" in text and "1 of 1 cases have wrong results" in errors, text + errors


def write_hostile_files():
    np.save("q.npy", random((1, 4, 2, 64)))
    np.save("rank2.npy", random((4, 64)))
    np.save("f64.npy", np.zeros((1, 4, 2, 64)))
    np.save("u16.npy", np.zeros((1, 4, 2, 64), np.uint16))
    np.save("k3.npy", random((1, 3, 2, 64)))
    np.save("k_f16.npy", random((1, 4, 2, 64), "f16"))
    np.save("empty.npy", np.zeros((1, 0, 2, 64), np.float32))
    np.save("p5.npy", np.arange(5))
    np.save("far.npy", np.array([0, 1, 2, 2**40]))
    np.save("fp.npy", np.arange(4.0))
    np.save("f.npy", frequencies(10000, 64))
    np.save("f32.npy", frequencies(10000, 64).astype(np.float32))
    np.save("f_nan.npy", np.full(32, np.nan))
    np.save("c.npy", np.ones((8, 32), np.float32))
    np.save("c16.npy", np.ones((8, 16), np.float32))
    np.save("wide.npy", np.ones((8, 64), np.float32))
    whole = open("q.npy", "rb").read()
    open("cut.npy", "wb").write(whole[:-9])
    open("header.npy", "wb").write(whole[:40])
    open("text.npy", "w").write("not an array")
    open("huge.npy", "wb").write(whole[:128].replace(b"(1, 4, 2, 64), ", b"(2**9, 9**9,9),"))
    open("big.npy", "wb").write(whole[:128].replace(b"(1, 4, 2, 64), ", b"(1,4,2,64e9,),")[:128])
    os.mkdir("folder")


def nonsense():
    """Name of what is wrong, arguments, and what the sentence must say."""
    rotation = ["rotate", "--config", "config.json", "--positions", "0:4", "--q", "q.npy", "--q-out", "o.npy"]

    def but(**changes):
        result = list(rotation)
        for name, value in changes.items():
            option = "--" + name.replace("_", "-")
            if option in result:
                at = result.index(option)
                result[at:at + 2] = [option, value] if value is not None else []
            else:
                result += [option] + ([value] if value is not None else [])
        return result

    table = ["table", "--config", "config.json", "--positions", "0:4", "--cos", "o.npy", "--sin", "o2.npy"]
    given = but(config=None, cos="c.npy", sin="c.npy")
    yield from [
        ("no command", [], "command"),
        ("unknown command", ["rotat"], "rotat"),
        ("unknown option", rotation + ["--qq", "1"], "--qq"),
        ("missing file", but(q="none.npy"), "none.npy"),
        ("folder", but(q="folder"), "folder"),
        ("cut file", but(q="cut.npy"), "cut.npy"),
        ("cut header", but(q="header.npy"), "header.npy"),
        ("text", but(q="text.npy"), "text.npy"),
        ("hostile shape", but(q="huge.npy"), "huge.npy"),
        ("rank", but(q="rank2.npy"), "[4, 64]"),
        ("type", but(q="f64.npy"), "float64"),
        ("uint16 unsaid", but(q="u16.npy"), "bf16"),
        ("element", but(element="f16"), "float32"),
        ("empty tensor", but(q="empty.npy"), "[1, 0, 2, 64]"),
        ("k without k-out", but(k="q.npy"), "--k-out"),
        ("k-out without k", but(k_out="o2.npy"), "--k"),
        ("k of other length", but(k="k3.npy", k_out="o2.npy"), "[1, 3, 2, 64]"),
        ("k of other type", but(k="k_f16.npy", k_out="o2.npy"), "float16"),
        ("no positions", but(positions=None), "--positions"),
        ("empty range", but(positions="4:4"), "4:4"),
        ("no range", but(positions="1:x"), "1:x"),
        ("range beyond int32", but(positions="2147483646:2147483650"), "int32"),
        ("other count", but(positions="0:5"), "4"),
        ("array of other count", but(positions="p5.npy"), "5"),
        ("positions beyond int32", but(positions="far.npy"), "1099511627776"),
        ("positions of halves", but(positions="k_f16.npy"), "[1, 4, 2, 64]"),
        ("no config", but(config="none.json"), "none.json"),
        ("no angles", but(config=None), "--config"),
        ("config and frequencies", but(frequencies="f.npy"), "--frequencies"),
        ("scale of a config", but(scale="2"), "--scale"),
        ("frequencies of float32", but(config=None, frequencies="f32.npy"), "float32"),
        ("frequencies that are NaN", but(config=None, frequencies="f_nan.npy"), "nan"),
        ("cos without sin", but(config=None, cos="c.npy"), "--sin"),
        ("config and cos", but(cos="c.npy", sin="c.npy"), "--config"),
        ("cos and sin unlike", but(config=None, cos="c.npy", sin="c16.npy"), "[8, 16]"),
        ("values twice", but(config=None, cos="wide.npy", sin="wide.npy"), "first halves"),
        ("inline from a table", given + ["--source", "inline"], "inline"),
        ("angle of a table", given + ["--angle", "exact"], "--angle"),
        ("rows of other count", given + ["--source", "rows"], "8 rows"),
        ("pairing", but(pairing="quarter"), "quarter"),
        ("odd part", but(rotary_dim="33"), "33"),
        ("part beyond the head", but(rotary_dim="66"), "66"),
        ("offset beyond the head", but(rotary_offset="2"), "64"),
        ("two operations", rotation + ["--shift", "--inverse"], "--inverse"),
        ("no such device", but(device="Voodoo"), "Voodoo"),
        ("no such index", but(device="99"), "99"),
        ("output twice", but(k="q.npy", k_out="./o.npy"), "same file"),
        ("output over another input", but(q_out="config.json"), "config.json"),
        ("k-out over q", but(k="k_f16.npy", k_out="q.npy"), "q.npy"),
        ("output in no folder", but(q_out="nowhere/o.npy"), "nowhere"),
        ("output is a folder", but(q_out="folder"), "folder"),
        ("output is a device", but(q_out="/dev/null"), "/dev/null"),
        ("table to one file", table[:-1] + ["o.npy"], "same file"),
        ("table of too much", table[:4] + ["0:1073741824"] + table[5:], "GiB"),
        ("permute heads", ["permute", "--to", "half", "--heads", "3", "rank2.npy", "-o", "o.npy"], "[4, 64]"),
        ("permute part", ["permute", "--to", "half", "--heads", "1", "--rotary-dim", "8", "rank2.npy", "-o", "o.npy"], "8"),
        ("permute to nothing", ["permute", "--to", "full", "--heads", "1", "rank2.npy", "-o", "o.npy"], "full"),
        ("check of the reference", ["check", "--device", "reference"], "reference"),
    ]


def expect_refusal(what, arguments, sentence, before):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2, f"{what}: exit status {done.returncode}: {done.stderr}"
    assert done.stdout == "", f"{what}: {done.stdout}"
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), f"{what}: {done.stderr}"
    command = "vkrope " + arguments[0] if arguments and arguments[0] != "rotat" else "vkrope"
    assert done.stderr.startswith(command + ": "), f"{what}: {done.stderr}"
    assert sentence in done.stderr, f"{what}: '{sentence}' is not in: {done.stderr}"
    assert sorted(os.listdir(".")) == before, f"{what}: left {set(os.listdir('.')) - set(before)}"
    print(f"{what}: {done.stderr}", end="")


@test
def nonsense_is_refused_in_one_line():
    write_config()
    write_hostile_files()
    before = sorted(os.listdir("."))
    q = open("q.npy", "rb").read()
    for what, arguments, sentence in nonsense():
        expect_refusal(what, arguments, sentence, before)
    assert open("q.npy", "rb").read() == q


@test
def a_failed_output_leaves_none_behind():
    write_config()
    np.save("q.npy", random((1, 4, 1, 64)))
    np.save("k.npy", random((1, 4, 64, 64)))
    np.save("o.npy", np.arange(3))
    before = sorted(os.listdir("."))
    command = f"'{PROGRAM}' rotate --config config.json --positions 0:4 --q q.npy --q-out o.npy --k k.npy --k-out o2.npy"
    _, errors = run(shell=f"trap '' XFSZ; ulimit -f 16; {command} --device reference", status=2)
    assert errors.count("\n") == 1 and "--k-out" in errors, errors
    assert sorted(os.listdir(".")) == before
    assert np.load("o.npy").tolist() == [0, 1, 2]


@test
def progress_shows_on_a_terminal_alone():
    write_config()
    arguments = [PROGRAM, "table", "--config", "config.json", "--positions", "0:64", "--cos", "c.npy", "--sin", "s.npy",
                 "--device", "reference"]
    assert run(*arguments[1:])[1] == ""
    try:
        ours, theirs = os.openpty()
    except OSError as error:
        print(f"skipped: no terminal can be opened here: {error}")
        sys.exit(77)
    done = subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=theirs, timeout=600)
    os.close(theirs)
    shown = os.read(ours, 4096)
    assert done.returncode == 0 and b"making 64 rows" in shown and b"\n" not in shown, shown
    assert shown.split(b"\r")[-1] == b"", shown


@test
def what_standard_output_cannot_take_is_a_failure():
    write_config()
    if not os.path.exists("/dev/full"):
        sys.exit(77)
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "frequencies", "--config", "config.json"], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=600)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "standard output" in done.stderr, done


@test
def odd_values_are_refused_and_files_beside_an_output_kept():
    write_config()
    table = ["table", "--config", "config.json", "--positions", "0:4", "--cos", "c.npy", "--sin", "s.npy"]
    before = sorted(os.listdir("."))
    expect_refusal("a length that is none", table + ["--length", "nan"], "--length", before)
    with open("twice.json", "w") as file:
        file.write('{"model_type": "llama", "head_dim": 64, "rope_theta": 10000, "rope_theta": 500000}')
    expect_refusal("a key twice", ["frequencies", "--config", "twice.json"], "twice", sorted(os.listdir(".")))
    with open("bytes.json", "wb") as file:
        file.write(b'{"model_type": "\xff\xfe"}')
    expect_refusal("no UTF-8", ["frequencies", "--config", "bytes.json"], "JSON", sorted(os.listdir(".")))
    with open("c.npy.vkrope-new", "w") as file:
        file.write("keep")
    run(*table)
    assert open("c.npy.vkrope-new").read() == "keep"


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
        (dict(rope_parameters={"a_attention": {}, "b_attention": {"rope_theta": 1}}), "b_attention"),
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


# ---- Several axes --------------------------------------------------------------------------------------------------


def positions_of_axes(axes, batch, tokens, seed=7):
    return np.random.default_rng(seed).integers(-9, 400, (axes, batch, tokens))


@test
def several_axes_turn_as_numpys():
    np.save("f.npy", frequencies(10000, 48))
    given = ["--frequencies", "f.npy", "--scale", "1.25", "--positions", "p.npy"]
    listed = np.random.default_rng(3).integers(0, 4, 24)
    cases = [(axes_of(order, sections), ["--sections", ",".join(map(str, sections)), "--axes", order])
             for order in ["contiguous", "interleaved"] for sections in [[8, 8, 8], [6, 9, 9], [4, 20], [5, 0, 9, 10]]]
    cases += [(axes_of("contiguous", [10, 8, 6]), ["--sections", "10,8,6"]),
              (listed, ["--axes", ",".join(map(str, listed))])]
    q, k = random((2, 6, 3, 64)), random((2, 6, 1, 64), seed=2)
    for number, (axes, options) in enumerate(cases):
        positions = positions_of_axes(max(axes) + 1, 2, 6, number)
        np.save("p.npy", positions.astype([np.int64, np.int32, np.float32, np.float64][number % 4]))
        cos, sin = axis_angles(positions, axes, frequencies(10000, 48), 1.25)
        pairing = ["half", "interleaved"][number // 2 % 2]
        for source in ["inline", "table", "rows"]:
            arguments = given + options + ["--source", source, "--pairing", pairing]
            rotate_both(" ".join(arguments), arguments, q, k, lambda x: rotate(x, cos, sin, pairing), "f32")


@test
def positions_of_every_shape_turn_as_numpys():
    np.save("f.npy", frequencies(10000, 32))
    axes, values = axes_of("contiguous", [4, 6, 6]), frequencies(10000, 32)
    given = ["--frequencies", "f.npy", "--sections", "4,6,6"]
    q, k = random((2, 7, 2, 32)), random((2, 7, 1, 32), seed=2)
    full = positions_of_axes(3, 2, 7)
    cases = [("[axes, batch, tokens]", full, full), ("[axes, 1, tokens]", full[:, :1], full[:, [0, 0]]),
             ("[axes, tokens]", full[:, 0], full[:, [0, 0]]), ("[batch, tokens]", full[0], full[[0, 0, 0]]),
             ("[1, batch, tokens]", full[:1], full[[0, 0, 0]]), ("[tokens]", full[0, 0], full[[0, 0, 0]][:, [0, 0]])]
    for name, array, meant in cases:
        np.save("p.npy", array)
        cos, sin = axis_angles(meant, axes, values)
        rotate_both(name, given + ["--positions", "p.npy"], q, k, lambda x: rotate(x, cos, sin), "f32")
    cos, sin = axis_angles(np.broadcast_to(np.arange(-2, 5), (3, 2, 7)), axes, values)
    rotate_both("a range", given + ["--positions", "-2:5"], q, k, lambda x: rotate(x, cos, sin), "f32")
    # As many axes as sequences: [batch, tokens] is meant, and said.
    np.save("q.npy", random((3, 7, 2, 32)))
    np.save("p.npy", positions_of_axes(3, 1, 7)[:, 0])
    for options, warned in [([], 1), (["--axes", "1,0," * 7 + "0,1"], 0)]:
        arguments = ["--frequencies", "f.npy"] + (options or ["--sections", "4,6,6"])
        _, errors = run("rotate", *arguments, "--positions", "p.npy", "--q", "q.npy", "--q-out", "o.npy", "--device",
                        "reference")
        assert errors.count("\n") == warned and ("[axes, batch, tokens]" in errors) == bool(warned), errors
        cos, sin = angles(np.load("p.npy"), values)
        expect_close(np.load("o.npy"), rotate(widen(np.load("q.npy")), cos, sin), "f32", "a batch of as many as axes")


@test
def fractional_positions_turn_as_numpys():
    values = frequencies(10000, 32)
    np.save("f.npy", values)
    axes = axes_of("interleaved", [6, 5, 5])
    q, k = random((2, 6, 2, 32)), random((2, 6, 1, 32), seed=2)
    rng = np.random.default_rng(11)
    for kind in [np.float32, np.float64]:
        for count, options in [(1, []), (3, ["--sections", "6,5,5", "--axes", "interleaved"])]:
            positions = rng.uniform(-300, 300, (count, 2, 6)).astype(kind)
            np.save("p.npy", positions)
            cos, sin = axis_angles(positions, axes if count == 3 else np.zeros(16, int), values)
            for source in ["inline", "rows"]:
                arguments = ["--frequencies", "f.npy", "--positions", "p.npy", "--source", source, *options]
                rotate_both(f"{np.dtype(kind)} on {count} axes, {source}", arguments, q, k,
                            lambda x: rotate(x, cos, sin), "f32")
    # float64 holds 2^-32ths of large positions too, and float32 ones give the bits of the same float64.
    far = np.array([2**31 - 2**-22, -(2**31) + 2**-22, 2**20 + 2**-32, 2.0**-32, 1e9 + 1 / 3, 0.5])
    np.save("far.npy", far)
    near = rng.uniform(0, 100, 6).astype(np.float32)
    np.save("near.npy", near)
    np.save("near64.npy", near.astype(np.float64))
    slow = np.float64(2.0) ** -np.arange(16)  # so that numpy's product is exact
    np.save("f2.npy", slow)
    for device in devices():
        for name in ["far", "near", "near64"]:
            run("table", "--frequencies", "f2.npy", "--positions", name + ".npy", "--cos", name + "_c.npy", "--sin",
                name + "_s.npy", "--device", device)
        cos, sin = angles(far, slow)
        assert np.abs(np.load("far_c.npy") - cos).max() < 1e-7 and np.abs(np.load("far_s.npy") - sin).max() < 1e-7
        for end in ["_c.npy", "_s.npy"]:
            assert open("near" + end, "rb").read() == open("near64" + end, "rb").read()


@test
def tables_of_several_axes_are_numpys():
    values = frequencies(10000, 32)
    np.save("f.npy", values)
    axes = axes_of("contiguous", [4, 6, 6])
    whole, fractions = positions_of_axes(3, 2, 9), positions_of_axes(3, 2, 9) / 8 + 1 / 3
    bits = {}
    for device in devices():
        for name, array, meant, shape in [
                ("[axes, batch, tokens]", whole, whole, (2, 9)), ("[axes, tokens]", whole[:, 1], whole[:, 1:], (9,)),
                ("[axes, 1, tokens]", whole[:, 1:], whole[:, 1:], (1, 9)),
                ("[2, tokens]", whole[0], whole[[0, 0, 0]], (2, 9)), ("floats", fractions, fractions, (2, 9)),
                ("a range", None, np.broadcast_to(np.arange(5, 14), (3, 1, 9)), (9,))]:
            if array is not None:
                np.save("p.npy", array)
            run("table", "--frequencies", "f.npy", "--scale", "1.5", "--sections", "4,6,6", "--positions",
                "5:14" if array is None else "p.npy", "--cos", "c.npy", "--sin", "s.npy", "--device", device)
            cos, sin = axis_angles(meant, axes, values, 1.5)
            got = np.load("c.npy"), np.load("s.npy")
            assert got[0].shape == got[1].shape == (*shape, 16), f"{name}: {got[0].shape}"
            for one, wanted in zip(got, (cos, sin)):
                assert np.abs(one - wanted.reshape(one.shape)).max() < 1.2e-7, name
            if device != "reference":
                bits.setdefault(name, set()).add(got[0].tobytes() + got[1].tobytes())
    assert all(len(one) == 1 for one in bits.values()), "the devices' tables differ"


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
def a_given_table_is_read_by_axis():
    rng = np.random.default_rng(5)
    cos, sin = rng.uniform(-1, 1, (2, 20, 24)).astype(np.float32)
    np.save("c.npy", cos)
    np.save("s.npy", sin)
    q, k = random((2, 5, 3, 64)), random((2, 5, 1, 64), seed=2)
    positions = rng.integers(0, 20, (3, 2, 5))
    np.save("p.npy", positions)
    for order in ["contiguous", "interleaved"]:
        axes = axes_of(order, [10, 7, 7])
        rows = [np.stack([widen(t)[positions[axes[j]], j] for j in range(24)], -1) for t in (cos, sin)]
        arguments = ["--cos", "c.npy", "--sin", "s.npy", "--sections", "10,7,7", "--axes", order, "--positions", "p.npy"]
        rotate_both("a table by axis, " + order, arguments, q, k, lambda x: rotate(x, *rows), "f32")
    positions[2, 1, 3], positions[0, 0, 0] = 20, -1
    np.save("p.npy", positions)
    np.save("q.npy", q)
    for device in devices():
        _, errors = run("rotate", *arguments, "--q", "q.npy", "--q-out", "o.npy", "--device", device)
        assert errors.count("\n") == 1 and "2 of 10 tokens" in errors, errors
        assert np.array_equal(np.load("o.npy")[[0, 1], [0, 3]], q[[0, 1], [0, 3]])


DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


@test
def mrotary_of_onnx_runtime():
    with open(os.path.join(DATA, "onnx", "manifest_ort.json")) as file:
        cases = [case for case in json.load(file)["cases"] if "mrope_section" in case]
    assert len(cases) == 3
    for case in cases:
        arrays = {name: np.load(os.path.join(DATA, "onnx", path)) for name, path in case["files"].items()}
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


def rotation_cases():
    with open(os.path.join(DATA, "rotations", "manifest.json")) as file:
        manifest = json.load(file)
    data = open(os.path.join(DATA, "rotations", "data.bin"), "rb").read()
    for case in manifest["cases"]:
        yield case, {name: np.frombuffer(data, t["dtype"], int(np.prod(t["shape"])), t["offset"]).reshape(t["shape"])
                     for name, t in case["tensors"].items() if not t["dtype"].startswith("bf16")}


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
    for case, arrays in rotation_cases():
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
    for case, arrays in rotation_cases():
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
               (dict(size, model_type="llama4_vision_model"), "from 1"),
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
                    lambda x: rotate(x, cos, sin, told["pairing"], chunk=chunk), "f32", warning)
    assert skipped > 0 and chunked > 0


@test
def nonsense_about_axes_is_refused_in_one_line():
    write_config()
    np.save("q.npy", random((2, 6, 2, 64)))
    np.save("f.npy", frequencies(10000, 64))
    np.save("long.npy", frequencies(10000, 600))
    np.save("wide.npy", random((2, 6, 1, 600)))
    np.save("c.npy", np.ones((9, 32), np.float32))
    np.save("rows.npy", np.ones((2, 6, 32), np.float32))
    for name, shape in [("p3", (3, 2, 6)), ("p4", (4, 2, 6)), ("p5", (5, 2, 6)), ("pb", (3, 3, 6)), ("pt", (3, 2, 5)),
                        ("p36", (3, 6)), ("p46", (4, 6)), ("p1111", (1, 1, 2, 6)), ("p0", (3, 0, 6)), ("p", (6,))]:
        np.save(name + ".npy", np.zeros(shape, np.int64))
    for name, value in [("nan", np.nan), ("inf", -np.inf), ("far", 2.0**31), ("below", -(2.0**31)), ("half", 0.5)]:
        np.save(name + ".npy", np.full((3, 2, 6), value))
        np.save(name + "32.npy", np.full((3, 2, 6), value, np.float32))
    np.save("far64.npy", np.full((3, 2, 6), 2**31))
    np.save("f16.npy", np.zeros((3, 2, 6), np.float16))
    np.save("bool.npy", np.zeros((3, 2, 6), bool))
    sections = ["--sections", "8,12,12"]
    model, given, table = ["--config", "config.json"], ["--frequencies", "f.npy"], ["--cos", "c.npy", "--sin", "c.npy"]
    rows = ["--cos", "rows.npy", "--sin", "rows.npy"]

    def by(positions="p3.npy"):
        return ["--positions", positions]

    cases = [
        (given + ["--sections", "8,12,13"] + by(), "33 pairs together"),
        (model + ["--sections", "8,12"] + by(), "20 pairs together, but there are 32"),
        (table + ["--sections", "8,12,13"] + by(), "there are 32"),
        (given + ["--sections", "8,8,8,4,4"] + by(), "at most 4"),
        (given + ["--sections", "8,12,"] + by(), "16,24,24"), (given + ["--sections", ",32"] + by(), "16,24,24"),
        (given + ["--sections", "8,-12,36"] + by(), "16,24,24"), (given + ["--sections", "8;24"] + by(), "16,24,24"),
        (given + ["--sections", "8,1e1,14"] + by(), "16,24,24"), (given + ["--sections", "t,h,w"] + by(), "16,24,24"),
        (given + ["--sections", "4294967296,32"] + by(), "16,24,24"),
        (given + ["--sections", "1," * 9000 + "1"] + by(), "not '1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,...'"),
        (given + ["--sections", ""] + by(), "--sections is empty"),
        (given + sections + ["--axes", "woven"] + by(), "woven"),
        (given + sections + ["--axes", "0,1,2"] + by(), "0,1,2"),
        (given + ["--axes", "interleaved"] + by(), "needs --sections"),
        (given + ["--axes", "contiguous"] + by(), "needs --sections"),
        (given + ["--axes", "0,1,2"] + by(), "3 pairs, but there are 32"),
        (given + ["--axes", "0," * 31 + "4"] + by(), "axis 4"), (given + ["--axes", "0," * 31 + "x"] + by(), "0,0,1,2"),
        (given + ["--axes", "0," * 32] + by(), "0,0,1,2"), (given + ["--axes", "Interleaved"] + by(), "Interleaved"),
        (given + by(), "--sections or --axes"), (model + by(), "positions of 3 axes, but the pairs turn by 1"),
        (given + sections + by("p4.npy"), "positions of 4 axes, but the pairs turn by 3"),
        (given + sections + by("p5.npy"), "[5, 2, 6]"),
        (given + ["--sections", "16,16"] + by(), "positions of 3 axes, but the pairs turn by 2"),
        (given + ["--axes", "0," * 31 + "1"] + by(), "turn by 2"),
        (given + sections + by("pb.npy"), "3 x 3 x 6 positions"), (given + sections + by("pt.npy"), "3 x 2 x 5"),
        (given + sections + by("p46.npy"), "4 x 6"), (given + by("p36.npy"), "3 x 6"),
        (given + sections + by("p1111.npy"), "[1, 1, 2, 6]"), (given + sections + by("p0.npy"), "not empty"),
        (given + sections + by("0:5"), "[axes, batch, tokens]"),
        (given + sections + by("nan.npy"), "nan"), (given + sections + by("inf.npy"), "-inf"),
        (given + sections + by("far.npy"), "2147483648"), (given + sections + by("below.npy"), "-2147483648"),
        (given + sections + by("nan32.npy"), "nan"), (given + sections + by("far32.npy"), "2147483648"),
        (given + sections + by("far64.npy"), "2147483648, which is beyond int32"),
        (given + sections + by("f16.npy"), "float16"), (given + sections + by("bool.npy"), "bool.npy"),
        (given + sections + by("half.npy") + ["--source", "table"], "whole positions"),
        (given + sections + by("half32.npy") + ["--source", "table"], "whole positions"),
        (table + sections + by("half.npy"), "whole positions"),
        (table + sections, "--sections and --axes"), (rows + sections + by(), "--sections and --axes"),
        (rows + by("p36.npy"), "leave them out"),
        (["--frequencies", "long.npy", "--sections", "100,100,100"] + by() + ["--q", "wide.npy"], "at most 256"),
        (given + sections + by() + ["--skip-first", "7"], "7 tokens together"),
        (given + sections + by() + ["--skip-first", "4", "--skip-last", "3"], "but --q has 6"),
        (given + sections + by() + ["--skip-last", "4294967295", "--skip-first", "4294967295"], "8589934590"),
        (given + sections + by() + ["--skip-first", "-1"], "--skip-first takes a whole number"),
        (given + sections + by() + ["--skip-last", "one"], "--skip-last takes a whole number"),
        (given + sections + by("pt.npy") + ["--skip-first", "2"], "of which 4 turn"),
        (given + by("p.npy") + ["--chunk-dim", "3"], "--chunk-dim is 3"),
        (given + by("p.npy") + ["--chunk-dim", "24"], "divide the rotary part of 64"),
        (given + by("p.npy") + ["--chunk-dim", "128"], "--chunk-dim is 128"),
        (given + by("p.npy") + ["--chunk-dim", "0"], "--chunk-dim takes"),
        (given + by("p.npy") + ["--chunk-dim", "16", "--pairing", "interleaved"], "half pairing"),
        (sections + by(), "--config"),
    ]
    before = sorted(os.listdir("."))
    for arguments, sentence in cases:
        arguments = [str(a) for a in arguments]
        files = [] if "--q" in arguments else ["--q", "q.npy"]
        expect_refusal(" ".join(arguments)[:90], ["rotate", *arguments, *files, "--q-out", "o.npy"], sentence, before)
    for arguments, sentence in [(given + by(), "--sections or --axes"), (given + sections + by("p4.npy"), "4 axes"),
                                (given + sections + by("inf.npy"), "-inf"), (given + ["--sections", "8"] + by(), "8 pairs"),
                                (sections + by(), "--config")]:
        expect_refusal("table " + " ".join(arguments), ["table", *arguments, "--cos", "o.npy", "--sin", "o2.npy"], sentence,
                       before)


# ---- Frequencies ---------------------------------------------------------------------------------------------------

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "frequencies")


def frequency_cases():
    """Each case of the manifest with its arrays, and the options that choose it."""
    with open(os.path.join(VECTORS, "manifest.json")) as file:
        manifest = json.load(file)
    data = open(os.path.join(VECTORS, "data.bin"), "rb").read()
    for case in manifest["cases"]:
        arrays = {name: np.frombuffer(data, t["dtype"], int(np.prod(t["shape"])), t["offset"]).reshape(t["shape"])
                  for name, t in case["tensors"].items()}
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
        assert list(got) == ["rule", "rotary_dim", "rotary_offset", "pairing", "pairing_out", "scale", "frequencies"]
        values, wanted = np.array(got["frequencies"]), arrays["inv_freq"].astype(np.float64)
        assert values.shape == wanted.shape and got["rotary_dim"] == 2 * len(wanted), case["name"]
        assert np.array_equal(values == 0, wanted == 0), case["name"]
        error = np.abs(values / np.where(wanted == 0, 1, wanted) - 1)[wanted != 0].max()
        assert error <= 5e-7, f"{case['name']}: frequencies off by {error}"
        assert abs(got["scale"] / case["attention_scaling"] - 1) <= 1e-6, case["name"]
        text = run("frequencies", *options)[0]
        printed = [float(line.split()[1]) for line in text.splitlines()[3:]]
        assert printed == got["frequencies"], case["name"]
        worst, count = max(worst, error), count + 1
    assert count == 20
    print(f"worst relative error of {count} cases: {worst:.3g}")


@test
def frequencies_tell_the_axes():
    plain = ["rule", "rotary_dim", "rotary_offset", "pairing", "pairing_out", "scale", "frequencies"]
    wan = {"_class_name": "WanTransformer3DModel", "attention_head_dim": 12}
    cases = [
        (dict(model_type="qwen2_vl"), [], dict(axes=[0] * 16 + [1] * 24 + [2] * 24, axis_names=["t", "h", "w"])),
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
        assert {key: value for key, value in got.items() if key not in plain} == wanted, config
        lines = run("frequencies", "--config", "config.json", *options)[0].splitlines()
        assert lines[2].split() == "pair radians per position axis positions per turn".split(), lines[2]
        names = [line.split()[2] for line in lines[3:]]
        assert names == [wanted["axis_names"][axis] for axis in wanted["axes"]], config
        for key, words in (("chunk_dim", "in chunks of 4"), ("skip_first", "first 5"), ("skip_last", "last 1")):
            assert (words in lines[0]) == (key in wanted), lines[0]


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
def frequencies_written_give_the_same_bits():
    for case, _, options in frequency_cases():
        got = json.loads(run("frequencies", *options, "--json", "--npy", "f.npy")[0])
        assert np.load("f.npy").tolist() == got["frequencies"]
        bits = []
        for source in [options, ["--frequencies", "f.npy", "--scale", repr(got["scale"])]]:
            run("table", *source, "--positions", "-3:9000", "--cos", "c.npy", "--sin", "s.npy", "--device", "reference")
            bits.append(open("c.npy", "rb").read() + open("s.npy", "rb").read())
        assert bits[0] == bits[1], case["name"]


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


@test
def plots_are_well_formed_and_name_their_models():
    os.mkdir("long & wide")
    write_config("long & wide/config.json", max_position_embeddings=131072,
                 rope_scaling={"rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 16384})
    write_config()
    for kind in ["ladder", "ramp", "decay", "arrows", "accuracy"]:
        run("plot", kind, "--config", "config.json", "--config", "long & wide/config.json", "-o", "out.svg")
        text = open("out.svg").read()
        root = xml.etree.ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and "long & wide" in "".join(root.itertext()), kind
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "") and "nan" not in text, kind
        assert "prefers-color-scheme: dark" in text
    expect_refusal("a pair beyond", ["plot", "arrows", "--config", "config.json", "--pair", "32", "-o", "out.svg"], "--pair",
                   sorted(os.listdir(".")))
    expect_refusal("no such folder", ["plot", "ladder", "--config", "config.json", "-o", "none/out.svg"], "no folder",
                   sorted(os.listdir(".")))


def sinusoids(positions, dim, base=10000.0, order="interleaved", flip=False):
    """Vaswani et al.'s table, in float64."""
    turned = np.multiply.outer(np.asarray(positions, np.float64), base ** (-np.arange(0, dim, 2) / dim))
    parts = (np.cos(turned), np.sin(turned)) if flip else (np.sin(turned), np.cos(turned))
    if order == "halves":
        return np.concatenate(parts, axis=-1)
    return np.stack(parts, axis=-1).reshape(*turned.shape[:-1], dim)


def add_positions(name, arguments, x, wanted, element, warning=""):
    np.save("x.npy", x)
    outputs = {}
    for device in devices():
        _, errors = run("add-positions", *arguments, "--x", "x.npy", "--out", "o.npy", "--device", device)
        assert errors == "" if warning == "" else errors.count("\n") == 1 and warning in errors, errors
        expect_close(np.load("o.npy"), wanted, element, f"{name} on {device}")
        outputs[device] = np.load("o.npy").tobytes()
    bits = [outputs[device] for device in outputs if device != "reference"]
    assert all(b == bits[0] for b in bits), f"{name}: the devices' bits differ"


@test
def sinusoids_added_are_numpys():
    positions = np.array([[0, 7, -3, 4095], [1, 2, 100000, 5]], np.int64)
    np.save("p.npy", positions)
    np.save("f.npy", frequencies(500, 64))
    for element in ["f32", "f16", "bf16"]:
        x = random((2, 4, 64), element)
        for out in [None, "f32", "f16", "bf16"]:
            arguments = ["--positions", "p.npy", "--element", element] + (["--element-out", out] if out else [])
            add_positions(str(arguments), arguments, x, widen(x) + sinusoids(positions, 64), out or element)
    x = random((2, 4, 64))
    for order in ["interleaved", "halves"]:
        for flip in [False, True]:
            arguments = ["--positions", "p.npy", "--order", order, "--base", "500", "--scale", "8"]
            arguments += ["--cosine-first"] if flip else []
            add_positions(str(arguments), arguments, x, 8 * widen(x) + sinusoids(positions, 64, 500, order, flip), "f32")
    add_positions("own frequencies", ["--positions", "p.npy", "--frequencies", "f.npy"], x,
                  widen(x) + sinusoids(positions, 64, 500), "f32")
    half = np.arange(4) / 2
    np.save("half.npy", half)
    add_positions("fractions, of rank 2", ["--positions", "half.npy"], x[0], widen(x[0]) + sinusoids(half, 64), "f32")


@test
def learned_tables_added_are_numpys():
    positions = np.array([0, 9, -2, 5, 10, 2**31 - 1], np.int64)
    np.save("p.npy", positions)
    for element in ["f32", "f16", "bf16"]:
        table = random((12, 24), element, seed=3)
        np.save("t.npy", table)
        x = random((1, 6, 24), element)
        wanted = widen(x) * 2
        wanted[0, :4] += widen(table)[positions[:4] + 2]
        arguments = ["--positions", "p.npy", "--table", "t.npy", "--first-position", "-2", "--scale", "2", "--element", element]
        add_positions(element, arguments, x, wanted, element, "2 of 6 tokens have positions outside the table of 12")


@test
def nonsense_about_embeddings_is_refused_in_one_line():
    np.save("x.npy", random((1, 4, 6)))
    np.save("odd.npy", random((4, 7)))
    np.save("rank4.npy", random((1, 4, 2, 6)))
    np.save("t.npy", random((4, 8)))
    np.save("f.npy", frequencies(10000, 8))
    before = sorted(os.listdir("."))
    plain = ["add-positions", "--x", "x.npy", "--positions", "0:4", "--out", "o.npy", "--device", "reference"]
    swap = lambda old, new: [new if a == old else a for a in plain]
    for what, arguments, sentence in [
        ("odd", swap("x.npy", "odd.npy"), "dim is 7; it must be even"),
        ("rank", swap("x.npy", "rank4.npy"), "[batch, tokens, dim]"),
        ("no file", swap("x.npy", "none.npy"), "none.npy"),
        ("positions", swap("0:4", "0:5"), "--x has 1 x 4 tokens"),
        ("table", plain + ["--table", "t.npy"], "--table has rows of 8"),
        ("rank of a table", plain + ["--table", "rank4.npy"], "[positions, dim]"),
        ("frequencies", plain + ["--frequencies", "f.npy"], "--frequencies has 4 pairs"),
        ("base of a table", plain + ["--table", "t.npy", "--base", "5"], "--base"),
        ("base", plain + ["--base", "0.5"], "--base takes a number"),
        ("scale", plain + ["--scale", "nan"], "--scale takes a number"),
        ("order", plain + ["--order", "both"], "--order"),
        ("overwrites its positions", swap("0:4", "t.npy")[:-4] + ["--out", "t.npy"], "--positions"),
    ]:
        expect_refusal(what, arguments, sentence, before)


def t5_buckets(behind, buckets, distance, both):
    """T5's own code; behind: query less key."""
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
    before = sorted(os.listdir("."))
    size = ["--queries", "4", "--keys", "4"]
    end = ["--out", "o.npy", "--device", "reference"]
    for what, arguments, sentence in [
        ("no kind", size, "kind is required"),
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
        ("least of t5", ["t5", "--weights", "w.npy", "--least", "3"] + size, "--least goes with clipped"),
        ("sides", ["clipped", "--weights", "w.npy", "--bidirectional"] + size, "--bidirectional goes with"),
        ("huge", ["alibi", "--heads", "1000", "--queries", "1000000", "--keys", "1000000"], "GiB"),
        ("no file", ["t5", "--weights", "none.npy"] + size, "none.npy"),
    ]:
        expect_refusal(what, ["bias"] + arguments + end, sentence, before)
    expect_refusal("overwrites", ["bias", "t5", "--weights", "w.npy"] + size + ["--out", "w.npy"], "--weights", before)


@test
def pictures_of_other_encodings_are_well_formed():
    for arguments in [["buckets"], ["buckets", "--bidirectional", "--buckets", "16", "--max-distance", "64"],
                      ["sinusoid"], ["sinusoid", "--halves", "--dim", "10", "--positions", "3", "--base", "50"]]:
        run("plot", *arguments, "-o", "out.svg")
        text = open("out.svg").read()
        xml.etree.ElementTree.fromstring(text)
        assert "nan" not in text and "prefers-color-scheme: dark" in text, arguments
    before = sorted(os.listdir("."))
    expect_refusal("odd", ["plot", "sinusoid", "--dim", "7", "-o", "o.svg"], "--dim is 7", before)
    expect_refusal("buckets", ["plot", "buckets", "--buckets", "3", "--bidirectional", "-o", "o.svg"], "buckets is 3", before)
    expect_refusal("no model", ["plot", "ladder", "-o", "o.svg"], "--config is missing", before)


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
            assert run(*rotation, "--pairing", pairing)[1] == ""
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
def values_are_refused_in_words():
    write_config()
    np.save("q.npy", random((1, 4, 2, 64)))
    np.save("f.npy", frequencies(10000, 64))
    before = sorted(os.listdir("."))
    rotation = ["rotate", "--positions", "0:4", "--q", "q.npy", "--q-out", "o.npy"]
    config = ["frequencies", "--config", "config.json"]
    permute = ["permute", "--to", "half", "q.npy", "-o", "o.npy"]
    length = "--length takes a whole number of positions from 1 to 9007199254740992, not "
    cases = [
        (config + ["--length", "x"], length + "'x'"), (config + ["--length", "1.5"], length + "'1.5'"),
        (config + ["--length", "0x10"], length + "'0x10'"), (config + ["--length", "nan"], length + "'nan'"),
        (config + ["--length", "0"], length + "'0'"), (config + ["--length"], "--length needs a value"),
        (config + ["--length", "3", "--length", "4"], "--length is given more than once"),
        (config + ["--rotary-dim", "-2"], "--rotary-dim takes a whole number from 2 to 8192, not '-2'"),
        (config + ["--rotary-dim", "99999999999999999999"], "--rotary-dim takes a whole number"),
        (config + ["--json=x"], "--json does not take 'x'"),
        (rotation + ["--frequencies", "f.npy", "--scale", "big"], "--scale takes a number from"),
        (rotation + ["--frequencies", "f.npy", "--scale", "inf"], "--scale takes a number from"),
        (rotation + ["--frequencies", "f.npy", "--rotary-offset", "x"], "--rotary-offset takes a whole number"),
        (permute + ["--heads", "two"], "--heads takes a whole number"),
        (permute + ["--heads", "1", "--rotary-offset", "1e3"], "--rotary-offset takes a whole number"),
        (["plot", "arrows", "--config", "config.json", "--pair", "x", "-o", "o.svg"], "--pair takes a whole number"),
        (permute[:3] + ["", "--heads", "1", "-o", "o.npy"], "weights is empty"), (["check", "--device", ""], "--device is"),
        (["plot", "arrows", "--config", "", "-o", "o.svg"], "--config is empty"),
    ]
    for name in ["--config", "--layer-type", "--length", "--rotary-dim", "--npy"]:
        cases.append((config + [name, ""], name + " is empty; it takes a value") if name != "--config" else
                     (["frequencies", name, ""], name + " is empty; it takes a value"))
    for name in ["--pairing", "--device", "--element", "--source", "--k", "--k-out", "--scale", "--angle", "--order"]:
        cases.append((rotation + ["--frequencies", "f.npy", name, ""], name + " is empty; it takes a value"))
    for arguments, sentence in cases:
        expect_refusal(" ".join(arguments[:1] + arguments[-2:]), arguments, sentence, before)
    assert run(*config, "--length", "1e6") == run(*config)
    assert run(*config, "--rotary-dim", "010")[0].startswith("rule default, rotary_dim 10 ")


@test
def links_are_followed_to_what_is_not_there_yet():
    write_config()
    os.mkdir("there")
    os.symlink("there/f.npy", "f.npy")
    os.symlink("f.npy", "again.npy")
    os.symlink("nowhere/f.npy", "astray.npy")
    os.symlink("round.npy", "circle.npy")
    os.symlink("circle.npy", "round.npy")
    config = ["frequencies", "--config", "config.json", "--npy"]
    run(*config, "again.npy")
    assert os.path.islink("f.npy") and os.path.islink("again.npy") and os.listdir("there") == ["f.npy"]
    assert np.array_equal(np.load("there/f.npy"), np.load("f.npy"))
    run(*config, "f.npy")
    assert os.path.islink("f.npy") and os.listdir("there") == ["f.npy"]
    os.remove("there/f.npy")
    before = sorted(os.listdir("."))
    expect_refusal("a link to no folder", config + ["astray.npy"], "no folder", before)
    expect_refusal("links in a circle", config + ["circle.npy"], "circle.npy", before)
    expect_refusal("two links to one file", ["table", "--config", "config.json", "--positions", "0:4", "--cos", "f.npy",
                                             "--sin", "again.npy", "--device", "reference"], "same file", before)
    assert os.listdir("there") == []


def main():
    for wanted in sys.argv[2:] or TESTS:
        with tempfile.TemporaryDirectory(prefix="vkrope-tool-") as folder:
            os.chdir(folder)
            TESTS[wanted]()
            os.chdir("/")
        print(f"{wanted}: passed")


if __name__ == "__main__":
    main()
