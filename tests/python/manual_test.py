#!/usr/bin/env python3
"""The code of docs/python.md runs as it stands there, from the first block to the last. See case.py."""
import os
import re
import shlex

from case import Case, main, needs, np

MANUAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")


class Manual(Case):
    def test_runs(self):
        with open(MANUAL, encoding="utf-8") as file:
            text = file.read()
        names, done = {}, 0
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
            self.assertEqual(language, "python")
            exec(compile(block, "docs/python.md", "exec"), names)
            done += 1
        self.assertGreater(done, 2)
        self.assertLess(names["error"], 0.02)

    def test_has_commands_that_run(self):
        with open(MANUAL, encoding="utf-8") as file:
            lines = re.findall(r"^    python3 -m vkrope (.*?)(?: +#.*)?$", file.read(), re.M)
        self.assertGreater(len(lines), 5)
        with open("config.json", "w") as file:
            file.write('{"model_type": "llama", "head_dim": 128, "rope_theta": 500000}')
        rng = np.random.default_rng(1)
        np.save("q.npy", rng.random((1, 4096, 2, 128), np.float32))
        np.save("k.npy", rng.random((64, 2, 128), np.float32))
        with open("report.json", "w") as file:
            file.write('{"device": {"name": "A"}, "rows": [{"element": "f32", "bytes": 9, "us": {"median": 1}}]}')
        for line in lines:
            words = shlex.split(line)
            if words[0] == "plot":
                needs("matplotlib")
            if ".safetensors" in line:
                needs("safetensors")
                from safetensors_files import save_safetensors
                save_safetensors("model.safetensors", {"model.layers.0.self_attn.q_proj.weight": ("BF16", np.zeros((128 * 32, 8)))})
            self.command(*words)


if __name__ == "__main__":
    main()
