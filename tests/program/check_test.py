import os
import re
import sys

from program import RUN_SPOILED, SPOILED, run, test, vulkan_devices


@test
def check_passes_on_every_device():
    found = vulkan_devices()
    if not found:
        sys.exit(77)
    for device in found[:-1] or found:  # the report of GpuScriptLeavesAReportOfADevice has the last one's check
        text, errors = run("check", "--quick", "--device", device)
        assert errors == "" and "none missed" in text, text + errors


@test
def check_finds_a_spoiled_plan():
    """Interleaved bfloat16 is turned the wrong way: those rows alone miss."""
    found = vulkan_devices()
    if not found or not os.path.exists(SPOILED):
        sys.exit(77)
    text, errors = run(shell=f"{RUN_SPOILED} check --quick --device {found[-1]}", status=1)
    missed = [line for line in text.splitlines() if line.endswith("MISSED")]
    assert missed and all(" to bf16, " in line for line in missed), text
    assert "none missed" not in text
    lines = errors.splitlines()
    assert 2 <= len(lines) <= 6 and all("miss: " in line and "interleaved out" in line for line in lines[:-1]), errors
    assert re.fullmatch(r"vkrope check: \d+ of \d+ cases missed", lines[-1]), errors
