#!/usr/bin/env python3
"""Compares what `vkrope bench` of two builds measures, run in turns, so that disturbances of the machine hit both alike.

    bench/compare.py OLD NEW [--pairs 21] [--limit 1.03] [OPTION...]

OLD and NEW are programs vkrope, and further options are those of `vkrope bench`. The script prints for each case the median
times, and the median of the pairs' ratios. The exit status is 1 where one is above --limit."""
import argparse
import itertools
import json
import statistics
import subprocess
import sys

CASES = ["--place", "in-place", "--tokens", "1,512,4096"]


def times(program, arguments):
    run = subprocess.run([program, "bench", "--json", *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"compare.py: {program} ended with {run.returncode}: {run.stderr.strip()}")
    named = {}
    for row in json.loads(run.stdout)["rows"]:
        labels = itertools.takewhile(lambda entry: entry[0] != "verified", row.items())
        if "us" in row:
            named[" ".join(str(value) for _, value in labels)] = row["us"]["median"]
    return named


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=21)
    parser.add_argument("--limit", type=float, default=1.03)
    options, arguments = parser.parse_known_args()
    found = {}
    for pair in range(options.pairs):
        sides = [("old", options.old), ("new", options.new)]
        for side, program in sides if pair % 2 == 0 else reversed(sides):
            for name, time in times(program, arguments or CASES).items():
                found.setdefault(name, {"old": [], "new": []})[side].append(time)
    slower = False
    for name, sides in found.items():
        if not sides["old"] or not sides["new"]:
            print(f"{name:46} only in the {'new' if sides['new'] else 'old'} program")
            continue
        ratio = statistics.median(new / old for old, new in zip(sides["old"], sides["new"]))
        slower |= ratio > options.limit
        old, new = (statistics.median(sides[side]) for side in ("old", "new"))
        print(f"{name:46} {old:10.1f} us {new:10.1f} us  ratio {ratio:.3f}")
    sys.exit(slower)


if __name__ == "__main__":
    main()
