import json
import os
import shlex
import struct
import zipfile

import numpy as np

from array_files import BYTES, DTYPES, load_safetensors, save_header, save_safetensors, save_streamed_npz, zip64
from model import angles, expect_close, frequencies, random, rotate, sinusoids, to_bf16, widen, write_config
from program import COMMAND, devices, expect_refusal, run, test

Q_PROJ = "model.layers.{}.self_attn.q_proj.weight"


def permutation(to, heads, dim):
    """The old row of each new one."""
    pair = np.arange(dim // 2)
    order = np.stack([pair, pair + dim // 2], 1).reshape(-1) if to == "interleaved" else \
        np.concatenate([2 * pair, 2 * pair + 1])
    return (np.arange(heads)[:, None] * dim + order).reshape(-1)


@test
def safetensors_are_read_and_written_by_name():
    write_config()
    cos, sin = (a[None] for a in angles(np.arange(5), frequencies()))
    for dtype, element in [("F32", "f32"), ("F16", "f16"), ("BF16", "bf16")]:
        q, k = random((1, 5, 4, 64), element), random((1, 5, 2, 64), element, 2)
        save_safetensors("qk.safetensors", {"a.q": (dtype, q), "odd": ("U8", np.zeros(3)), "a.k": (dtype, k)})
        save_safetensors("p.safetensors", {"ids": ("I64", np.arange(5))})
        for device in devices():
            # bfloat16 says itself what it is
            run("rotate", "--config", "config.json", "--positions", "p.safetensors", "--q", "qk.safetensors:a.q", "--k",
                "qk.safetensors:a.k", "--q-out", "o.safetensors", "--k-out", "./o.safetensors:key", "--device", device)
            got, metadata = load_safetensors("o.safetensors")
            assert sorted(got) == ["key", "q"] and metadata is None, got
            for name, x in [("q", q), ("key", k)]:
                assert got[name][0] == dtype
                expect_close(got[name][1].astype({"bf16": np.uint16}.get(element, got[name][1].dtype)),
                             rotate(widen(x), cos, sin), element, device)
    run("rotate", "--config", "config.json", "--positions", "0:5", "--q", "qk.safetensors:a.q", "--q-out", "o.npy",
        "--device", "cpu")
    run("rotate", "--config", "config.json", "--positions", "0:5", "--q", "qk.safetensors:a.q", "--q-out",
        "o2.safetensors", "--device", "cpu")
    assert np.load("o.npy").dtype == np.uint16  # in which bfloat16 travels
    assert np.array_equal(np.load("o.npy"), load_safetensors("o2.safetensors")[0]["q"][1])


@test
def every_option_of_an_array_takes_a_name():
    values, table = frequencies(10000, 64), to_bf16(np.random.default_rng(3).uniform(-1, 1, (8, 64)))
    x = random((1, 4, 64))
    save_safetensors("all.safetensors", {"f": ("F64", values), "x": ("F32", x), "p": ("I32", np.arange(4)),
                                         "t": ("BF16", table), "w": ("F32", random((32, 3))),
                                         "s": ("F16", random((1, 3, 4, 4), "f16"))})
    run("add-positions", "--x", "all.safetensors:x", "--positions", "all.safetensors:p", "--frequencies",
        "all.safetensors:f", "--out", "placed.safetensors:placed", "--device", "cpu")
    expect_close(load_safetensors("placed.safetensors")[0]["placed"][1], widen(x) + sinusoids(np.arange(4), 64), "f32", "x")
    run("add-positions", "--x", "all.safetensors:x", "--positions", "all.safetensors:p", "--table", "all.safetensors:t",
        "--out", "o.npy", "--device", "cpu")
    expect_close(np.load("o.npy"), widen(x) + widen(table[:4]), "f32", "a table of bfloat16")
    run("bias", "t5", "--weights", "all.safetensors:w", "--scores", "all.safetensors:s", "--out", "out.safetensors",
        "--device", "cpu")
    assert load_safetensors("out.safetensors")[0]["out"][0] == "F16"
    run("table", "--frequencies", "all.safetensors:f", "--positions", "all.safetensors:p", "--cos",
        "o.safetensors:a.cos", "--sin", "o.safetensors", "--device", "cpu")
    got, cos = load_safetensors("o.safetensors")[0], angles(np.arange(4), values)[0]
    assert sorted(got) == ["a.cos", "sin"] and np.abs(got["a.cos"][1] - cos).max() < 1.2e-7
    run("rotate", "--cos", "o.safetensors:a.cos", "--sin", "o.safetensors:sin", "--q", "all.safetensors:x", "--q-out",
        "o.npy", "--device", "cpu")


@test
def tensors_of_other_names_are_not_lost():
    write_config()
    x = random((1, 5, 2, 64))
    np.save("q.npy", x)
    np.save("w.npy", np.zeros((64, 2), np.float32))
    np.save("f.npy", frequencies())
    save_safetensors("victim.safetensors", {name: ("F32", x) for name in ["a", "b", "z"]})
    save_safetensors("w.safetensors", {name: ("F32", np.zeros((64, 2), np.float32)) for name in ["a.w", "b.w"]})
    save_safetensors("many.safetensors", {f"t{i}": ("F32", x) for i in range(7)})
    os.symlink("victim.safetensors", "link.safetensors")
    with open("text.safetensors", "w") as file:
        file.write("no header")
    before, kept = sorted(os.listdir(".")), open("victim.safetensors", "rb").read()
    end = "would be lost; name another file, or delete it first\n"
    rotation = ["rotate", "--config", "config.json", "--positions", "0:5", "--device", "cpu", "--q", "q.npy", "--q-out"]
    permute = ["permute", "--to", "half", "--heads", "1"]
    table = ["table", "--config", "config.json", "--positions", "0:5", "--device", "cpu", "--cos", "victim.safetensors:a",
             "--sin", "./victim.safetensors:b"]
    for arguments, sentence in [
            (rotation + ["victim.safetensors:z"], "--q-out would replace victim.safetensors, and its tensors 'a', 'b' " + end),
            (rotation + ["link.safetensors:z"], "--q-out would replace link.safetensors, and its tensors 'a', 'b' " + end),
            (rotation + ["victim.safetensors:a", "--k", "q.npy", "--k-out", "victim.safetensors:b"], "its tensor 'z' " + end),
            (rotation + ["many.safetensors"], "its tensors 't0', 't1', 't2' and 4 more " + end),
            (rotation + ["text.safetensors"], "what it holds is not known, so name another file, or delete it first\n"),
            (table, "its tensor 'z' " + end),
            (["frequencies", "--config", "config.json", "--npy", "victim.safetensors"], "its tensors 'a', 'b', 'z' " + end),
            (["add-positions", "--x", "q.npy", "--positions", "0:5", "--out", "victim.safetensors:a"], "'b', 'z' " + end),
            (permute + ["w.npy", "-o", "victim.safetensors:a"], "--output would replace victim.safetensors, and its tensors 'b'"),
            (permute + ["w.safetensors:*.w", "-o", "victim.safetensors"], "'a', 'b', 'z' " + end)]:
        expect_refusal(" ".join(arguments[-3:]), arguments, sentence, before)
        assert open("victim.safetensors", "rb").read() == kept
    open("empty.safetensors", "w").close()
    for names in [["q", "k"], ["k", "q"]]:  # a file of the same names is replaced
        run(*rotation, "new.safetensors:" + names[0], "--k", "q.npy", "--k-out", "new.safetensors:" + names[1])
        run(*permute, "w.safetensors:*.w", "-o", "empty.safetensors")
    assert sorted(load_safetensors("new.safetensors")[0]) == ["k", "q"]
    assert sorted(load_safetensors("empty.safetensors")[0]) == ["a.w", "b.w"]


@test
def a_checkpoint_is_permuted_by_name_without_the_rest():
    rng = np.random.default_rng(1)
    tensors = {}
    for layer in range(3):
        tensors[Q_PROJ.format(layer)] = "BF16", rng.integers(0, 2**16, (4 * 16, 24))
        tensors[Q_PROJ.format(layer).replace("q_proj", "k_proj")] = "BF16", rng.integers(0, 2**16, (2 * 16, 24))
    tensors["model.norm.weight"] = "F32", random((24,))
    save_safetensors("model.safetensors", tensors, {"format": "pt"})
    for to in ["interleaved", "half"]:
        run("permute", "--to", to, "--heads", "4", "model.safetensors:" + Q_PROJ.format(1), "-o", "one.safetensors")
        got, metadata = load_safetensors("one.safetensors")
        assert list(got) == [Q_PROJ.format(1)] and metadata == {"format": "pt"}, got
        wanted = tensors[Q_PROJ.format(1)][1][permutation(to, 4, 16)]
        assert got[Q_PROJ.format(1)][0] == "BF16" and np.array_equal(got[Q_PROJ.format(1)][1], wanted)
    run("permute", "--to", "half", "--heads", "4", "model.safetensors:*.q_proj.weight", "-o", "all.safetensors")
    got = load_safetensors("all.safetensors")[0]
    assert sorted(got) == [Q_PROJ.format(layer) for layer in range(3)]
    for name in got:
        assert np.array_equal(got[name][1], tensors[name][1][permutation("half", 4, 16)]), name
    for pattern, count in [("*", 7), ("model.layers.*", 6), ("*.1.*", 2), ("*k*weight", 3), ("*.*.*.*q*t", 3),
                           ("m*m*m*weight", 0), ("*norm", 0), (Q_PROJ.format(0), 1)]:
        done = run("permute", "--to", "half", "--heads", "1", "model.safetensors:" + pattern, "-o", "p.safetensors",
                   status=0 if count else 2)
        if count:
            assert len(load_safetensors("p.safetensors")[0]) == count, pattern
            os.remove("p.safetensors")
    # The tensor lies in a file of 8 GiB, of which the disk has the ends and the memory nothing else.
    rest = 1 << 33
    header = {"rest": {"dtype": "U8", "shape": [rest], "data_offsets": [0, rest]},
              "w": {"dtype": "I16", "shape": [8], "data_offsets": [rest, rest + 16]}}
    save_header("huge.safetensors", header)
    with open("huge.safetensors", "r+b") as file:
        file.seek(rest, os.SEEK_END)
        file.write(np.arange(8, dtype="<i2").tobytes())
    run(shell=f"ulimit -v 1000000; {shlex.join(COMMAND)} permute --to half --heads 2 huge.safetensors:w "
        "-o w.safetensors:new")
    assert load_safetensors("w.safetensors")[0]["new"][1].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


@test
def a_checkpoint_in_parts_is_read_by_its_list():
    weights = {Q_PROJ.format(layer): ("F32", random((8, 3), seed=layer)) for layer in range(4)}
    names, parts = list(weights), ["a.safetensors", "b.safetensors"]
    for i, part in enumerate(parts):
        save_safetensors(part, {name: weights[name] for name in names[i::2]})
    with open("model.safetensors.index.json", "w") as file:
        json.dump({"metadata": {"total_size": 1}, "weight_map": {n: parts[i % 2] for i, n in enumerate(names)}}, file)
    run("permute", "--to", "half", "--heads", "2", "model.safetensors.index.json:*q_proj*", "-o", "o.safetensors")
    got = load_safetensors("o.safetensors")[0]
    for name in names:
        assert np.array_equal(got[name][1], weights[name][1][permutation("half", 2, 4)]), name
    before = sorted(os.listdir("."))
    permute = ["permute", "--to", "half", "--heads", "2"]
    expect_refusal("over a part", permute + ["model.safetensors.index.json:" + names[0], "-o", "b.safetensors"],
                   "would overwrite b.safetensors", before)
    expect_refusal("none of the list", permute + ["model.safetensors.index.json:layers.3", "-o", "o.npy"],
                   "it has '" + names[3] + "'", before)
    for text, sentence in [("{", "weight_map"), ('{"weight_map": [1]}', "weight_map"), ("[" * 100000, "weight_map"),
                           ('{"weight_map": {"w": 3}}', "'w' has no file's name"),
                           ('{"weight_map": {"w": "a.safetensors"}}', "a.safetensors: it has no tensor 'w'"),
                           ('{"weight_map": {"w": "none.safetensors"}}', "none.safetensors: there is no such file"),
                           ('{"weight_map": {"w": {"a": {"b": 1}}}}', "'w' has no file's name"),
                           ('{"weight_map": {"w": ""}}', "'w' has the file ''; it must be a file's name"),
                           ('{"weight_map": {"w": "/a.safetensors"}}', "not from the root"),
                           ('{"weight_map": {"w": "b/../a.safetensors"}}', "without .."),
                           ('{"weight_map": {"w": ["a.safetensors"]}}', "'w' has no file's name"),
                           ('{"weight_map": {"w": "a.safetensors", "w": "b.safetensors"}}', "the tensor 'w' twice"),
                           ('{"weight_map": {}, "weight_map": {}}', '"weight_map" twice'),
                           ('{"metadata": {"weight_map": {"w": "a.safetensors"}}}', "it has no object"),
                           ('{"metadata": {}, "weight_map": {"w": "none.safetensors"}, "more": {"a": "b"}}', "no such"),
                           ('{"weight_map": {}}', "holds no array")]:
        with open("bad.safetensors.index.json", "w") as file:
            file.write(text)
        expect_refusal(text[:40], permute + ["bad.safetensors.index.json:w", "-o", "o.npy"], sentence,
                       sorted(os.listdir(".")))
    os.truncate("bad.safetensors.index.json", 100000001)
    expect_refusal("a large list", permute + ["bad.safetensors.index.json:w", "-o", "o.npy"], "it has 100000001 bytes",
                   sorted(os.listdir(".")))
    with open("bad.safetensors.index.json", "w") as file:
        file.write('{"weight_map": [' + "[]," * 30000000 + "[]]}")
    refused_in_little_memory([*permute, "bad.safetensors.index.json:w", "-o", "o.npy"], "it has no object", 400)


def refused_in_little_memory(arguments, sentence, mebibytes=100):
    said = run(shell=f"ulimit -v {1024 * mebibytes}; {shlex.join([*COMMAND, *arguments])}", status=2)[1]
    assert sentence in said and said.count("\n") == 1, said


@test
def arrays_are_judged_before_they_are_read():
    write_config()
    np.save("x.npy", random((1, 4, 64)))
    np.save("q.npy", random((1, 4, 2, 64)))

    def sparse(dtype, *shape):
        array = np.lib.format.open_memmap("large.npy", "w+", dtype, shape)
        array.flush()
        return "large.npy"

    rotation = ["rotate", "--config", "config.json", "--positions", "0:4", "--q-out", "o.npy", "--device", "cpu", "--q"]
    added = ["add-positions", "--x", "x.npy", "--out", "o.npy", "--device", "cpu", "--positions"]
    many = 1 << 28
    refused_in_little_memory(rotation + [sparse("f8", 1, 4, 2, many)], "holds float64")
    refused_in_little_memory(rotation + [sparse("f4", many)], "it must have rank 4")
    refused_in_little_memory(["rotate", "--frequencies", sparse("f8", many), *rotation[3:], "q.npy"], "at most 4096")
    refused_in_little_memory(["rotate", "--cos", sparse("f4", many // 8, 4, 2, 1), "--sin", "q.npy", *rotation[5:], "q.npy"],
                             "it must be [max positions, pairs]")
    refused_in_little_memory(["permute", "--to", "half", "--heads", "3", sparse("f4", many), "-o", "o.npy"],
                             "its first axis must be heads * head_dim with --heads 3")
    refused_in_little_memory(added + ["0:4", "--table", sparse("f8", many, 1)], "holds float64")
    refused_in_little_memory(["add-positions", "--x", sparse("f4", 1, 1, 1, many), *added[3:], "0:4"], "it must be [batch")
    for given in [added, [*rotation[:3], *rotation[5:], "q.npy", "--positions"]]:
        refused_in_little_memory(given + [sparse("i8", many)], f"{many} positions")
        refused_in_little_memory(given + [sparse("u2", many)], "holds uint16")
    save_header("large.safetensors", {"q": {"dtype": "F64", "shape": [1, 4, 2, many],
                                            "data_offsets": [0, 64 * many]}})
    os.truncate("large.safetensors", os.path.getsize("large.safetensors") + 64 * many)
    refused_in_little_memory(rotation + ["large.safetensors"], "holds float64")
    save_header("many.safetensors", {"__metadata__": {str(i): "" for i in range(65537)}})
    refused_in_little_memory(rotation + ["many.safetensors"], "metadata has more than 65536 entries")
    save_header("many.safetensors", b"{%s}" % b",".join(
        b'"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i for i in range((1 << 20) + 1)))
    refused_in_little_memory(rotation + ["many.safetensors"], "the header has more than 1048576 tensors", 600)
    run(*rotation, "q.npy")


@test
def names_of_files_and_of_arrays_are_kept_apart():
    write_config()
    names = ["m.safetensors", "x.index.json", "a.safetensors.index.json", "a:b", "a/b.npz", "plain"]
    arrays = {name: random((4, 2), seed=i) for i, name in enumerate(names)}
    order = permutation("half", 1, 4)
    with zipfile.ZipFile("odd.npz", "w") as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w") as member:
                np.lib.format.write_array(member, array)
    permute = ["permute", "--to", "half", "--heads", "1"]
    run(*permute, "odd.npz:*", "-o", "odd.safetensors")
    got = load_safetensors("odd.safetensors")[0]
    assert sorted(got) == sorted(names) and sorted(os.listdir(".")) == ["config.json", "odd.npz", "odd.safetensors"]
    for name in names:
        assert np.array_equal(got[name][1], arrays[name][order]), name
        run(*permute, "odd.npz:" + name, "-o", "one.npy")
        assert np.array_equal(np.load("one.npy"), arrays[name][order]), name
    save_safetensors("nameless.safetensors", {"": ("F32", arrays["plain"])})
    run(*permute, "nameless.safetensors", "-o", "nameless_too.safetensors")
    assert list(load_safetensors("nameless_too.safetensors")[0]) == [""]
    os.mkdir("d.safetensors:x")
    np.save("d.safetensors:x/w.npy", arrays["plain"])
    np.save("odd.npz:plain", arrays["a:b"])  # NumPy appends .npy
    os.rename("odd.npz:plain.npy", "odd.npz:plain")
    for given, wanted in [("d.safetensors:x/w.npy", "plain"), ("odd.npz:plain", "a:b"), ("odd.npz:a:b", "a:b")]:
        for output in ["d.safetensors:x/o.npy", "d.safetensors:x/o.safetensors:a/b.npy"]:
            run(*permute, given, "-o", output)
        assert np.array_equal(np.load("d.safetensors:x/o.npy"), arrays[wanted][order]), given
        assert np.array_equal(load_safetensors("d.safetensors:x/o.safetensors")[0]["a/b.npy"][1], arrays[wanted][order])
    with zipfile.ZipFile("twice.npz", "w") as archive:
        for name in ["a.npy", "b.npy", "a"]:
            archive.write("one.npy", name)
    expect_refusal("a name twice", permute + ["twice.npz:*", "-o", "o.safetensors"], "it has the array 'a' twice",
                   sorted(os.listdir(".")))
    with open("odd.npz", "rb") as file:
        whole = file.read()
    with open("bytes.npz", "wb") as file:
        file.write(whole.replace(b"plain.npy", b"\xff\xfeain.npy"))
    expect_refusal("no UTF-8", permute + ["bytes.npz:*ain", "-o", "o.safetensors"],
                   "a tensor cannot have the name '??ain', which is no UTF-8", sorted(os.listdir(".")))


@test
def every_type_is_carried_as_it_is():
    rng = np.random.default_rng(2)
    order = permutation("half", 2, 4)
    for dtype in [*DTYPES, *BYTES]:
        numpys = np.dtype(DTYPES.get(dtype, "u1"))
        array = rng.integers(0, 2, (8, 3 * numpys.itemsize), np.uint8) if dtype == "BOOL" else \
            rng.integers(0, 256, (8, 3 * numpys.itemsize), np.uint8).view(numpys)
        save_safetensors("w.safetensors", {"odd": ("U8", np.zeros(1)), "w": (dtype, array)})  # begins at an odd byte
        run("permute", "--to", "half", "--heads", "2", "w.safetensors:w", "-o", "o.safetensors")
        kind, got = load_safetensors("o.safetensors")[0]["w"]
        assert kind == dtype and got.tobytes() == array[order].astype(numpys).tobytes(), dtype
        if dtype in BYTES:
            expect_refusal(dtype, ["permute", "--to", "half", "--heads", "2", "w.safetensors:w", "-o", "o.npy"],
                           "NumPy has no float8", sorted(os.listdir(".")))
            continue
        run("permute", "--to", "half", "--heads", "2", "w.safetensors:w", "-o", "o.npy")
        assert np.load("o.npy").tobytes() == array[order].astype(numpys).tobytes(), dtype
        assert np.load("o.npy").dtype == numpys, dtype
        run("permute", "--to", "half", "--heads", "2", "o.npy", "-o", "back.safetensors:w")
        assert load_safetensors("back.safetensors")[0]["w"][0] == ("U16" if dtype == "BF16" else dtype)
    for dtype, bits in [("F4", 4), ("F6_E2M3", 6), ("F6_E3M2", 6)]:  # rows of 4 elements are 2 and 3 bytes
        data = rng.integers(0, 256, (8, bits // 2), np.uint8)
        save_header("w.safetensors", {"w": {"dtype": dtype, "shape": [8, 4], "data_offsets": [0, data.size]}},
                    data.tobytes())
        run("permute", "--to", "half", "--heads", "2", "w.safetensors", "-o", "o.safetensors")
        with open("o.safetensors", "rb") as file:
            assert file.read().endswith(data[order].tobytes())
        save_header("w.safetensors", {"w": {"dtype": dtype, "shape": [8, 1], "data_offsets": [0, bits]}}, bytes(bits))
        expect_refusal(dtype, ["permute", "--to", "half", "--heads", "2", "w.safetensors", "-o", "o.npy"],
                       "its rows are no whole bytes", sorted(os.listdir(".")))
    save_safetensors("w.safetensors", {"w": ("F64", np.zeros((1, 2, 1, 4)))})
    rotation = ["rotate", "--frequencies", "w.safetensors", "--positions", "0:2", "--q-out", "o.npy"]
    expect_refusal("a type without arithmetic", rotation + ["--q", "w.safetensors"], "float64", sorted(os.listdir(".")))


@test
def npz_without_compression_is_read():
    write_config()
    q = random((1, 5, 4, 64))
    np.savez("one.npz", q)
    np.savez("two.npz", q=q, p=np.arange(5))
    save_streamed_npz("streamed.npz", p=np.arange(5), q=np.asfortranarray(q))
    with zipfile.ZipFile("commented.npz", "w") as archive:
        archive.writestr("notes", "no array")
        archive.write("one.npz", "one.npz")
        with archive.open("q.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, q)
        archive.comment = b"PK\5\6 is a comment, and no end of a directory"
    wanted = None
    for given in ["one.npz", "one.npz:arr_0", "two.npz:q", "streamed.npz:q", "commented.npz:q"]:
        run("rotate", "--config", "config.json", "--positions", "two.npz:p" if "two" in given else "streamed.npz:p",
            "--q", given, "--q-out", "o.npy", "--device", "cpu")
        wanted = wanted or open("o.npy", "rb").read()
        assert open("o.npy", "rb").read() == wanted, given
    before = sorted(os.listdir("."))

    def refused(what, path, sentence):
        expect_refusal(what, ["rotate", "--config", "config.json", "--positions", "0:5", "--q", path, "--q-out",
                              "o.npy"], sentence, sorted(os.listdir(".")))

    np.savez_compressed("packed.npz", q=q)
    refused("compressed", "packed.npz", "is compressed; numpy.savez writes it without compression")
    refused("several", "two.npz", "--q: two.npz holds 2 arrays; two.npz:NAME says which, of 'q', 'p'")
    refused("another name", "two.npz:k", "two.npz has no array 'k'; it has 'q', 'p'")
    refused("no array", "commented.npz:notes", "this is no .npy file")
    expect_refusal("an output", ["rotate", "--config", "config.json", "--positions", "0:5", "--q", "one.npz", "--q-out",
                                 "o.npz"], "arrays are written to .npy and .safetensors", sorted(os.listdir(".")))
    whole = open("one.npz", "rb").read()
    for what, data, sentence in [
            ("cut", whole[:-1], "its end is missing"), ("empty", b"", "its end is missing"),
            ("text", b"x" * 70000, "its end is missing"), ("another bit", whole[:300] + b"!" + whole[301:], "checksum"),
            ("no entry", whole[:whole.index(b"PK\1\2")] + b"QK" + whole[whole.index(b"PK\1\2") + 2:], "broken"),
            ("no member", b"QK" + whole[2:], "is not where the directory says"),
            ("a shift", b"..." + whole, "its directory is broken")]:
        open("bad.npz", "wb").write(data)
        refused(what, "bad.npz", sentence)


@test
def npz_of_64_bits_is_read():
    weights = random((8, 3))
    permute = ["permute", "--to", "half", "--heads", "2"]

    def put(data):
        with open("w.npz", "wb") as file:
            file.write(data)

    put(zip64(weights))
    assert np.array_equal(np.load("w.npz")["q"], weights)  # NumPy finds it well formed
    run(*permute, "w.npz", "-o", "o.npy")
    assert np.array_equal(np.load("o.npy"), weights[permutation("half", 2, 4)])
    with zipfile.ZipFile("many.npz", "w") as archive:  # more members than 16 bits count
        for i in range(65536):
            archive.writestr(f"{i}", "")
        with archive.open("w.npy", "w") as member:
            np.lib.format.write_array(member, weights)
    run(*permute, "many.npz:w", "-o", "o2.npy")
    assert open("o2.npy", "rb").read() == open("o.npy", "rb").read()
    for what, data, sentence in [
            ("terabytes", zip64(weights, size=1 << 40), "it would take 1099511627776 bytes from byte"),
            ("two sizes", zip64(weights, field=struct.pack("<HHQQQ", 1, 24, 9, 8, 0)), "it has 8 bytes without"),
            ("a directory behind the end", zip64(weights, at=1 << 60), "its directory would end behind the file's end"),
            ("a directory of terabytes", zip64(weights, whole=1 << 42), "would end behind the file's end"),
            ("no locator", zip64(weights, locator=b"PK\6\6"), "its directory is of 64 bits, and nothing says"),
            ("no record", zip64(weights, end=b"PK\6\5"), "its directory is of 64 bits, and is not where"),
            ("no room", zip64(weights)[-22:], "its directory is of 64 bits, and nothing says"),
            ("no field", zip64(weights, field=b""), "has no size in its directory"),
            ("a short field", zip64(weights, field=struct.pack("<HHQ", 1, 8, 0)), "has no size in its directory"),
            ("a field behind the end", zip64(weights, field=struct.pack("<HH", 1, 60000)), "has no size in its"),
            ("a member behind the end", zip64(weights, field=struct.pack("<HHQQQ", 1, 24, 9, 9, 1 << 50)),
             "it would begin behind the archive's directory"),
            ("a directory too short", zip64(weights, whole=50), "its directory is broken")]:
        put(data)
        expect_refusal(what, permute + ["w.npz", "-o", "no.npy"], sentence, sorted(os.listdir(".")))
    with open("w.npz", "wb") as file:  # a directory of 70 MB that is there
        file.truncate(70000000)
        file.seek(0, os.SEEK_END)
        file.write(b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, 70000000, 0, 0))
    expect_refusal("a large directory", permute + ["w.npz", "-o", "no.npy"], "at most 67108864 are read",
                   sorted(os.listdir(".")))


@test
def hostile_safetensors_are_refused_in_one_line():
    write_config()
    before = None

    def refused(what, header, sentence, data=b"", length=None):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        with open("bad.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(text) if length is None else length) + text + data)
        expect_refusal(what, ["rotate", "--config", "config.json", "--positions", "0:2", "--q", "bad.safetensors:q",
                              "--q-out", "o.npy"], sentence, sorted(os.listdir(".")))

    def tensor(first=0, last=8, shape=(2,), dtype="F32", **more):
        return {"dtype": dtype, "shape": list(shape), "data_offsets": [first, last], **more}

    q = tensor()
    refused("a header of terabytes", b"{}", "its header would be of 1099511627776 bytes", length=1 << 40)
    refused("a header of all bytes", b"{}", "its header would be of 18446744073709551615 bytes", length=2**64 - 1)
    refused("a tensor of terabytes", {"q": tensor(0, 1 << 42, [1 << 40])}, "ends at byte 4398046511104 of the data")
    refused("a shape that overflows", {"q": tensor(0, 8, [1 << 32, 1 << 32])}, "more than 63 bits count", bytes(8))
    refused("a number that overflows", b'{"q":{"shape":[99999999999999999999]}}', "a number that is no count")
    refused("overlapping", {"q": q, "k": tensor(4, 12)}, "'k' begins at byte 4 of the data", bytes(12))
    refused("a zero", json.dumps({"q": q}).encode() + b"\0{", "the header is not JSON: its byte 61 is a zero", bytes(8))
    refused("a hole", {"q": q, "k": tensor(12, 20)}, "the tensor before it ends at 8", bytes(20))
    refused("bytes behind", {"q": q}, "the tensors end at byte 8 of the data, and the file has 9", bytes(9))
    refused("cut", {"q": q}, "'q' ends at byte 8 of the data, and the file has 7", bytes(7))
    refused("offsets reversed", {"q": tensor(8, 0)}, "its offsets are 8 to 0", bytes(8))
    refused("another size", {"q": tensor(0, 8, [3])}, "takes 12 bytes by its shape", bytes(8))
    refused("half bytes", {"q": tensor(0, 1, [1], "F4")}, "no whole bytes", bytes(1))
    refused("nesting", b'{"q":{"shape":' + b"[" * 1000000, "has a list at 'shape'")
    refused("nesting of objects", b'{"dtype":' * 1000000, "has an object at 'dtype'")
    refused("a name twice", b'{"q":%s,"q":%s}' % ((json.dumps(q).encode(),) * 2), "the tensor 'q' twice", bytes(8))
    refused("a key twice", b'{"q":{"dtype":"F32","dtype":"F32"}}', "has 'dtype' twice")
    refused("metadata twice", b'{"__metadata__":{},"__metadata__":{}}', "'__metadata__' twice")
    refused("a metadatum twice", b'{"__metadata__":{"a":"1","a":"2"}}', "metadata has 'a' twice")
    refused("metadata of numbers", {"__metadata__": {"a": 1}}, "a number at 'a'; metadata are an object of strings")
    refused("metadata of null", {"__metadata__": None}, "'__metadata__' is null; metadata are an object of strings")
    refused("an unknown type", {"q": tensor(dtype="F128")}, "'q' has the dtype 'F128', which is not known; F32, F64,")
    refused("an unknown key", {"q": tensor(colour=1)}, "unknown key 'colour'")
    refused("a missing key", {"q": {"dtype": "F32", "shape": []}}, "has no 'data_offsets'")
    refused("three offsets", {"q": {"data_offsets": [0, 1, 2]}}, "of other than two numbers")
    refused("one offset", {"q": {"data_offsets": [0]}}, "of other than two numbers")
    refused("a negative offset", {"q": {"data_offsets": [-1, 2]}}, "a negative number")
    refused("many dimensions", {"q": {"shape": [1] * 33}}, "more than 32 dimensions")
    refused("types of a type", {"q": {"dtype": ["F32"]}}, "a list at 'dtype'")
    refused("a shape of text", {"q": {"shape": "2"}}, "a string at 'shape'; a shape is a list of counts")
    refused("a shape of lists", {"q": {"shape": [[2]]}}, "a list at 'shape'; a shape is a list of counts")
    refused("a tensor that is none", {"q": 3}, "the header's 'q' is a number")
    refused("a tensor that is true", {"q": True}, "the header's 'q' is true or false")
    refused("a list", [1], "the header is no JSON object")
    refused("no JSON", b"{'q'", "the header is no JSON from its byte")
    refused("no text", b"", "the header is no JSON")
    refused("more text", b"{}{}", "the header is no JSON")
    refused("no UTF-8", b'{"\xff\xfe":{}}', "the header is no JSON")
    refused("no tensors", {}, "holds no array")
    refused("another name", {"a.q.weight": q, "a.k.weight": tensor(8, 16)}, "no array 'q'; it has 'a.q.weight'",
            bytes(16))
    open("bad.safetensors", "wb").write(b"1234567")
    expect_refusal("seven bytes", ["permute", "--to", "half", "--heads", "1", "bad.safetensors", "-o", "o.npy"],
                   "this is no .safetensors file", sorted(os.listdir(".")))


@test
def no_output_takes_tensors_away():
    write_config()
    q = random((1, 4, 2, 64))
    save_safetensors("qk.safetensors", {"q": ("F32", q), "k": ("F32", q)})
    np.save("q.npy", q)
    rotation = ["rotate", "--config", "config.json", "--positions", "0:4", "--q", "qk.safetensors:q", "--q-out"]
    before, whole = sorted(os.listdir(".")), open("qk.safetensors", "rb").read()
    expect_refusal("over its own file", rotation + ["qk.safetensors:q"], "would overwrite qk.safetensors", before)
    expect_refusal("over its own file by another name", rotation + ["./qk.safetensors:new"], "would overwrite", before)
    expect_refusal("one name twice", rotation + ["o.safetensors:x", "--k", "q.npy", "--k-out", "o.safetensors:x"],
                   "the same file", before)
    for output in ["o.npy", "o.safetensors:x"]:
        expect_refusal("two tensors in one array", ["permute", "--to", "half", "--heads", "1", "qk.safetensors:*", "-o",
                                                    output], output + " takes one", before)
    expect_refusal("the name of metadata", rotation + ["o.safetensors:__metadata__"], "no tensor can have the", before)
    expect_refusal("no UTF-8", rotation + [b"o.safetensors:\xff"], "UTF-8", before)
    assert open("qk.safetensors", "rb").read() == whole
    open("a.safetensors", "w").close()
    os.symlink("a.safetensors", "l.npy")
    os.symlink("a.safetensors", "l.safetensors")
    os.link("a.safetensors", "h.npy")
    os.link("a.safetensors", "h.safetensors")
    before = sorted(os.listdir("."))
    for one in ["l.npy", "l.safetensors", "h.npy", "h.safetensors"]:
        for q, k in [("a.safetensors", one), (one, "a.safetensors")]:
            expect_refusal("links", rotation + [q, "--k", "q.npy", "--k-out", k], "the same file", before)
    run(*rotation, "a.safetensors", "--k", "q.npy", "--k-out", "./a.safetensors", "--device", "cpu")
    assert sorted(load_safetensors("a.safetensors")[0]) == ["k", "q"]


@test
def rank_3_is_told_apart_by_its_order():
    write_config()
    cos, sin = (a[None] for a in angles(np.arange(5), frequencies()))
    one_head = (3, 5, 64), lambda x: x[:, :, None], lambda x: x[:, :, 0]
    for order, shape, to_bshd, back in [("shd", (5, 3, 64), lambda x: x[None], lambda x: x[0]),
                                        ("hsd", (3, 5, 64), lambda x: x.swapaxes(0, 1)[None],
                                         lambda x: x[0].swapaxes(0, 1)),
                                        ("bsd", *one_head), (None, *one_head), ("bhsd", *one_head)]:
        q, bits = random(shape), set()
        np.save("q.npy", q)
        wanted = back(rotate(to_bshd(widen(q)), cos, sin))
        for device in devices():
            run("rotate", "--config", "config.json", "--positions", "0:5", "--q", "q.npy", "--q-out", "o.npy",
                "--device", device, *(["--order", order] if order else []))
            expect_close(np.load("o.npy"), wanted, "f32", f"{order} on {device}")
            if device != "reference":
                bits.add(np.load("o.npy").tobytes())
        assert len(bits) == 1, order
    np.save("q4.npy", random((1, 5, 3, 64)))
    rotation = ["rotate", "--config", "config.json", "--positions", "0:5", "--q-out", "o.npy"]
    expect_refusal("rank 4", rotation + ["--q", "q4.npy", "--order", "shd"], "--order shd is of rank 3",
                   sorted(os.listdir(".")))
    np.save("q2.npy", random((5, 64)))
    expect_refusal("rank 2", rotation + ["--q", "q2.npy"], "--order shd or hsd", sorted(os.listdir(".")))
