"""Writes and reads .safetensors by the format's own rules, without its library."""
import json
import struct

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?", "C64": "<c8"}


def save_safetensors(path, tensors, metadata=None):
    """tensors: name to (dtype, array), the array with the bits of what NumPy lacks."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, array) in tensors.items():
        bits = np.ascontiguousarray(array).astype(DTYPES.get(dtype, "u1"), copy=False).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(bits)]}
        data += bits
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def load_safetensors(path):
    """Returns name to (dtype, array), and the metadata, and holds the file against the format's rules."""
    with open(path, "rb") as file:
        whole = file.read()
    length = struct.unpack("<Q", whole[:8])[0]
    assert length % 8 == 0 and whole[8:9] == b"{", path
    header, data = json.loads(whole[8:8 + length]), whole[8 + length:]
    metadata, tensors, end = header.pop("__metadata__", None), {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        assert first == end, f"{path}: a hole before {name}"
        end = last
        array = np.frombuffer(data[first:last], DTYPES.get(entry["dtype"], "u1"))
        tensors[name] = entry["dtype"], array.reshape(entry["shape"])
    assert end == len(data), f"{path}: {len(data) - end} bytes too many"
    return tensors, metadata
