import json
import os
import re
import sys

from bench_test import SMALL_BENCH
from program import RUN_SPOILED, SPOILED, run, test, vulkan_devices


@test
def tune_takes_what_is_surely_faster():
    found = vulkan_devices()
    if not found:
        sys.exit(77)
    arguments = ["bench", "--tune", "--tokens", "2", "--element", "f32", "--model", "qwen3-0.6b", "--rounds", "3", "--device", found[-1]]
    report = json.loads(run(*arguments, "--json")[0])
    row, = report["rows"]
    assert report["clock_watch"]["warm_ups"] >= 1, report
    assert 5 < row["tried"] <= 20 and row["own_us"] > 0 and row["best"] != row["own"], row
    sure = row["gain"]["low"] > max(row["noise"]["high"], 1.02)
    assert row["sure"] == sure and row["tuning"] == (row["best"] if sure else "{0, 0, 0}"), row
    tuning = row["best"].strip("{}").replace(" ", "")
    assert re.fullmatch(r"[1-9]\d*,[1248],4", tuning), row
    own = row["own"].strip("{}").replace(" ", "")
    assert re.fullmatch(r"[1-9]\d*,[1248],4", own), row
    for one in (tuning, own):
        run(*SMALL_BENCH, "--tuning", one, "--device", found[-1])
    text = run(*arguments)[0]
    assert "qwen3-0.6b/in-place/f32/half/inline" in text and re.search(r"(keep|\{.*\})\n$", text), text


@test
def tune_finds_a_spoiled_plan():
    found = vulkan_devices()
    if not found or not os.path.exists(SPOILED):
        sys.exit(77)
    command = f"{RUN_SPOILED} bench --tune --tokens 1 --rounds 1 --element bf16 --pairing interleaved --device {found[-1]}"
    text, errors = run(shell=command, status=1)
    assert "WRONG, not timed" in text and "1 of 1 cases have wrong results" in errors, text + errors
