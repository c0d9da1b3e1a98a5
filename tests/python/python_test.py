#!/usr/bin/env python3
"""The package's frequencies, tables and rotations, held bit for bit against what the program writes: see case.py."""
import json
import os
import subprocess
import sys
import threading
import time

from case import COMMAND, DEVICES, ENVIRONMENT, FOLDER, Case, main, np, opened, run, same_bits, vkrope, write
from gguf import gguf as gguf_of
from model import LLAMA, angles, narrow, positions_of_axes, random, rotate, widen
from vkrope import _arrays, _library, _structures

LLAMA3 = {**LLAMA, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                    "original_max_position_embeddings": 8192}}
YARN = {**LLAMA, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}}
QWEN_VL = {"model_type": "qwen2_vl", "hidden_size": 256, "num_attention_heads": 4, "rope_theta": 1000000.0,
           "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}}
GLM = {"model_type": "glm4", "head_dim": 64, "partial_rotary_factor": 0.5, "rope_theta": 10000.0}
LONGROPE = {"model_type": "phi3", "hidden_size": 256, "num_attention_heads": 4, "original_max_position_embeddings": 64,
            "max_position_embeddings": 512, "rope_theta": 12000.0,
            "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 32, "long_factor": [1 + i / 4 for i in range(32)]}}
GRANITE = {"model_type": "granite_swa", "head_dim": 64, "num_hidden_layers": 4, "layer_rope_theta": [20000, 5000000, 0, 10000]}
GEMMA3 = {"model_type": "gemma3_text", "head_dim": 64, "rope_theta": 1100000.0, "rope_local_base_freq": 11000.0,
          "sliding_window_pattern": 6, "num_hidden_layers": 12}


class Frequencies(Case):
    def test_are_those_of_the_program(self):
        cases = [(LLAMA3, {}), (YARN, {}), (QWEN_VL, {}), (GLM, {}), (LONGROPE, {}), (LONGROPE, {"length": 100}),
                 ({"model_type": "deepseek_v4"}, {}), (GRANITE, {"layer": 0}), (GRANITE, {"layer": 1}), (GEMMA3, {"layer_type": "sliding_attention"}), (GEMMA3, {"layer_type": "full_attention"}), (LLAMA, {"rotary_dim": 32})]
        seen = set()
        for config, wishes in cases:
            write(config)
            options = [word for name, value in wishes.items() for word in ("--" + name.replace("_", "-"), value)]
            shown, _ = run("frequencies", "--config", "config.json", "--npy", "f.npy", "--json", *options)
            told = json.loads(shown)
            for source in (config, "config.json"):
                encoding = vkrope.read(source, **wishes)
                self.assertTrue(same_bits(encoding.frequencies, np.load("f.npy")), (config, wishes))
                self.assertEqual((encoding.rule, encoding.pairing, encoding.scale, encoding.rotary_dim, encoding.rotary_begin),
                                 tuple(told[key] for key in ("rule", "pairing", "scale", "rotary_dim", "rotary_offset")))
                self.assertEqual(None if encoding.axes is None else encoding.axes.tolist(), told.get("axes"))
                self.assertEqual(encoding.axis_names, told.get("axis_names", []))
            seen.add(encoding.frequencies.tobytes())
        self.assertEqual(len(seen), len(cases))

    def test_come_from_a_gguf(self):
        with open("model.gguf", "wb") as file:
            file.write(gguf_of("llama", {"embedding_length": 512, "attention.head_count": 8, "block_count": 2}, {}))
        run("frequencies", "--config", "model.gguf", "--npy", "f.npy")
        encoding = vkrope.read("model.gguf")
        self.assertTrue(same_bits(encoding.frequencies, np.load("f.npy")))
        self.assertEqual((encoding.model_type, encoding.pairing), ("llama", "interleaved"))

    def test_layers_are_asked_for_by_number(self):
        self.refused("layer 2 (sliding_attention) does not rotate", vkrope.read, GRANITE, layer=2)
        self.refused("no layer 4", vkrope.read, GRANITE, layer=4)
        self.refused("layer is -1; it is a whole number from 0", vkrope.read, GRANITE, layer=-1)
        self.refused("chosen by its number", vkrope.read, GRANITE, layer_type="sliding_attention")
        with open("model.gguf", "wb") as file:
            file.write(gguf_of("gemma3", {"embedding_length": 512, "attention.head_count": 8, "attention.sliding_window": 9,
                                          "block_count": 12}, {}))
        self.assertEqual([vkrope.read("model.gguf", layer=layer).layer_type for layer in (0, 5)],
                         ["sliding_attention", "full_attention"])

    def test_layers_and_notes_are_told(self):
        encoding = vkrope.read(GEMMA3)
        self.assertEqual((encoding.model_type, encoding.layer_type), ("gemma3_text", "full_attention"))
        self.assertEqual(sorted(encoding.layer_types), ["full_attention", "sliding_attention"])
        self.assertEqual(len(encoding.notes), 1)
        self.assertIn("layers 5, 11 (full_attention)", encoding.notes[0])
        told = vkrope.read({"model_type": "qwen", "kv_channels": 64, "seq_length": 2048, "use_logn_attn": True}, length=4096)
        self.assertEqual(len(told.notes), 1)
        self.assertIn("use_logn_attn scales queries", told.notes[0])


class Tables(Case):
    def expect(self, config, given, option, **wishes):
        write(config)
        angle = wishes.get("angle", "exact")
        run("table", "--config", "config.json", "--positions", option, "--cos", "c.npy", "--sin", "s.npy", "--angle", angle,
            *(["--device", DEVICES[1]] if DEVICES[1:] else self.skipTest("no device to compare with")))
        for device in DEVICES:
            cos, sin = opened(device).table(vkrope.read(config), given, **wishes)
            self.assertTrue(same_bits(cos, np.load("c.npy")) and same_bits(sin, np.load("s.npy")), (device, config, wishes))

    def test_have_the_programs_bits(self):
        self.expect(LLAMA3, range(-3, 500), "-3:500")
        self.expect(YARN, range(100), "0:100", angle="compatible")

    def test_take_arrays_of_positions(self):
        rng = np.random.default_rng(3)
        for positions in (rng.integers(-2**31, 2**31, 33), rng.integers(-99, 99, (3, 5)).astype(np.int32),
                          rng.uniform(-9, 9, 21).astype(np.float32).round(3), rng.uniform(-1e6, 1e6, (2, 8)),
                          np.arange(9, dtype=np.uint8)):
            np.save("p.npy", positions if positions.dtype != np.uint8 else positions.astype(np.int64))
            self.expect(LLAMA3, positions, "p.npy")
            self.expect(LLAMA3, positions.tolist() if positions.dtype != np.float32 else positions, "p.npy")

    def test_take_axes(self):
        for positions in (positions_of_axes(3, 2, 7), positions_of_axes(3, 1, 7)[:, 0]):
            np.save("p.npy", positions)
            self.expect(QWEN_VL, positions, "p.npy")
        self.expect(QWEN_VL, range(9), "0:9")

    def test_take_the_other_byte_order(self):
        np.save("p.npy", np.arange(5, 99))
        self.expect(LLAMA3, np.arange(5, 99).astype(">i4"), "p.npy")
        self.expect(LLAMA3, np.arange(5, 99).astype(">i8"), "p.npy")


class Rotations(Case):
    def expect(self, config, x, positions, option, *options, **wishes):
        """The program's output, and the same bits from every device."""
        write(config)
        np.save("q.npy", x)
        if not DEVICES[1:]:
            self.skipTest("no device to compare with")
        run("rotate", "--config", "config.json", "--positions", option, "--q", "q.npy", "--q-out", "o.npy", "--device", DEVICES[1],
            *options)
        for device in DEVICES:
            kept = x.copy()
            ours = opened(device).rotate(vkrope.read(config), x, positions, **wishes)
            self.assertTrue(same_bits(ours, np.load("o.npy")), (device, config, wishes))
            self.assertTrue(same_bits(x, kept))

    def test_have_the_programs_bits(self):
        x = random((2, 9, 3, 64))
        self.expect(LLAMA3, x, 5, "5:14")
        self.expect(LLAMA3, x, range(9), "0:9", "--order", "bshd", order="bshd")
        self.expect(LLAMA3, random((2, 3, 9, 64)), range(9), "0:9", "--order", "bhsd", order="bhsd")
        self.expect(YARN, x, 0, "0:9", "--inverse", operation="inverse")
        self.expect(YARN, x, 0, "0:9", "--transpose", "--angle", "compatible", operation="transpose", angle="compatible")
        self.expect(YARN, x, 0, "0:9", "--shift", operation="shift")

    def test_take_the_pairing_and_the_rotary_part_from_the_model(self):
        x = random((1, 6, 2, 64))
        self.assertEqual(vkrope.read(GLM).rotary_dim, 32)
        self.expect(GLM, x, 0, "0:6")
        self.expect(GLM, x, 0, "0:6", "--pairing", "half", pairing="half")
        self.expect(LLAMA, x, 0, "0:6", "--pairing-out", "interleaved", pairing_out="interleaved")
        no_type = {key: value for key, value in LLAMA.items() if key != "model_type"}
        self.refused("pairing", vkrope.Device("cpu").rotate, vkrope.read(no_type), x, 0)
        self.expect(no_type, x, 0, "0:6", "--pairing", "interleaved", pairing="interleaved")

    def test_take_frequencies_of_ones_own(self):
        x, frequencies = random((1, 6, 2, 64)), np.array([1.0, -0.5, 0.25, 0.0, 1e-3, 3.0])
        encoding = vkrope.Encoding(frequencies, scale=1.25, rotary_begin=40, pairing="interleaved")
        cos, sin = (rows[None] for rows in angles(np.arange(7, 13), frequencies, 1.25))
        wanted = rotate(widen(x), cos, sin, "interleaved", begin=40)
        for device in DEVICES:
            got = opened(device).rotate(encoding, x, 7)
            self.assertLess(np.abs(got - wanted).max(), 1e-6, device)
            self.assertTrue(same_bits(got, vkrope.Device("cpu").rotate(encoding, x, 7)), device)

    def test_take_every_element(self):
        x = random((1, 5, 2, 64))
        self.expect(LLAMA, narrow(x, "f16"), 0, "0:5")
        self.expect(LLAMA, narrow(x, "bf16"), 0, "0:5", "--element", "bf16", element="bf16")
        self.refused("element is 'f16'", vkrope.Device("cpu").rotate, vkrope.read(LLAMA), narrow(x, "f16"), 0, element="f16")
        self.refused("say element='bf16'", vkrope.Device("cpu").rotate, vkrope.read(LLAMA), narrow(x, "bf16"), 0)

    def test_take_positions_of_sequences_and_axes(self):
        x = random((2, 7, 2, 64))
        for config, positions in ((LLAMA3, np.random.default_rng(2).integers(0, 9999, (2, 7))), (QWEN_VL, positions_of_axes(3, 2, 7)),
                                  (QWEN_VL, positions_of_axes(3, 1, 7)), (QWEN_VL, positions_of_axes(3, 1, 7)[:, 0]),
                                  (LLAMA3, np.arange(7).astype(np.float64) / 8)):
            np.save("p.npy", positions)
            self.expect(config, x, positions, "p.npy")

    def test_leave_tokens_out(self):
        config = {"model_type": "dinov3_vit", "hidden_size": 128, "num_attention_heads": 2, "patch_size": 16, "image_size": 48,
                  "num_register_tokens": 4, "rope_theta": 100.0}
        write(config)
        encoding = vkrope.read(config)
        self.assertEqual(encoding.skip_first, 5)
        positions = positions_of_axes(encoding.axis_count, 1, 9)[:, 0]
        np.save("p.npy", positions)
        self.expect(config, random((1, 14, 2, 64)), positions, "p.npy")


class Buffers(Case):
    def setUp(self):
        super().setUp()
        self.encoding = vkrope.read(LLAMA)
        self.x = random((2, 5, 3, 64))
        self.wanted = vkrope.Device("cpu").rotate(self.encoding, self.x, 3)

    def test_of_any_strides_are_read(self):
        turned = np.ascontiguousarray(self.x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)  # [batch, heads, seq, dim] in memory
        odd = np.zeros((2, 5, 3, 128), np.float32)[..., ::2]
        odd[...] = self.x
        packed = np.full((2, 5, 4, 3, 64), 7, np.float32)  # [Q | K | V | more] of each token
        packed[:, :, 1] = self.x
        for name in DEVICES:
            device = vkrope.Device(name)
            for x in (turned, odd, packed[:, :, 1], self.x[::-1][::-1], np.asfortranarray(self.x)):
                self.assertTrue(same_bits(device.rotate(self.encoding, x, 3), self.wanted), name)
            self.assertTrue(same_bits(device.rotate(self.encoding, self.x[0], 3), self.wanted[0]), name)
            one = np.broadcast_to(self.x[:, :, :1], self.x.shape)
            self.assertTrue(same_bits(device.rotate(self.encoding, one, 3)[:, :, 2].copy(), self.wanted[:, :, 0].copy()), name)

    def test_that_do_not_fit_are_refused(self):
        rotate = vkrope.Device("cpu").rotate
        self.refused("4 axes", rotate, self.encoding, self.x[0, 0], 0)
        self.refused("float64", rotate, self.encoding, self.x.astype(np.float64), 0)
        self.refused("heads of 32 elements", rotate, self.encoding, self.x[..., :32], 0)

    def test_too_small_are_refused_by_the_library(self):
        place = _arrays.Positions(range(9), 1)
        description = _structures.RopeTableDescription(self.encoding.describe(place), 0, 1, 9, place.description)

        def make(device, rows):
            slots = _arrays.Slots()
            slots.put(_structures.ROPE_SLOT_ROWS, written=np.empty(rows, np.float32))
            device._run("Table", description, slots)

        for name in DEVICES:
            device = vkrope.Device(name)
            make(device, 576)
            self.refused(f"the array of slot {_structures.ROPE_SLOT_ROWS} has 2300 bytes; the description takes 2304", make, device, 575)
            description.positions.kind = _structures.ROPE_POSITIONS_PER_TOKEN
            self.refused(f"the array of slot {_structures.ROPE_SLOT_POSITIONS} has 0 bytes", make, device, 576)
            description.positions.kind = _structures.ROPE_POSITIONS_COUNTED


class Sentences(Case):
    def test_are_the_librarys(self):
        for config in ({**LLAMA, "rope_scaling": {"rope_type": "new"}}, {"model_type": "llama"}, {**LLAMA, "head_dim": 63},
                       {**LLAMA, "rope_theta": 0.5}):
            write(config)
            done = subprocess.run([*COMMAND, "frequencies", "--config", "config.json"], capture_output=True, text=True)
            if done.returncode == 2:
                theirs = done.stderr.strip().split("--config: config.json: ")[1]
                self.assertEqual(self.refused("", vkrope.read, config), theirs)
                self.assertEqual(self.refused("", vkrope.read, "config.json"), "config.json: " + theirs)
        write({**LLAMA, "rope_scaling": {"rope_type": "new"}})
        self.refused("new", vkrope.read, "config.json")
        self.assertRaises(FileNotFoundError, vkrope.read, "nowhere.json")

    def test_name_what_is_wrong(self):
        encoding, cpu = vkrope.read(LLAMA), vkrope.Device("cpu")
        x = random((2, 5, 3, 64))
        self.refused("no device matches 'nothing such'", vkrope.Device, "nothing such")
        self.refused("2147483648", cpu.rotate, encoding, x, 2**31)
        self.refused("2147483648", cpu.rotate, encoding, x, 2**31 - 4)
        self.refused("-2147483649", cpu.table, encoding, np.array([-2**31 - 1]))
        self.refused("not finite", cpu.table, encoding, np.array([1, np.nan]))
        self.refused("4 positions, but 5 tokens", cpu.rotate, encoding, x, range(4))
        self.refused("3 axes", cpu.table, encoding, np.zeros((3, 1, 4), int))
        self.refused("2 sequences", cpu.rotate, encoding, x, np.zeros((3, 5), int))
        self.refused("'half', 'interleaved'", cpu.rotate, encoding, x, 0, pairing="both")
        self.refused("'exact', 'compatible'", cpu.table, encoding, range(2), angle="rough")
        self.refused("no positions", cpu.table, encoding, range(0))
        self.refused("shape [2, 2]", vkrope.Encoding, np.zeros((2, 2)))
        self.refused("frequenc", cpu.table, vkrope.Encoding([np.inf]), range(2))


class Loading(Case):
    def load(self, change=None, **environment):
        """Imports a copy of the package, in which a file was changed."""
        os.makedirs("copy/vkrope", exist_ok=True)
        own = os.path.dirname(vkrope.__file__)
        for name in os.listdir(own):
            if name.endswith(".py"):
                with open(os.path.join(own, name), encoding="utf-8") as file, open("copy/vkrope/" + name, "w") as copy:
                    copy.write(change(file.read()) if change and name == "_structures.py" else file.read())
        library = {"VKROPE_PYTHON_LIBRARY": _library.library._name, "PYTHONPATH": os.path.abspath("copy")}
        return subprocess.run([sys.executable, "-B", "-c", "import vkrope; print(vkrope.Device('cpu').name)"],
                              capture_output=True, text=True, env={**ENVIRONMENT, **library, **environment})

    def test_takes_the_library_of_one_build_alone(self):
        done = self.load()
        self.assertEqual((done.returncode, done.stdout), (0, "cpu\n"), done.stderr)
        done = self.load(lambda text: text.replace("LAYOUTS = ", "LAYOUTS = 1 + "))
        self.assertIn("is of another build than", done.stderr)
        self.assertIn("take both from one build", done.stderr)

    def test_says_where_it_looked(self):
        done = self.load(VKROPE_PYTHON_LIBRARY="/nowhere/libvkrope_python.so")
        self.assertIn("ImportError: vkrope's library cannot be loaded: /nowhere/libvkrope_python.so", done.stderr)
        done = self.load(VKROPE_PYTHON_LIBRARY="")  # beside the files, where there is none
        self.assertIn(f"ImportError: vkrope's library cannot be loaded: {os.getcwd()}/copy/vkrope/libvkrope_python.so", done.stderr)
        done = self.load(VKROPE_PYTHON_LIBRARY="libc.so.6")
        self.assertIn("has no ropePythonLayouts", done.stderr)


class Threads(Case):
    def test_share_a_device(self):
        encoding = vkrope.read(LLAMA)
        arrays = [random((1, 64, 4, 64), seed=seed) for seed in range(2)]
        for name in DEVICES:
            device = vkrope.Device(name)
            wanted = [vkrope.Device("cpu").rotate(encoding, x, 9) for x in arrays]
            wrong = []

            def work(x, result):
                for _ in range(20):
                    if not same_bits(device.rotate(encoding, x, 9), result):
                        wrong.append(name)

            threads = [threading.Thread(target=work, args=pair) for pair in zip(arrays, wanted)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_run_while_the_library_works(self):
        x, encoding, cpu = random((1, 4096, 8, 64)), vkrope.read(LLAMA), vkrope.Device("cpu")
        worker = threading.Thread(target=cpu.rotate, args=(encoding, x, 0))
        begin = last = time.monotonic()
        longest = 0
        worker.start()
        while worker.is_alive():
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        self.assertLess(longest, (time.monotonic() - begin) / 2)


class Lengths(Case):
    def test_come_from_the_positions(self):
        write(LONGROPE)
        x = random((1, 5, 2, 64))
        np.save("q.npy", x)
        seen = []
        for config in (LONGROPE, "config.json"):
            encoding, cpu = vkrope.read(config), vkrope.Device("cpu")
            before = encoding.frequencies.copy()
            for positions, given in (("0:64", range(64)), ("0:65", range(65)), ("p.npy", np.array([3, 1, 400, 7, 2])),
                                     ("p.npy", np.array([3, 1, 63.5, 7, 2])), ("p.npy", np.array([0, 1, 62.5, 7, 2])),
                                     ("p.npy", np.array([-9, -1, -400, -7, -2]))):
                if positions == "p.npy":
                    np.save("p.npy", given)
                    run("rotate", "--config", "config.json", "--positions", "p.npy", "--q", "q.npy", "--q-out", "o.npy",
                        "--device", "cpu")
                    self.assertTrue(same_bits(cpu.rotate(encoding, x, given), np.load("o.npy")), given)
                    run("rotate", "--config", "config.json", "--positions", "p.npy", "--q", "q.npy", "--q-out", "o.npy",
                        "--device", "cpu", "--shift")
                    self.assertTrue(same_bits(cpu.rotate(encoding, x, given, operation="shift"), np.load("o.npy")), given)
                run("table", "--config", "config.json", "--positions", positions, "--cos", "c.npy", "--sin", "s.npy", "--device",
                    "cpu")
                cos, sin = cpu.table(encoding, given)
                self.assertTrue(same_bits(cos, np.load("c.npy")) and same_bits(sin, np.load("s.npy")), given)
                seen.append(cos.shape == (65, 32) and not np.array_equal(cos[:64], cpu.table(encoding, range(64))[0]))
            self.assertTrue(np.array_equal(encoding.frequencies, before))
            fixed = cpu.table(vkrope.read(config, length=64), range(65))[0]
            self.assertTrue(np.array_equal(fixed[:64], cpu.table(encoding, range(64))[0]))
            encoding.frequencies = np.ones(32)  # the caller's own stay
            self.assertTrue(np.array_equal(cpu.table(encoding, range(65))[0][:, 0], cpu.table(encoding, range(65))[0][:, 31]))
        self.assertEqual(sum(seen), 2)


class Latent(Case):
    def test_heads_are_split_or_whole(self):
        config = {"model_type": "deepseek_v3"}
        encoding, cpu = vkrope.read(config), vkrope.Device("cpu")
        write(config)
        for head_dim in (64, 192):
            x = random((1, 5, 2, head_dim))
            np.save("q.npy", x)
            run("rotate", "--config", "config.json", "--positions", "0:5", "--q", "q.npy", "--q-out", "o.npy", "--device", "cpu")
            self.assertTrue(same_bits(cpu.rotate(encoding, x, 0), np.load("o.npy")), head_dim)
        self.assertEqual((encoding.head_dim, encoding.nope_dim), (64, 128))
        self.refused("heads of 100 elements, but the encoding says 64, or 192 with the 128 before them", cpu.rotate, encoding,
                     random((1, 5, 2, 100)), 0)

    def test_lies_as_the_model_writes_it_once_it_is_turned(self):
        encoding = vkrope.read({"model_type": "deepseek_v3"})
        x = random((2, 5, 3, 64))
        for device in map(vkrope.Device, ["cpu", *DEVICES[1:2]]):
            there = device.rotate(encoding, x, 7)
            back = device.rotate(encoding, there, 7, operation="inverse")
            self.assertLess(np.abs(back - x).max(), 1e-5)
            self.assertFalse(same_bits(there, x))


class Encodings(Case):
    def test_say_which_layers_do_not_rotate(self):
        notes = vkrope.read({"model_type": "smollm3", "hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 4}).notes
        self.assertTrue(any("do not rotate" in note or "does not rotate" in note for note in notes), notes)

    def test_take_frequencies_of_other_types_and_counts_of_32_bits(self):
        encoding = vkrope.Encoding([1.0, 0.5, 0.25, 0.125])
        wanted = vkrope.Device("cpu").table(encoding, range(9))
        encoding.frequencies = encoding.frequencies.astype(np.float32)
        for got, array in zip(vkrope.Device("cpu").table(encoding, range(9)), wanted):
            self.assertTrue(same_bits(got, array))
        with self.assertRaisesRegex(vkrope.Refused, "rotary_dim is 4294967360"):
            vkrope.read(LLAMA, rotary_dim=2**32 + 64)
        with self.assertRaisesRegex(vkrope.Refused, "skip_first is -1"):
            vkrope.Encoding([1.0], skip_first=-1)


class Devices(Case):
    def test_are_closed(self):
        encoding = vkrope.Encoding([1.0])
        for name in DEVICES:
            with vkrope.Device(name) as device:
                device.table(encoding, range(3))
            self.refused("the device is closed", device.table, encoding, range(3))
            self.refused("the device is closed", device.rotate, encoding, random((1, 2, 1, 2)), 0)
            device.close()

    def test_have_names(self):
        self.assertEqual(vkrope.Device("cpu").name, "cpu")
        for name in DEVICES[1:]:
            device = vkrope.Device(int(name))
            self.assertTrue(device.name.startswith(name + " "), device.name)
            self.assertEqual(vkrope.Device(device.name.split()[1]).name.split()[1], device.name.split()[1])
        if DEVICES[1:]:
            self.assertIn(vkrope.Device().name[0], DEVICES)


if __name__ == "__main__":
    main()
