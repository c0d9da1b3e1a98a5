#!/usr/bin/env python3
"""far.py FOLDER WORDS: judges what far.cpp wrote into FOLDER for a model of WORDS words.

Positions say nothing alone, so the logits at a far offset, and behind a shift of the cache, are to be those at offset 0. The bound
is a mean square of 5e-6 of the logits' own for f16, and for a quantized type five times what the type itself does to f16's logits.
Exit status 1: a bound is passed."""
import array
import pathlib
import sys


def read(path):
    values = array.array("f")
    values.frombytes(path.read_bytes())
    return values


def mean_square(ours, theirs):
    return sum((a - b) ** 2 for a, b in zip(ours, theirs)) / sum(b * b for b in theirs)


def changed(ours, theirs, words):
    def likeliest(values):
        return [max(range(at, at + words), key=values.__getitem__) for at in range(0, len(values), words)]

    return sum(a != b for a, b in zip(likeliest(ours), likeliest(theirs)))


def main():
    folder, words = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    runs = {path.stem: read(path) for path in sorted(folder.glob("*.f32"))}
    failed = False
    print("| cache:offset:shift | mean square of the difference | bound | next tokens that change |\n|---|---|---|---|")
    for name, logits in runs.items():
        cache, offset, shift = name.split(":")
        if (offset, shift) == ("0", "0"):
            continue
        near = runs[f"{cache}:0:0"]
        bound = 5e-6 if cache == "f16" else 5 * mean_square(near, runs["f16:0:0"])
        found = mean_square(logits, near)
        failed |= not found <= bound or len(logits) != len(near)
        print(f"| {name} | {found:.1e} | {bound:.1e} | {changed(logits, near, words)} of {len(near) // words} |")
    return 1 if failed or len(runs) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
