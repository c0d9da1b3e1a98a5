#!/usr/bin/env python3
"""Far positions in llama.cpp: the same text at an offset, where a model that turns by relative positions changes nothing.

    far_positions.py run FAR MODEL TEXT --ggml FOLDER --vkrope FOLDER --out FILE.json [--caches LIST] [--offsets LIST]
    far_positions.py judge FOLDER
    far_positions.py draw FILE.json... --out PICTURE.svg

FAR is tests/engine/ggml/far.cpp, built; TEXT is a file, FILE:MOST or a number, as it takes it. The folders have libllama and its
back ends, once with ggml's own shaders and once with vkrope. GGML_VK_VISIBLE_DEVICES and VK_DRIVER_FILES name the device. `run`
prints a table and writes its numbers; ggml's CPU part runs from the first folder. `judge` takes what FAR wrote into FOLDER at offsets
and behind shifts: the mean square of a change is at most 5e-6 for f16, and for another cache five times what the cache's type does to
f16's logits. Exit status 1: more. Python with NumPy, and matplotlib to draw."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

BACKENDS = {"ggml's CPU part": ("ggml", 0), "ggml's Vulkan part": ("ggml", 99), "vkrope": ("vkrope", 99)}


def logits(options, folder, backend, run):
    libraries, layers = BACKENDS[backend]
    subprocess.run([options.far, options.model, str(layers), options.text, "0", folder, run], check=True,
                   env={**os.environ, "LD_LIBRARY_PATH": getattr(options, libraries)})
    path = pathlib.Path(folder, run + ".f32")
    tokens = np.fromfile(pathlib.Path(folder, "tokens.i32"), np.int32)
    found = np.fromfile(path, np.float32).reshape(len(tokens), -1)
    path.unlink()
    return tokens, found


def perplexity(tokens, found):
    rows = found[:-1].astype(np.float64)
    most = rows.max(axis=1)
    sums = np.log(np.exp(rows - most[:, None]).sum(axis=1)) + most
    return float(np.exp((sums - rows[np.arange(len(rows)), tokens[1:]]).mean()))


def beside(found, near):
    difference = found.astype(np.float64) - near
    two = np.partition(near, -2, axis=1)[:, -2:]
    changed = found.argmax(axis=1) != near.argmax(axis=1)
    close = two[:, 1] - two[:, 0] <= np.abs(difference).max()
    return {"largest": float(np.abs(difference).max()), "nmse": float((difference**2).sum() / (near.astype(np.float64) ** 2).sum()),
            "changed": int(changed.sum()), "changed_within_difference": int((changed & close).sum())}


def run(options):
    rows = []
    print("| cache | back end | offset | perplexity | largest difference of a logit to offset 0 | NMSE | next tokens that change |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for cache in options.caches.split(","):
            of_cpu = None
            for backend in BACKENDS:
                near = None
                for offset in map(int, options.offsets.split(",")):
                    tokens, found = logits(options, folder, backend, f"{cache}:{offset}:0")
                    near = found if near is None else near
                    of_cpu = found if of_cpu is None else of_cpu
                    row = {"cache": cache, "backend": backend, "offset": offset, "tokens": len(tokens),
                           "perplexity": perplexity(tokens, found), **beside(found, near)}
                    if offset == 0:
                        row["to_cpu"] = beside(found, of_cpu)
                    rows.append(row)
                    print(f"| {cache} | {backend} | {offset} | {row['perplexity']:.4f} | {row['largest']:.3g} | {row['nmse']:.1e} | "
                          f"{row['changed']} of {row['tokens']} |", flush=True)
    text = json.dumps({"model": pathlib.Path(options.model).stem, "rows": rows}, indent=1)
    pathlib.Path(options.out).write_text(text + "\n")


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
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    figure, panels = plt.subplots(1, len(options.files), figsize=(5 * len(options.files), 3.6), sharey=True, squeeze=False)
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
    for name in ("far", "model", "text"):
        command.add_argument(name)
    for name in ("ggml", "vkrope", "out"):
        command.add_argument("--" + name, required=True)
    command.add_argument("--caches", default="f16,q8_0,q4_0")
    command.add_argument("--offsets", default="0,100000,1000000")
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
