#!/usr/bin/env python3
"""python -m vkrope plot: the pictures are well formed, name what they show, and show what was measured. See case.py."""
import math
import os
import xml.etree.ElementTree

from case import LLAMA, Case, main, needs, np, vkrope, write
from model import random

LLAMA3 = {**LLAMA, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                    "original_max_position_embeddings": 8192}}


def row(element, tokens, us, copy_us):
    return {"model": "llama3-8b", "element": element, "tokens": tokens, "verified": True, "bytes": 1000 * tokens,
            "us": {"low": us, "median": us, "high": us}, "best_copy": "copy_2",
            "beside": [{"name": "copy_2", "us": {"median": copy_us}}, {"name": "negate", "us": {"median": 1.0}}]}


def lines_of(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


class Pictures(Case):
    def setUp(self):
        super().setUp()
        needs("matplotlib")
        os.mkdir("long & wide")
        write(LLAMA3, "long & wide/config.json")
        write(LLAMA, "plain.json")

    def draw(self, *arguments):
        """An SVG, the same twice."""
        self.command("plot", *arguments, "-o", "out.svg")
        with open("out.svg", "rb") as file:
            text = file.read()
        words = "".join(xml.etree.ElementTree.fromstring(text).itertext())
        self.assertNotIn("nan", words)
        return text, words

    def test_of_models_name_them(self):
        for kind in ("accuracy", "frequencies"):
            words = self.draw(kind, "--config", "plain.json", "--config", "long & wide/config.json")[1]
            self.assertTrue("long & wide (llama3)" in words and "plain.json (default)" in words, kind)

    def test_are_the_same_bytes_again(self):
        self.assertEqual(self.draw("frequencies", "--config", "plain.json")[0], self.draw("frequencies", "--config", "plain.json")[0])
        for name in ("out.png", "out.pdf"):
            self.command("plot", "frequencies", "--config", "plain.json", "-o", name)
            self.assertGreater(os.path.getsize(name), 5000)

    def test_of_accuracy_show_the_promise_and_what_float32_loses(self):
        shown = lines_of(vkrope.plot.accuracy({"it": vkrope.read(LLAMA3)}))
        self.assertLess(max(shown["it, vkrope"].get_ydata()), 2.0 ** -24.9)
        theirs = shown["it, float32 angles"].get_ydata()
        self.assertTrue(theirs[0] < 1e-7 and 1e-3 < theirs[16] < 1e-2 and theirs[-1] > 0.5, theirs)

    def test_of_frequencies_show_the_wavelengths(self):
        shown = lines_of(vkrope.plot.frequencies({"it": vkrope.Encoding([1.0, 0.5, 0.0])}))
        self.assertEqual(list(shown), ["it, 1 of 3 never turn"])
        self.assertEqual(shown["it, 1 of 3 never turn"].get_ydata().tolist(), [2 * math.pi, 4 * math.pi])

    def test_of_bandwidth_show_reports_and_their_roof(self):
        rows = [row("f32", 1, 2.0, 1.0), row("f32", 8, 4.0, 2.0), row("f16", 8, 5.0, 4.0), {"element": "bf16", "tokens": 8, "untimed": "noise"}]
        write({"device": {"name": "Pretender 9"}, "rows": rows}, "one.json")
        write({"device": {"name": "Other"}, "rows": rows[:1]}, "two.json")
        shown = lines_of(vkrope.plot.bandwidth(["one.json"]))
        self.assertEqual(sorted(shown), ["f16", "f32", "the fastest copy"])
        self.assertEqual(shown["f32"].get_xydata().tolist(), [[0.001, 0.5], [0.008, 2.0]])
        self.assertEqual(shown["the fastest copy"].get_xydata().tolist(), [[0.001, 1.0], [0.008, 4.0]])
        words = self.draw("bandwidth", "one.json", "two.json")[1]
        self.assertTrue("Pretender 9, f32" in words and "Other, the fastest copy" in words, words)

    def test_of_caches_show_what_hadamard_blocks_are_for(self):
        k = random((64, 2, 128))
        k[..., 5] *= 30
        write({**LLAMA, "head_dim": 128})
        np.save("k.npy", k)
        words = self.draw("caches", "--k", "k.npy", "--config", "config.json")[1]
        self.assertTrue("q8_0, 8.5 bits" in words and "with Hadamard blocks" in words)
        errors = vkrope.plot.cache_errors(k)
        self.assertLess(errors["q8_0"][0], errors["q4_0"][0])
        self.assertLess(errors["q4_0"][1], errors["q4_0"][0] / 2)
        self.assertEqual(list(vkrope.plot.cache_errors(random((4, 2, 24)))), ["f16", "bf16", "int8", "f8_e4m3", "f8_e5m2"])

    def test_are_refused_in_one_sentence(self):
        for text in ("", "[]", "{}", '{"device": {"name": "x"}, "rows": 3}', '{"device": {"name": "x"}, "rows": [{"us": 3, "bytes": 1}]}'):
            with open("bad.json", "w") as file:
                file.write(text)
            self.command_refused("bad.json is no report; vkrope bench --json prints one", "plot", "bandwidth", "bad.json", "-o", "o.svg")
        write({"device": {"name": "x"}, "rows": []}, "bad.json")
        self.command_refused("has no row that was timed", "plot", "bandwidth", "bad.json", "-o", "o.svg")
        np.save("k.npy", np.zeros((4, 2, 64), np.float32))
        for arguments, sentence in ((["accuracy", "-o", "o.svg"], "--config"), (["ladder", "-o", "o.svg"], "ladder"),
                                    (["frequencies", "--config", "plain.json", "-o", "o.gif"], "written to .svg, .png or .pdf"),
                                    (["frequencies", "--config", "plain.json", "-o", "none/o.svg"], "No such file"),
                                    (["frequencies", "--config", "none.json", "-o", "o.svg"], "none.json: No such file"),
                                    (["caches", "--k", "k.npy", "-o", "o.svg"], "nothing but zeros"),
                                    (["bandwidth", "-o", "o.svg"], "REPORT.json")):
            self.command_refused(sentence, "plot", *arguments)


if __name__ == "__main__":
    main()
