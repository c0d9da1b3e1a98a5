import json
import sys

from program import run, test, vulkan_devices


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
            assert isinstance(device["offers"]["push_descriptors"], bool)
            assert device["limits"]["storage_range"] >= 2**27
            assert device["driver"] is not None
