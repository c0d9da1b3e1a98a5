import json
import os
import subprocess
import sys

from model import write_config
from program import COMMAND, LIMIT, run, test, vulkan_devices


@test
def without_a_driver_the_cpu_is_named():
    write_config()
    table = ["table", "--config", "config.json", "--positions", "0:4", "--cos", "c.npy", "--sin", "s.npy"]
    for command, sentence in [(table, "; --device cpu needs no driver and gives the same bits\n"),
                              (["devices"], "; other commands need none with --device cpu\n"),
                              (["check", "--quick"], "GPU's driver\n")]:  # it takes no CPU
        done = subprocess.run([*COMMAND, *command], capture_output=True, text=True, timeout=LIMIT,
                              env={**os.environ, "VK_ICD_FILENAMES": "none.json", "VK_DRIVER_FILES": "none.json"})
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and done.stderr.endswith(sentence), done.stderr
        assert "install" in done.stderr, done.stderr
    run(*table, "--device", "cpu")


@test
def devices_are_named():
    found = vulkan_devices()
    if not found:
        sys.exit(77)
    text = run("devices")[0]
    for device in json.loads(run("devices", "--json")[0]):
        assert device["name"] in text
        if device["usable"]:
            assert device["rounding"] in ("nearest", "other")
            assert set(device["offers"]) == {"push_descriptors", "storage_16", "pipeline_robustness"}, device
            assert all(isinstance(has, bool) for has in device["offers"].values()), device
            assert device["limits"]["storage_range"] >= 2**27
            assert device["driver"] is not None
