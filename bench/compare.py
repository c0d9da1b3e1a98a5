#!/usr/bin/env python3
"""Compares two builds of the bench, run in turns, so that disturbances of the machine hit both alike.

    bench/compare.py OLD NEW [--pairs 21] [--filter REGEX]

OLD and NEW are vkrope-bench programs. The script prints for each case the median times, and the median of the pairs'
ratios. The exit status is 1 where one is above --limit."""
import argparse
import json
import statistics
import subprocess
import sys


def times(program, pattern):
    arguments = [program, f"--benchmark_filter={pattern}", "--benchmark_min_time=0.2", "--benchmark_format=json"]
    run = subprocess.run(arguments, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"compare.py: {program} ended with {run.returncode}: {run.stderr.strip()}")
    report = json.loads(run.stdout[run.stdout.index("{"):])
    return {case["name"]: case["real_time"] for case in report["benchmarks"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=21)
    parser.add_argument("--filter", default="rotate/llama3-8b/in-place/.*/half/.*/(1|512|4096)/")
    parser.add_argument("--limit", type=float, default=1.03)
    options = parser.parse_args()
    found = {}
    for pair in range(options.pairs):
        sides = [("old", options.old), ("new", options.new)]
        for side, program in sides if pair % 2 == 0 else reversed(sides):
            for name, time in times(program, options.filter).items():
                found.setdefault(name, {"old": [], "new": []})[side].append(time)
    slower = False
    for name, sides in found.items():
        if not sides["old"] or not sides["new"]:
            print(f"{name:36} only in the {'new' if sides['new'] else 'old'} program")
            continue
        ratio = statistics.median(new / old for old, new in zip(sides["old"], sides["new"]))
        slower |= ratio > options.limit
        old, new = (statistics.median(sides[side]) / 1000 for side in ("old", "new"))
        print(f"{name:36} {old:10.1f} us {new:10.1f} us  ratio {ratio:.3f}")
    sys.exit(slower)


if __name__ == "__main__":
    main()
