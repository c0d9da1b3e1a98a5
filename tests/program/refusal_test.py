import os
import shlex

import numpy as np

from model import random, write_config
from program import COMMAND, expect_refusal, run, test


def write_hostile_files():
    np.save("q.npy", random((1, 4, 2, 64)))
    np.save("rank2.npy", random((4, 64)))
    np.save("q3.npy", random((3, 4, 64)))
    np.save("hw.npy", np.zeros((2, 3), np.int32))
    np.save("f64.npy", np.zeros((1, 4, 2, 64)))
    np.save("unsplit.npy", random((1, 4, 128)))
    np.save("u16.npy", np.zeros((1, 4, 2, 64), np.uint16))
    np.save("k3.npy", random((1, 3, 2, 64)))
    np.save("k_f16.npy", random((1, 4, 2, 64), "f16"))
    np.save("empty.npy", np.zeros((1, 0, 2, 64), np.float32))
    np.save("p5.npy", np.arange(5))
    np.save("fp.npy", np.arange(4.0))
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
    yield from [
        ("no command", [], "command"),
        ("unknown command", ["rotat"], "rotat"),
        ("unknown command that asks for help", ["rotat", "--help"], "there is no command 'rotat'"),
        ("unknown option", rotation + ["--qq", "1"], "there is no option '--qq'"),
        ("unknown option beside one that is missing", ["rotate", "--qq"], "there is no option '--qq'"),
        ("a word too many", ["devices", "all"], "'all' is one word too many"),
        ("a choice that is none", rotation + ["--pairing", "sideways"], "--pairing takes one of half, interleaved, not 'sideways'"),
        ("a folder as the configuration", but(config="folder"), "--config: folder is a folder; name a config.json"),
        ("missing file", but(q="none.npy"), "none.npy: there is no such file"),
        ("missing configuration", but(config="none.json"), "--config: none.json: there is no such file"),
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
        ("k of other length", but(k="k3.npy", k_out="o2.npy"), "[1, 3, 2, 64]; batch and tokens must be alike; if both "
         "have their heads before their tokens, say --order bhsd\n"),
        ("k of other type", but(k="k_f16.npy", k_out="o2.npy"), "float16"),
        ("no positions", but(positions=None), "--positions"),
        ("empty range", but(positions="4:4"), "4:4"),
        ("no range", but(positions="1:x"), "1:x"),
        ("range beyond int32", but(positions="2147483646:2147483650"), "int32"),
        ("other count", but(positions="0:5"), "4"),
        ("heads before tokens", but(positions="0:2"), "if --q has its heads before its tokens, say --order bhsd"),
        ("tokens before heads of rank 3", but(q="q3.npy", positions="0:3"),
         "3 x 4 tokens; if --q is [seq, heads, dim], say --order shd\n"),
        ("tokens of an image before heads", but(config="image.json", q="q3.npy", positions="hw.npy"),
         "2 x 3 positions, but --q has 3 x 4 tokens; if --q is [seq, heads, dim], say --order shd\n"),
        ("tokens before heads", but(positions="0:4", order="bhsd"), "its tokens before its heads, say --order bshd"),
        ("heads side by side", but(q="unsplit.npy"), "--config says 64; if these are the heads of a token side by side, "
                                                     "reshape it to [1, 4, 2, 64]"),
        ("one position", but(positions="4"), "'4', which is neither a range first:last, such as 0:4096, nor a file"),
        ("a range with dots", but(positions="0..4"), "'0..4', which is neither a range first:last"),
        ("array of other count", but(positions="p5.npy"), "5"),
        ("positions of halves", but(positions="k_f16.npy"), "[1, 4, 2, 64]"),
        ("no config", but(config="none.json"), "none.json"),
        ("no angles", but(config=None), "--config is missing"),
        ("table of no angles", table[:1] + table[3:], "--config is missing"),
        ("table of one file", table[:-2], "--sin is missing"),
        *[(f"{option}, which is gone", but(**{option: "x.npy"}), f"there is no option '--{option}'; {way}")
          for option, way in [("frequencies", "vkrope.Encoding of the Python package takes frequencies of your own\n"), ("scale", "vkrope.Encoding"),
                              ("sections", "--config says it, and vkrope.Encoding"), ("axes", "--config says it"),
                              ("cos", "a rotation by given rows is ROPE_SOURCE_ROWS of rope.h\n"), ("sin", "a rotation by given rows")]],
        ("formats of tables", table + ["--format", "split"], "there is no option '--format'; other rows are made of --cos and --sin"),
        ("a picture of bandwidth", ["bench", "--plot", "x.svg"], "'--plot'; python -m vkrope plot bandwidth draws what --json prints"),
        ("a search for cuts", ["bench", "--tune"], "'--tune'; --tuning times one cut of the threads"),
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
        ("check of the reference", ["check", "--device", "reference"], "reference"),
        ("check of the CPU", ["check", "--device", "cpu"], "--device is cpu"),
    ]


@test
def nonsense_is_refused_in_one_line():
    write_config(model_type="gemma4_vision")
    os.rename("config.json", "image.json")
    write_config()
    write_hostile_files()
    before = sorted(os.listdir("."))
    q = open("q.npy", "rb").read()
    for what, arguments, sentence in nonsense():
        expect_refusal(what, arguments, sentence, before)
    assert open("q.npy", "rb").read() == q


