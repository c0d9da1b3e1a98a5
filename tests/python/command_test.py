#!/usr/bin/env python3
"""python -m vkrope on files: rotate, table and permute. See case.py."""
import os
import signal
import subprocess
import sys
import time
import unittest

from case import DEVICES, ENVIRONMENT, LLAMA, Case, main, needs, np, program, run, same_bits, vkrope, write
from model import random
from safetensors_files import load_safetensors, save_safetensors

Q_PROJ = "model.layers.{}.self_attn.q_proj.weight"
YARN = {**LLAMA, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}}
LONGROPE = {"model_type": "phi3", "hidden_size": 256, "num_attention_heads": 4, "original_max_position_embeddings": 64,
            "max_position_embeddings": 512, "rope_theta": 12000.0,
            "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 32, "long_factor": [1 + i / 4 for i in range(32)]}}


class Rotations(Case):
    def test_are_those_of_the_program(self):
        x, k = random((2, 9, 3, 64)), random((2, 9, 1, 64), seed=2)
        np.save("q.npy", x)
        np.save("k.npy", k)
        np.save("p.npy", np.random.default_rng(1).integers(0, 999, (2, 9)))
        for config, positions, options in ((YARN, "-5:4", ["--angle", "compatible"]), (LONGROPE, "60:69", ["--inverse"]), (LONGROPE, "60:69", ["--shift"]),
                                           (LLAMA, "p.npy", ["--pairing-out", "interleaved", "--shift"])):
            write(config)
            words = ["rotate", "--config", "config.json", "--positions", positions, "--q", "q.npy", "--k", "k.npy", *options,
                     "--device", "cpu"]
            run(*words, "--q-out", "a.npy", "--k-out", "b.npy")
            self.command(*words, "--q-out", "q_out.npy", "--k-out", "k_out.npy")
            for ours, theirs in (("q_out.npy", "a.npy"), ("k_out.npy", "b.npy")):
                self.assertTrue(same_bits(np.load(ours), np.load(theirs)), (config, ours))

    def test_take_names_in_files_of_several(self):
        needs("safetensors")
        write(LLAMA)
        for dtype, element in (("F32", "f32"), ("F16", "f16"), ("BF16", "bf16")):
            q, k = random((1, 5, 4, 64), element), random((1, 5, 2, 64), element, 2)
            save_safetensors("qk.safetensors", {"a.q": (dtype, q), "odd": ("U8", np.zeros(3)), "a.k": (dtype, k)})
            np.savez("p.npz", ids=np.arange(5), more=np.zeros(2))
            self.command("rotate", "--config", "config.json", "--positions", "p.npz:ids", "--q", "qk.safetensors:a.q", "--k",
                         "qk.safetensors:a.k", "--q-out", "o.safetensors", "--k-out", "./o.safetensors:key", "--device", DEVICES[-1])
            got = load_safetensors("o.safetensors")[0]
            os.remove("o.safetensors")
            named = {"element": "bf16"} if element == "bf16" else {}
            for name, x in (("q", q), ("key", k)):
                wanted = vkrope.Device("cpu").rotate(vkrope.read(LLAMA), x, 0, **named)
                self.assertTrue(got[name][0] == dtype and got[name][1].tobytes() == wanted.tobytes(), (dtype, name))


class Tables(Case):
    def test_are_those_of_the_device(self):
        write(YARN)
        arrays = vkrope.Device("cpu").table(vkrope.read(YARN), range(4, 11))
        self.command("table", "--config", "config.json", "--positions", "4:11", "--cos", "c.npy", "--sin", "s.npy", "--device", "cpu")
        for path, array in zip(("c.npy", "s.npy"), arrays):
            self.assertTrue(same_bits(np.load(path), array), path)


class Permutations(Case):
    def test_are_those_of_permute(self):
        for dtype in (np.float64, np.int32, np.float16, "S3"):
            weights = np.arange(24 * 5).reshape(24, 5).astype(dtype)
            np.save("w.npy", weights)
            said, _ = self.command("permute", "--to", "half", "--head-dim", 8, "--rotary-dim", 4, "--rotary-offset", 2, "w.npy", "-o", "o.npy")
            self.assertTrue(same_bits(np.load("o.npy"), vkrope.permute(weights, "half", 8, rotary_dim=4, rotary_begin=2)))
            self.assertEqual(said, "w.npy: [24, 5], 3 heads of 8\n")

    def test_take_a_checkpoint_by_name_without_the_rest(self):
        safetensors = needs("safetensors.numpy").numpy
        rng, tensors = np.random.default_rng(1), {}
        for layer in range(3):
            tensors[Q_PROJ.format(layer)] = "BF16", rng.integers(0, 2**16, (4 * 16, 24))
            tensors[Q_PROJ.format(layer).replace("q_proj", "k_proj")] = "F8_E4M3", rng.integers(0, 2**8, (2 * 16, 24))
        tensors["scales"] = "F32", rng.normal(size=(32, 2))
        parts, index = [list(tensors)[:4], list(tensors)[4:]], {}
        os.mkdir("model")
        for i, part in enumerate(parts):
            save_safetensors(f"model/part-{i}.safetensors", {name: tensors[name] for name in part}, {"format": "pt"})
            index.update((name, f"part-{i}.safetensors") for name in part)
        write({"metadata": {}, "weight_map": index}, "model/model.safetensors.index.json")
        path = "model/model.safetensors.index.json"
        said, _ = self.command("permute", "--to", "interleaved", "--head-dim", 16, path + ":*_proj.weight", "-o", "o.safetensors")
        self.assertEqual(said.count("\n"), 6)
        got, metadata = load_safetensors("o.safetensors")
        self.assertEqual(metadata, {"format": "pt"})
        self.assertEqual(sorted(got), sorted(name for name in tensors if "proj" in name))
        for name, (dtype, array) in got.items():
            before = tensors[name][1].astype(array.dtype)
            self.assertTrue(dtype == tensors[name][0] and np.array_equal(array, vkrope.permute(before, "interleaved", 16)), name)
        self.command("permute", "--to", "interleaved", "--head-dim", 16, path + ":scales", "-o", "s.safetensors:[a]*")
        theirs = safetensors.load_file("s.safetensors")
        self.assertTrue(np.array_equal(theirs["[a]*"], vkrope.permute(tensors["scales"][1].astype(np.float32), "interleaved", 16)))

    @unittest.skipUnless(sys.platform == "linux", "Linux tells the most memory that a process had")
    def test_hold_no_whole_tensor_in_memory(self):
        needs("safetensors")
        save_safetensors("w.safetensors", {"small": ("U8", np.zeros((64, 1 << 19), np.uint8)), "large": ("U8", np.zeros((64, 1 << 22), np.uint8))})
        peak = ("import re, sys; from vkrope.__main__ import main; main(sys.argv[1:]); "
                "print(re.search('VmHWM:[^0-9]*([0-9]+)', open('/proc/self/status').read()).group(1))")
        used = []
        for name in ("small", "large"):  # of 32 MiB, and of 256
            done = subprocess.run([sys.executable, "-c", peak, "permute", "--to", "half", "--head-dim", "4", f"w.safetensors:{name}", "-o",
                                   f"{name}.npy"], capture_output=True, text=True, env=ENVIRONMENT)
            used.append(int(done.stdout.split()[-1]))
        self.assertLess(used[1] - used[0], 150 << 10)

    def test_begin_at_multiples_of_their_elements(self):
        safetensors = needs("safetensors.numpy").numpy
        save_safetensors("w.safetensors", {"a": ("U8", np.arange(2).reshape(2, 1)), "b": ("F64", np.arange(2.0).reshape(2, 1))})
        self.command("permute", "--to", "half", "--head-dim", 2, "w.safetensors:*", "-o", "o.safetensors")
        with open("o.safetensors", "rb") as file:
            self.assertIn(b'"b":{"dtype":"F64","shape":[2,1],"data_offsets":[0,16]}', file.read())
        self.assertEqual(safetensors.load_file("o.safetensors")["a"].tolist(), [[0], [1]])


class Files(Case):
    def test_of_several_tensors_are_not_replaced(self):
        write(LLAMA)
        x = random((1, 5, 2, 64))
        np.save("q.npy", x)
        np.save("w.npy", np.zeros((64, 2), np.float32))
        save_safetensors("there.safetensors", {name: ("F32", x) for name in ("a", "b", "z")})
        with open("there.safetensors", "rb") as file:
            before = file.read()
        rotation = ["rotate", "--config", "config.json", "--positions", "0:5", "--device", "cpu", "--q", "q.npy", "--q-out"]
        end = ", which is there; name another file, or delete it first\n"
        self.command_refused("--q-out is there.safetensors:z" + end, *rotation, "there.safetensors:z")
        self.command_refused("--output is there.safetensors" + end, "permute", "--to", "half", "--head-dim", 64, "w.npy", "-o", "there.safetensors")
        with open("there.safetensors", "rb") as file:
            self.assertEqual(file.read(), before)
        self.command(*rotation, "new.safetensors:a", "--k", "q.npy", "--k-out", "new.safetensors:b")

    def test_that_cannot_be_read_are_refused(self):
        needs("safetensors")
        write(LLAMA)
        np.save("q.npy", random((1, 5, 2, 64)))
        np.save("objects.npy", np.array([{}]))
        np.savez("two.npz", a=np.zeros(2), b=np.zeros(2))
        for name, text in (("text.npy", "no array"), ("empty.npy", ""), ("text.npz", "PK"), ("text.safetensors", "12345678"),
                           ("text.safetensors.index.json", "{}"), ("up.safetensors.index.json", '{"weight_map": {"a": "../a"}}'),
                           ("deep.safetensors.index.json", "[" * 99999)):
            with open(name, "w") as file:
                file.write(text)
        words = ["rotate", "--config", "config.json", "--device", "cpu", "--q-out", "o.npy", "--positions", "0:5", "--q"]
        for source, sentence in (("text.npy", "is no file of arrays"), ("empty.npy", "is no file of arrays"), ("text.npz", "is no file"),
                                 ("objects.npy", "is no file of arrays"), ("none.npy", "none.npy: No such file"),
                                 ("two.npz", "has 2 arrays; two.npz:NAME names one: 'a', 'b'"), ("two.npz:c", "has no array 'c'; it has 'a', 'b'"),
                                 ("text.safetensors:a", "is no .safetensors file"), ("none.safetensors:a", "No such file"),
                                 ("text.safetensors.index.json:a", "is no index of a checkpoint"), ("deep.safetensors.index.json:a", "is no index"),
                                 ("up.safetensors.index.json:a", "it must lie beside the index"), (".", "Is a directory")):
            self.command_refused(sentence, *words, source)

    def test_that_cannot_be_written_are_refused(self):
        write(LLAMA)
        np.save("q.npy", random((1, 5, 2, 64)))
        os.mkdir("folder.npy")
        words = ["rotate", "--config", "config.json", "--device", "cpu", "--positions", "0:5", "--q", "q.npy", "--q-out"]
        for path, sentence in (("o.txt", "arrays are written to .npy and .safetensors"), ("none/o.npy", "in folders that are there"),
                               ("folder.npy", "outputs are files"), ("/dev/null.npz", "arrays are written to")):
            self.command_refused(sentence, *words, path)
        self.command_refused("which another output is too", *words, "o.npy", "--k", "q.npy", "--k-out", "./o.npy")
        np.save("w.npy", np.zeros((4, 2), ">f8"))
        self.command_refused("has no type for", "permute", "--to", "half", "--head-dim", 4, "w.npy", "-o", "o.safetensors")

    def test_are_whole_or_not_there_when_the_program_is_stopped(self):
        np.save("w.npy", np.zeros((1 << 11, 1 << 16), np.uint8))
        for name in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen([sys.executable, "-m", "vkrope", "permute", "--to", "half", "--head-dim", "32", "w.npy", "-o", "o.npy"],
                                       env=ENVIRONMENT, stdout=subprocess.DEVNULL)
            while process.poll() is None and not any(".new" in path for path in os.listdir(".")):
                time.sleep(0.001)
            process.send_signal(name)
            self.assertIn(process.wait(), (0, 130))
            self.assertFalse([path for path in os.listdir(".") if ".new" in path])
            self.assertTrue("o.npy" not in os.listdir(".") or np.load("o.npy", mmap_mode="r").shape == (1 << 11, 1 << 16))


class Words(Case):
    def test_that_are_wrong_are_one_sentence(self):
        write(LLAMA)
        np.save("q.npy", random((1, 5, 2, 64)))
        rotation = ["rotate", "--config", "config.json", "--q", "q.npy", "--q-out", "o.npy", "--device", "cpu"]
        for arguments, sentence in (([], "COMMAND"), (["rotat"], "rotat"), (rotation, "--positions"), (["permute", "w.npy"], "required"),
                                    ([*rotation, "--positions", "5:5"], "--positions 5:5 is empty"),
                                    ([*rotation, "--positions", "0:4"], "there are 4 positions, but 5 tokens"),
                                    ([*rotation, "--positions", "0:5", "--k", "q.npy"], "--k and --k-out go together"),
                                    ([*rotation[:-1], "nothing such", "--positions", "0:5"], "no device matches 'nothing such'"),
                                    ([*rotation, "--positions", "0:5", "--layer-type", "none"], "none"),
                                    (["table", "--config", "config.json", "--positions", "0:5", "--cos", "o.npy"], "--sin"),
                                    (["table", "--config", "none", "--positions", "0:5", "--cos", "a.npy", "--sin", "b.npy"], "none: No such")):
            self.command_refused(sentence, *arguments)

    def test_help_and_version(self):
        self.assertEqual(self.command("--version")[0], vkrope.__version__ + "\n")
        for words in ([], ["rotate"], ["table"], ["permute"], ["plot"], ["plot", "accuracy"]):
            self.assertIn("usage: vkrope", self.command(*words, "--help")[0])

    def test_of_a_missing_package_say_what_to_install(self):
        write(LLAMA)
        with open("block.py", "w") as file:
            file.write("import sys\nsys.modules.update(dict.fromkeys(['matplotlib', 'safetensors', 'tqdm']))\n"
                       "from vkrope.__main__ import main\nsys.exit(main(sys.argv[1:]))\n")
        save_safetensors("w.safetensors", {"a": ("F32", np.zeros((4, 2), np.float32))})
        np.save("w.npy", np.zeros((4, 2)))
        for status, arguments, sentence in (
                (2, ["plot", "frequencies", "--config", "config.json", "-o", "o.svg"], "this takes matplotlib, which is not installed: pip install 'vkrope[plot]'"),
                (2, ["permute", "--to", "half", "--head-dim", "4", "w.safetensors:a", "-o", "o.npy"], "pip install 'vkrope[safetensors]'"),
                (0, ["permute", "--to", "half", "--head-dim", "4", "w.npy", "-o", "o.npy"], "")):
            done = subprocess.run([sys.executable, "block.py", *arguments], capture_output=True, text=True, env=ENVIRONMENT)
            self.assertEqual((done.returncode, sentence in done.stderr), (status, True), done.stderr)


if __name__ == "__main__":
    main()
