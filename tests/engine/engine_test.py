#!/usr/bin/env python3
"""engine_test.py difference FOLDER: what RoPE adds to the engine, as formatted lines.
engine_test.py cache ENGINE DEVICE: the engine's pipeline cache, whatever its file holds."""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
MOST_LINES = 59
RUNNER = [*filter(None, os.environ.get("VKROPE_TEST_RUNNER", "").split(";"))]  # an emulator


def part(source, with_rope):
    """The source as it is with ENGINE_ROPE or without, and no condition left in it."""
    lines, inside = [], False
    for line in source.splitlines():
        if re.match(r"#\s*if", line):
            assert line == "#ifdef ENGINE_ROPE" and not inside, line
            inside = True
        elif re.match(r"#\s*endif", line):
            inside = False
        elif re.match(r"#\s*el", line):
            raise AssertionError(line)
        elif with_rope or not inside:
            lines.append(line)
    assert not inside
    return "\n".join(lines) + "\n"


def formatted(source, folder):
    style = pathlib.Path(folder).resolve().parents[1] / ".clang-format"
    done = subprocess.run(["clang-format", f"--style=file:{style}"], input=source, text=True, check=True,
                          stdout=subprocess.PIPE)
    return done.stdout.splitlines()


def difference(folder):
    if not shutil.which("clang-format"):
        print("no clang-format")
        return SKIPPED
    added, removed = [], []
    for path in sorted(pathlib.Path(folder).glob("*.[ch]pp")):
        source = path.read_text()
        if "ENGINE_ROPE" not in source:
            assert "rope.h" not in source, f"{path} takes vkrope outside of the condition"
            continue
        plain, with_rope = (formatted(part(source, rope), folder) for rope in (False, True))
        for line in difflib.unified_diff(plain, with_rope, n=0, lineterm=""):
            if re.match(r"\+(?!\+\+ )", line):
                added.append(line[1:])
            elif re.match(r"-(?!-- )", line):
                removed.append(line[1:])
    print("\n".join(added))
    print(f"{len(added)} lines more, {len(removed)} fewer")
    headers = [line for line in added if "#include" in line]
    assert headers == ['#include <vkrope/rope.h>'], headers
    assert added and not removed and len(added) <= MOST_LINES
    return 0


def run(engine, device, cache, *more):
    done = subprocess.run([*RUNNER, engine, "--device", device, "--frames", "4", "--cache", cache, *more], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    print(done.stdout, done.stderr, sep="")
    if done.returncode == SKIPPED:
        sys.exit(SKIPPED)
    assert done.returncode == 0, done.returncode
    return int(re.search(r"(\d+) bytes of pipeline cache read", done.stdout).group(1)), done.stderr


def cache(engine, device):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "pipelines"
        assert run(engine, device, file)[0] == 0
        whole = file.read_bytes()
        assert run(engine, device, file)[0] > 0, "a cache that was written is read"

        another_driver = bytearray(whole)
        another_driver[8] ^= 1
        damaged = bytearray(whole)
        damaged[-1] ^= 1
        for name, content in {"nothing": b"", "cut short": whole[:-1], "garbage": bytes(range(256)) * 64,
                              "of another driver": bytes(another_driver), "damaged": bytes(damaged)}.items():
            print(f"-- {name}")
            file.write_bytes(content)
            assert run(engine, device, file, "--validate")[0] == 0, name
            assert file.stat().st_size >= 80 and file.read_bytes() != content, "it is written anew"
            assert os.listdir(folder) == ["pipelines"], "nothing half made stays"

        print("-- a place that cannot be written")
        assert "could not be written" in run(engine, device, pathlib.Path(folder) / "none" / "pipelines")[1]
    return 0


if __name__ == "__main__":
    sys.exit({"difference": difference, "cache": cache}[sys.argv[1]](*sys.argv[2:]))
