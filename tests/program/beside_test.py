"""bench --beside: shaders of other projects, by a description."""
import json
import os
import shutil
import subprocess
import sys

from program import expect_refusal, run, test, vulkan_devices

SHADER = """#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const float factor = 1;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 2) buffer B { float b[]; };
layout(push_constant) uniform P { uint count; int shift; vec2 add; float list[3]; };
void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < count) b[i] = b[i] / 2 + factor * a[i] + add.y + list[2] + shift;
}
"""
SMALL = ["bench", "--tokens", "1", "--rounds", "2", "--element", "f32", "--model", "qwen3-0.6b", "--place", "in-place"]


def description():
    return {"name": "sum", "copy": 8192, "buffers": {"in": {"bytes": 4096, "fill": "f32"}, "out": {"bytes": 4096}},
            "dispatches": [{"file": "sum.spv", "bindings": {"0": "in", "2": "out"}, "groups": [16, 1, 1],
                            "constants": {"0": ["u32", 64], "1": ["f32", 0.5]},
                            "push": [["u32", 1024], ["i32", -1], ["f32", 0, 1, 2, 3, 4]]}]}


def compiled(folder="."):
    """A device to run on; the shader lies in the folder."""
    found = vulkan_devices()
    if not found or not shutil.which("glslc"):
        print("skipped: no device, or no glslc, is here")
        sys.exit(77)
    subprocess.run(["glslc", "-fshader-stage=compute", "--target-env=vulkan1.1", "-", "-o", os.path.join(folder, "sum.spv")],
                   input=SHADER, text=True, check=True)
    return found


def write(changed, path="sum.json"):
    with open(path, "w") as file:
        json.dump(changed, file)


@test
def others_shaders_take_turns_with_a_case():
    os.mkdir("d")
    for device in compiled("d"):
        twice = description()
        twice["dispatches"] *= 2
        twice["buffers"].update(whole={"bytes": 64, "fill": "i64"}, halves={"bytes": 64, "fill": "f16"})
        twice["name"] = "twice"
        del twice["copy"]
        write(description(), "d/sum.json")
        write(twice, "d/twice.json")
        words = [*SMALL, "--device", device, "--working-set", "1", "--beside", "d/sum.json", "--beside", "d/twice.json"]
        row, = json.loads(run(*words, "--json")[0])["rows"]
        beside = {one["name"]: one for one in row["beside"]}
        assert list(beside)[-3:] == ["unchecked sum", "copy of sum", "unchecked twice"], list(beside)
        assert all(one["dispatches"] >= 1 for one in beside.values()) and beside["unchecked sum"]["us"]["median"] > 0, row
        text = run(*words)[0]
        assert "unchecked: another project's" in text and " unchecked twice" in text, text
        fused = [*SMALL[:5], "--fused", "--only", "kv_f32_to_f16_inline", "--device", device, "--beside", "d/sum.json"]
        assert "unchecked sum" in run(*fused)[0]
        run("bench", "--table", "--tokens", "1", "--rounds", "1", "--device", device, "--beside", "d/sum.json")


def spoil(way, value):
    """The description with another value at the end of the way; None takes it away."""
    changed = description()
    at = changed
    for key in way[:-1]:
        at = at[key]
    if value is None:
        del at[way[-1]]
    else:
        at[way[-1]] = value
    return changed


