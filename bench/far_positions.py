#!/usr/bin/env python3
"""Far positions in llama.cpp: the same text at an offset, where a model that turns by relative positions changes nothing.

    far_positions.py run FAR MODEL TEXT LOGITS --ggml FOLDER --vkrope FOLDER --out FILE.json [--caches LIST] [--offsets LIST]
                         [--layers attention]
    far_positions.py judge FOLDER
    far_positions.py draw FILE.json... --out PICTURE.svg

FAR is tests/engine/ggml/far.cpp, built; TEXT is a file or FILE:MOST, and --layers are what the GPU has, as FAR takes them. The
folders have libllama and its back ends, once with ggml's own shaders and once with vkrope. GGML_VK_VISIBLE_DEVICES and
VK_DRIVER_FILES name the device. `run` prints a table and writes its numbers; ggml's CPU part runs from the first folder. Logits
stay in the folder LOGITS, and what lies there is not run again. A model goes on behind three prompts too, by the likeliest token
each time (--greedy).

Each run stands beside the same back end at the first offset, and beside ggml's CPU part there. A cell has the largest difference
of a logit, the mean square of all beside the logits' own, how many next tokens change, and how many of these lie within the
difference. Of each prompt the table has how many tokens come before the first that differs; behind a / stand how far the two tokens
of that place lie apart, and the largest difference of a logit there.

`judge` takes what FAR wrote into FOLDER at offsets and behind shifts: the mean square of a change is at most 5e-6 for f16, and for
another cache five times what the cache's type does to f16's logits. Exit status 1: more. Python with NumPy, and matplotlib to
draw."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(print("far_positions.py: it takes NumPy, which this Python does not have", file=sys.stderr) or 2)

BACKENDS = {"ggml's CPU part": "ggml", "ggml's Vulkan part": "ggml", "vkrope": "vkrope"}
PROMPTS = ("The history of the lighthouse begins", "To bake bread at home, you need", "A star is born when a cloud of gas")
ROWS = 64  # of logits that are looked at at a time: a vocabulary may have 262 144 words


def logits(options, backend, texts, runs):
    """For each run, each text's tokens and the logits of all tokens, in files."""
    folder = pathlib.Path(options.logits, backend)
    of_text = [folder / pathlib.Path(text.split("+")[0]).stem for text in texts]
    missing = [run for run in runs if not all((of / (run + ".f32")).exists() for of in of_text)]
    if missing:
        layers = "0" if backend == "ggml's CPU part" else options.layers
        subprocess.run([options.far, options.model, layers, folder, ",".join(texts), *missing], check=True,
                       env={**os.environ, "LD_LIBRARY_PATH": getattr(options, BACKENDS[backend])})
    tokens = [np.fromfile(of / "tokens.i32", np.int32) for of in of_text]
    rows = [len(t) + more for t, more in zip(tokens, [0] + [options.greedy] * len(PROMPTS))]
    return [[(t, np.memmap(of / (run + ".f32"), np.float32).reshape(n, -1)) for of, t, n in zip(of_text, tokens, rows)]
            for run in runs]


def in_pieces(*arrays):
    for begin in range(0, len(arrays[0]), ROWS):
        yield [np.asarray(array[begin:begin + ROWS], np.float64) for array in arrays]


def perplexity(tokens, found):
    surprise = 0.0
    for rows, words in in_pieces(found[:-1], tokens[1:]):
        most = rows.max(axis=1)
        sums = np.log(np.exp(rows - most[:, None]).sum(axis=1)) + most
        surprise += (sums - rows[np.arange(len(rows)), words.astype(int)]).sum()
    return float(np.exp(surprise / (len(tokens) - 1)))


def beside(found, near):
    largest, squares, own, apart = 0.0, 0.0, 0.0, []
    for rows, near_rows in in_pieces(found, near):
        difference = rows - near_rows
        largest = max(largest, np.abs(difference).max())
        squares, own = squares + (difference**2).sum(), own + (near_rows**2).sum()
        changed = near_rows[rows.argmax(axis=1) != near_rows.argmax(axis=1)]
        two = np.partition(changed, -2, axis=1)[:, -2:]
        apart += list(two[:, 1] - two[:, 0])
    return {"largest": float(largest), "nmse": float(squares / own), "changed": len(apart),
            "changed_within_difference": sum(bool(a <= largest) for a in apart)}


def continued(found, near):
    """How many greedy tokens come before one that differs; there, how far apart the two lie, and the largest difference."""
    (tokens, found), (_, near) = found, near
    greedy = slice(len(tokens) - 1, len(near) - 1)
    words, near_words = found[greedy].argmax(axis=1), near[greedy].argmax(axis=1)
    differ = np.flatnonzero(words != near_words)
    if len(differ) == 0:
        return {"alike": len(words)}
    at, near_row = differ[0], near[greedy][differ[0]]
    return {"alike": int(at), "apart": float(near_row[near_words[at]] - near_row[words[at]]),
            "difference": float(np.abs(found[greedy][at] - near_row).max())}