@test
def values_are_refused_in_words():
    write_config()
    np.save("q.npy", random((1, 4, 2, 64)))
    before = sorted(os.listdir("."))
    rotation = ["rotate", "--config", "config.json", "--positions", "0:4", "--q", "q.npy", "--q-out", "o.npy"]
    config = ["frequencies", "--config", "config.json"]
    length = "--length takes a whole number of positions from 1 to 9007199254740992, not "
    cases = [
        (config + ["--length", "x"], length + "'x'"), (config + ["--length", "1.5"], length + "'1.5'"),
        (config + ["--length", "0x10"], length + "'0x10'"), (config + ["--length", "nan"], length + "'nan'"),
        (config + ["--length", "0"], length + "'0'"), (config + ["--length"], "--length needs a value"),
        (config + ["--length", "3", "--length", "4"], "--length is given more than once"),
        (config + ["--rotary-dim", "-2"], "--rotary-dim takes a whole number from 2 to 8192, not '-2'"),
        (config + ["--rotary-dim", "99999999999999999999"], "--rotary-dim takes a whole number"),
        (config + ["--json=x"], "--json takes no value"),
        (["devices", "--json=7x"], "--json takes no value"),
        (["bench", "--element=a flag override"], "--element takes one of f32, f16, bf16, not 'a flag override'"),
        (rotation + ["--rotary-offset", "x"], "--rotary-offset takes a whole number"),
        (rotation + ["--rotary-offset", "1e3"], "--rotary-offset takes a whole number"),
        (["check", "--device", ""], "--device is"), (["models", ""], "name is empty"),
    ]
    for name in ["--config", "--layer-type", "--length", "--rotary-dim", "--npy"]:
        cases.append((config + [name, ""], name + " is empty; it takes a value") if name != "--config" else
                     (["frequencies", name, ""], name + " is empty; it takes a value"))
    for name in ["--pairing", "--device", "--element", "--k", "--k-out", "--angle", "--order"]:
        cases.append((rotation + [name, ""], name + " is empty; it takes a value"))
    for arguments, sentence in cases:
        expect_refusal(" ".join(arguments[:1] + arguments[-2:]), arguments, sentence, before)
    assert run(*config, "--length", "1e6") == run(*config)
    assert run(*config, "--rotary-dim", "010")[0].startswith("rule default, rotary_dim 10 ")


@test
def what_went_to_python_is_refused_with_the_way():
    write_config()
    np.save("q.npy", random((1, 4, 2, 64)))
    np.savez("q.npz", q=random((1, 4, 2, 64)))
    before = sorted(os.listdir("."))
    for command, way in [("permute", "python -m vkrope permute"), ("plot", "python -m vkrope plot"),
                         ("add-positions", "vkrope.Device.add"), ("bias", "vkrope.Device.bias")]:
        for more in [[], ["--help"], ["--to", "half", "q.npy", "-o", "o.npy"]]:
            expect_refusal(command, [command, *more], f"{command} is in the Python package: {way}\n", before)
    rotation = {"--config": "config.json", "--positions": "0:4", "--q": "q.npy", "--q-out": "o.npy"}
    table = {"--config": "config.json", "--positions": "0:4", "--cos": "o.npy", "--sin": "o2.npy"}
    for command, options, option in [("rotate", rotation, "--positions"), ("rotate", rotation, "--q"), ("rotate", rotation, "--q-out"),
                                     ("rotate", {**rotation, "--k-out": "o2.npy"}, "--k"),
                                     ("rotate", {**rotation, "--k": "q.npy"}, "--k-out"),
                                     ("table", table, "--cos"), ("table", table, "--sin"),
                                     ("frequencies", {"--config": "config.json"}, "--npy")]:
        for file in ["q.npz", "q.npz:q", "none.safetensors", "m.safetensors:a.q", "model.safetensors.index.json:a.q"]:
            arguments = [word for pair in {**options, option: file}.items() for word in pair]
            expect_refusal(f"{option} of {command}", [command, *arguments],
                           f"{option} is {file}; arrays are .npy files here, and python -m vkrope takes .npz and .safetensors\n",
                           before)


def refused_in_little_memory(arguments, sentence, mebibytes=100):
    said = run(shell=f"ulimit -v {1024 * mebibytes}; {shlex.join([*COMMAND, *arguments])}", status=2)[1]
    assert sentence in said and said.count("\n") == 1, said


@test
def arrays_are_judged_before_they_are_read():
    write_config()
    np.save("q.npy", random((1, 4, 2, 64)))

    def sparse(dtype, *shape):
        array = np.lib.format.open_memmap("large.npy", "w+", dtype, shape)
        array.flush()
        return "large.npy"

    rotation = ["rotate", "--config", "config.json", "--positions", "0:4", "--q-out", "o.npy", "--device", "cpu", "--q"]
    many = 1 << 28
    refused_in_little_memory(rotation + [sparse("f8", 1, 4, 2, many)], "holds float64")
    refused_in_little_memory(rotation + [sparse("f4", many)], "it must have rank 4")
    given = [*rotation[:3], *rotation[5:], "q.npy", "--positions"]
    refused_in_little_memory(given + [sparse("i8", many)], f"{many} positions")
    refused_in_little_memory(given + [sparse("u2", many)], "holds uint16")
    run(*rotation, "q.npy")