@test
def a_wrong_description_is_refused_by_its_key():
    device = compiled()[-1]
    first = ["dispatches", 0]
    with open("sum.spv", "rb") as file:
        whole = file.read()
    files = {"cut.spv": whole[:-12], "odd.spv": whole[:-1], "empty.spv": b"", "new.spv": whole[:4] + b"\0\6\1\0" + whole[8:]}
    for name, content in files.items():
        with open(name, "wb") as file:
            file.write(content)
    float64 = SHADER.replace("const float factor", "const double factor").replace("factor *", "float(factor) *")
    uniform = SHADER.replace("readonly buffer A { float a[]; }", "uniform A { float a[64]; }")
    for name, text in (("double.spv", float64), ("uniform.spv", uniform), ("set.spv", SHADER.replace("binding = 0", "set = 1, binding = 0"))):
        subprocess.run(["glslc", "-fshader-stage=compute", "--target-env=vulkan1.1", "-", "-o", name], input=text, text=True, check=True)
    cases = [
        (["name"], None, 'sum.json: has no "name"'), (["name"], 7, "sum.json: name must be a text"),
        (["copies"], 1, "sum.json: copies is no key that is known"),
        (["copy"], 10, "copy must be a whole number from 256 to"),
        (["buffers"], [], "buffers must be an object"),
        (["buffers", "in", "bytes"], -4, "buffers.in.bytes must be a whole number from 4 to"),
        (["buffers", "in", "bytes"], 1 << 60, "buffers.in.bytes must be a whole number from 4 to"),
        (["buffers", "in", "fill"], "q8_0", "buffers.in.fill must be zeros, f32, f16 or bf16"),
        (["buffers", "in", "size"], 4, "buffers.in.size is no key"),
        (["dispatches"], [], "dispatches must be a list of 1 to 64 dispatches"),
        ([*first, "file"], None, 'dispatches[0] has no "file"'),
        ([*first, "file"], "none.spv", "dispatches[0].file cannot be used: none.spv: there is no such file"),
        ([*first, "file"], "cut.spv", "dispatches[0].file cannot be used: cut.spv is no whole SPIR-V"),
        ([*first, "file"], "odd.spv", "dispatches[0].file cannot be used: odd.spv is no SPIR-V"),
        ([*first, "file"], "empty.spv", "dispatches[0].file cannot be used: empty.spv is no SPIR-V"),
        ([*first, "file"], "new.spv", "dispatches[0].file is of a SPIR-V newer than 1.3"),
        ([*first, "file"], "double.spv", "dispatches[0].file asks for SPIR-V's capability 10, "),
        ([*first, "file"], "uniform.spv", "dispatches[0].file binds binding 0 in set 0, which is no storage buffer in set 0"),
        ([*first, "file"], "set.spv", "dispatches[0].file binds binding 0 in set 1, which is no storage buffer in set 0"),
        ([*first, "entry"], "other", "dispatches[0].file has no compute shader 'other'"),
        ([*first, "bindings"], {"0": "in"}, "dispatches[0].bindings are 0, and the module has 0, 2"),
        ([*first, "bindings"], {"0": "in", "1": "in", "2": "out"}, "dispatches[0].bindings are 0, 1, 2, and the module has 0, 2"),
        ([*first, "bindings"], {"0": "in", "two": "out"}, "dispatches[0].bindings.two has a key that is no whole number"),
        ([*first, "bindings", "2"], "away", "dispatches[0].bindings.2 must be the name of one of the buffers"),
        ([*first, "constants", "7"], ["u32", 1], "dispatches[0].constants.7 is no constant of the module, which has 0, 1"),
        ([*first, "constants", "1"], ["f32", 1, 2], "dispatches[0].constants.1 must be one number"),
        ([*first, "constants", "0"], ["u32", 1 << 20], "makes groups of 1048576 threads"),
        ([*first, "constants", "0"], ["u32", 0], "makes groups of 0 threads"),
        ([*first, "push"], None, 'dispatches[0] has 0 bytes of "push", and the module takes 28'),
        ([*first, "push"], [["u32", 1, 2]], 'dispatches[0] has 8 bytes of "push", and the module takes 28'),
        ([*first, "push"], [["u64", 1]], "dispatches[0].push[0][0] must be u32, i32 or f32"),
        ([*first, "push"], [["u32", -1]], "dispatches[0].push[0][1] must be a whole number from 0 to 4294967295"),
        ([*first, "push"], [["i32", 1 << 31]], "dispatches[0].push[0][1] must be a whole number that int32 holds"),
        ([*first, "push"], [["f32", "1"]], "dispatches[0].push[0][1] must be a number"),
        ([*first, "push"], [["u32"]], "dispatches[0].push[0] must be a type and its numbers"),
        ([*first, "groups"], [1, 1], "dispatches[0].groups must be three whole numbers"),
        ([*first, "groups", 0], 0, "dispatches[0].groups[0] must be a whole number from 1 to"),
        ([*first, "groups", 2], 1 << 31, "dispatches[0].groups[2] must be a whole number from 1 to"),
    ]
    write(description())
    before = sorted(os.listdir("."))
    words = [*SMALL, "--device", device, "--beside", "sum.json"]
    for way, value, sentence in cases:
        write(spoil(way, value))
        expect_refusal(f"{way} {value}", words, sentence, before)
    for text, sentence in [("", "sum.json: is no JSON"), ("[]", "sum.json: must be an object"), ("{", "sum.json: is no JSON")]:
        with open("sum.json", "w") as file:
            file.write(text)
        expect_refusal(repr(text), words, sentence, before)
    expect_refusal("no file", [*words[:-1], "none.json"], "none.json: there is no such file", before)
    expect_refusal("costs", ["bench", "--costs", "--beside", "sum.json"], "--beside goes with measurements", before)
