"""Writes .gguf files of a few keys and tensors."""
import struct


def text_of(value):
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(architecture, keys, tensors):
    """Keys hold uint32, tensors float32 of one dimension."""
    pairs = [text_of("general.architecture") + struct.pack("<I", 8) + text_of(architecture)]
    pairs += [text_of(f"{architecture}.{name}") + struct.pack("<II", 4, value) for name, value in keys.items()]
    told, data = [], b""
    for name, values in tensors.items():
        told.append(text_of(name) + struct.pack("<IQIQ", 1, len(values), 0, len(data)))
        data += struct.pack(f"<{len(values)}f", *values)
        data += b"\0" * (-len(data) % 32)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(told), len(pairs)) + b"".join(pairs + told)
    return header + b"\0" * (-len(header) % 32) + data
