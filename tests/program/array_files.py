"""Files of arrays in the formats of others, by Python's standard library alone."""
import io
import json
import struct
import zipfile
import zlib

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?", "C64": "<c8"}
BYTES = ["F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"]  # types that NumPy lacks


def save_safetensors(path, tensors, metadata=None):
    """tensors: name to (dtype, array), the array with the bits of what NumPy lacks."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, array) in tensors.items():
        bits = np.ascontiguousarray(array).astype(DTYPES.get(dtype, "u1"), copy=False).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(bits)]}
        data += bits
    save_header(path, header, data)


def save_header(path, header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
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


def save_streamed_npz(path, **arrays):
    """As into a pipe: sizes stand behind the data and in the directory, and not before the data."""
    class Pipe:
        def __init__(self, file):
            self.write, self.flush = file.write, file.flush

    with open(path, "wb") as file, zipfile.ZipFile(Pipe(file), "w") as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w") as member:
                np.lib.format.write_array(member, array)


def zip64(array, size=None, at=None, field=None, locator=b"PK\6\7", end=b"PK\6\6", whole=None):
    """An .npz of one member q whose every number stands in the fields for 64 bits, as in an archive of more than 4 GiB.
    The options put other things in their places."""
    file = io.BytesIO()
    np.save(file, array)
    data, no32 = file.getvalue(), 0xFFFFFFFF
    size = len(data) if size is None else size
    checks = struct.pack("<IIIHH", zlib.crc32(data), no32, no32, 5, 20)
    body = b"PK\3\4" + struct.pack("<HHHHH", 45, 0, 0, 0, 0) + checks + b"q.npy"
    body += struct.pack("<HHQQ", 1, 16, size, size) + data
    if field is None:
        field = struct.pack("<HHIHHQQQ", 7, 4, 0, 1, 24, size, size, 0)  # behind another's field
    entry = b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 45, 45, 0, 0, 0, 0, zlib.crc32(data), no32, no32, 5,
                                    len(field), 0, 0, 0, 0, no32) + b"q.npy" + field
    records = end + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 1, 1, len(entry) if whole is None else whole,
                                len(body) if at is None else at)
    records += locator + struct.pack("<IQI", 0, len(body) + len(entry), 1)
    return body + entry + records + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, no32, no32, 0)
