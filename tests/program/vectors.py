"""Arrays that other projects' code has made."""
import json
import os

import numpy as np

from program import PROGRAM

ONNX = os.path.join(os.path.dirname(PROGRAM), "unpacked", "data", "onnx")  # the build unpacks it
DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


def cases_of(folder):
    """Each case of the folder's manifest with its arrays, bfloat16 left out."""
    with open(os.path.join(DATA, folder, "manifest.json")) as file:
        manifest = json.load(file)
    with open(os.path.join(DATA, folder, "data.bin"), "rb") as file:
        data = file.read()
    for case in manifest["cases"]:
        yield case, {name: np.frombuffer(data, t["dtype"], int(np.prod(t["shape"])), t["offset"]).reshape(t["shape"])
                     for name, t in case["tensors"].items() if not t["dtype"].startswith("bf16")}