def compare(found, near):
    return beside(found[0][1], near[0][1]), list(map(continued, found[1:], near[1:]))


def cells(text, greedy):
    cell = f"{text['largest']:.2g}, {text['nmse']:.1e}, {text['changed']}, {text['changed_within_difference']}"
    prompts = [f"{g['alike']}" + (f"/{g['apart']:.2g}/{g['difference']:.2g}" if "apart" in g else "") for g in greedy]
    return f"{cell} | {' '.join(prompts)}"


def run(options):
    texts = [options.text]
    pathlib.Path(options.logits).mkdir(parents=True, exist_ok=True)
    for i, prompt in enumerate(PROMPTS):
        pathlib.Path(options.logits, f"prompt{i}").write_text(prompt)
        texts.append(f"{options.logits}/prompt{i}+{options.greedy}")
    rows = []
    print("| cache | back end | offset | perplexity | beside the first offset | prompts | beside ggml's CPU part | prompts |")
    print("|---" * 8 + "|")
    for cache in options.caches.split(","):
        cpu = None
        for backend in BACKENDS:
            found = logits(options, backend, texts, [f"{cache}:{offset}:0" for offset in options.offsets.split(",")])
            cpu = cpu or found[0]
            for offset, of in zip(options.offsets.split(","), found):
                (near, alike), (to_cpu, alike_to_cpu) = compare(of, found[0]), compare(of, cpu)
                rows.append({"cache": cache, "backend": backend, "offset": int(offset), "tokens": len(of[0][0]),
                             "perplexity": perplexity(*of[0]), **near, "greedy": alike, "to_cpu": to_cpu,
                             "greedy_to_cpu": alike_to_cpu})
                print(f"| {cache} | {backend} | {offset} | {rows[-1]['perplexity']:.4f} | {cells(near, alike)} | "
                      f"{cells(to_cpu, alike_to_cpu)} |", flush=True)
                lines = ",\n  ".join(map(json.dumps, rows))
                text = f'{{"model": "{pathlib.Path(options.model).stem}", "rows": [\n  {lines}\n]}}\n'
                pathlib.Path(options.out).write_text(text)


def judge(options):
    folder = pathlib.Path(options.folder)
    tokens = len(np.fromfile(folder / "tokens.i32", np.int32))
    runs = {path.stem: np.fromfile(path, np.float32).reshape(tokens, -1) for path in sorted(folder.glob("*.f32"))}
    failed = False
    print("| cache:offset:shift | NMSE | bound | next tokens that change |\n|---|---|---|---|")
    for name, found in runs.items():
        near = runs[name.split(":")[0] + ":0:0"]
        if near is found:
            continue
        bound = 5e-6 if name.startswith("f16:") else 5 * beside(near, runs["f16:0:0"])["nmse"]
        row = beside(found, near)
        failed |= not row["nmse"] <= bound
        print(f"| {name} | {row['nmse']:.1e} | {bound:.1e} | {row['changed']} of {tokens} |")
    return 1 if failed or len(runs) < 2 else 0


def draw(options):
    try:
        import matplotlib
    except ImportError:
        raise ValueError("a picture takes matplotlib, which this Python does not have") from None
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    size = (5 * len(options.files), 3.6)
    figure, panels = plt.subplots(1, len(options.files), figsize=size, sharex=True, sharey=True, squeeze=False)
    for panel, path in zip(panels[0], options.files):
        told = json.loads(pathlib.Path(path).read_text())
        for backend, colour in zip(BACKENDS, ("#c44e52", "#dd8452", "#2a6f4e")):
            rows = [r for r in told["rows"] if r["backend"] == backend and r["cache"] == options.cache and r["offset"] != 0]
            panel.plot([r["offset"] for r in rows], [r["nmse"] for r in rows], marker="o", color=colour, label=backend)
        panel.set(xscale="log", yscale="log", title=f"{told['model']}, cache {options.cache}", xlabel="offset of all positions")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("mean square of the logits' change")
    panels[0][0].legend()
    figure.tight_layout()
    figure.savefig(options.out, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("run")
    for name in ("far", "model", "text", "logits"):
        command.add_argument(name)
    for name in ("ggml", "vkrope", "out"):
        command.add_argument("--" + name, required=True)
    command.add_argument("--caches", default="f16,q8_0,q4_0")
    command.add_argument("--offsets", default="0,100000,1000000")
    command.add_argument("--layers", default="99")
    command.add_argument("--greedy", type=int, default=64)
    command.set_defaults(run=run)
    command = commands.add_parser("judge")
    command.add_argument("folder")
    command.set_defaults(run=judge)
    command = commands.add_parser("draw")
    command.add_argument("files", nargs="+")
    command.add_argument("--out", required=True)
    command.add_argument("--cache", default="f16")
    command.set_defaults(run=draw)
    options = parser.parse_args()
    try:
        return options.run(options) or 0
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        print(f"far_positions.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
