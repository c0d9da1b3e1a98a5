"""The formats of caches, and how their elements are widened."""
from dataclasses import dataclass
from typing import Callable, Dict, NamedTuple, Optional

import numpy as np

from . import _structures as c
from ._library import Refused, choose


class Format(NamedTuple):
    element: int
    dtype: str       # of the array that has it
    elements: int    # of a block
    bytes: int       # of a block
    scaled: bool     # a float32 stands beside each head


FORMATS: Dict[str, Format] = {
    "f32": Format(c.ROPE_ELEMENT_F32, "float32", 1, 4, False),
    "f16": Format(c.ROPE_ELEMENT_F16, "float16", 1, 2, False),
    "bf16": Format(c.ROPE_ELEMENT_BF16, "uint16", 1, 2, False),
    "q8_0": Format(c.ROPE_ELEMENT_Q8_0, "uint8", 32, 34, False),
    "q5_1": Format(c.ROPE_ELEMENT_Q5_1, "uint8", 32, 24, False),
    "q5_0": Format(c.ROPE_ELEMENT_Q5_0, "uint8", 32, 22, False),
    "q4_1": Format(c.ROPE_ELEMENT_Q4_1, "uint8", 32, 20, False),
    "q4_0": Format(c.ROPE_ELEMENT_Q4_0, "uint8", 32, 18, False),
    "iq4_nl": Format(c.ROPE_ELEMENT_IQ4_NL, "uint8", 32, 18, False),
    "int8": Format(c.ROPE_ELEMENT_I8, "int8", 1, 1, True),
    "f8_e4m3": Format(c.ROPE_ELEMENT_F8_E4M3, "uint8", 1, 1, True),
    "f8_e5m2": Format(c.ROPE_ELEMENT_F8_E5M2, "uint8", 1, 1, True),
}


@dataclass(frozen=True)
class Cache:
    """K or V as a cache has it. The last axis of `data` is a head: its elements, or its blocks' bytes. `scales` has
    the scales of int8 and float8, one for each head of each token."""
    data: np.ndarray
    format: str
    scales: Optional[np.ndarray] = None


def dequantize(cache: Cache) -> np.ndarray:
    """The elements in float32, [..., dim]: an integer times its scale, plus the minimum; float8 times its scale."""
    if not isinstance(cache, Cache):
        raise Refused(f"the cache is of the type {type(cache).__name__}; vkrope.Cache(data, format, scales) is one")
    kind, data = choose("format", FORMATS, cache.format), cache.data
    if not isinstance(data, np.ndarray) or data.dtype.name != kind.dtype or data.ndim == 0:
        held = data.dtype if isinstance(data, np.ndarray) else type(data).__name__
        raise Refused(f"a cache of {cache.format} has an array of {kind.dtype}; this one is of {held}")
    if kind.elements > 1 and data.shape[-1] % kind.bytes:
        raise Refused(f"a head of {cache.format} has blocks of {kind.bytes} bytes; this one has {data.shape[-1]} bytes")
    if kind.elements > 1:
        return _of_blocks(np.ascontiguousarray(data), cache.format)
    return _widened(data, cache.format) * _scales_of(cache) if kind.scaled else _widened(data, cache.format)


def _scales_of(cache: Cache) -> np.ndarray:
    heads = cache.data.shape[:-1]
    if not isinstance(cache.scales, np.ndarray) or cache.scales.shape != heads or cache.scales.dtype != np.float32:
        raise Refused(f"a cache of {cache.format} has float32 scales of the shape {list(heads)}, one for each head")
    return cache.scales[..., None]


def _widened(data: np.ndarray, name: str) -> np.ndarray:
    if name == "bf16":
        return (data.astype(np.uint32) << 16).view(np.float32)
    return _FLOAT8[name][data] if name in _FLOAT8 else data.astype(np.float32)


def _float8(mantissa_bits: int, bias: int, finite: bool) -> np.ndarray:
    """The 256 codes stand for these numbers."""
    code = np.arange(256)
    exponent, mantissa = code % 128 >> mantissa_bits, code % 2**mantissa_bits / 2**mantissa_bits
    value = np.where(exponent == 0, mantissa * 2.0**(1 - bias), (1 + mantissa) * 2.0**(exponent - bias))
    top = exponent == exponent.max()
    if finite:
        value[code % 128 == 127] = np.nan
    else:
        value[top] = np.where(mantissa[top] == 0, np.inf, np.nan)
    return np.where(code < 128, value, -value).astype(np.float32)


_FLOAT8 = {"f8_e4m3": _float8(3, 7, True), "f8_e5m2": _float8(2, 15, False)}
_CODES = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)


def _nibbles(block: np.ndarray) -> np.ndarray:
    """Element i has the low half of byte i, element 16 + i the high half."""
    return np.concatenate([block & 15, block >> 4], -1)


def _fifth_bits(block: np.ndarray) -> np.ndarray:
    return np.unpackbits(block, axis=-1, bitorder="little") << 4


# These make numbers of the bytes behind scale and minimum.
_INTEGERS: Dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "q8_0": lambda block: block.view(np.int8).astype(np.float32),
    "q4_0": lambda block: _nibbles(block).astype(np.float32) - np.float32(8),
    "q4_1": lambda block: _nibbles(block).astype(np.float32),
    "q5_0": lambda block: (_nibbles(block[..., 4:]) | _fifth_bits(block[..., :4])).astype(np.float32) - np.float32(16),
    "q5_1": lambda block: (_nibbles(block[..., 4:]) | _fifth_bits(block[..., :4])).astype(np.float32),
    "iq4_nl": lambda block: _CODES[_nibbles(block)],
}


def _of_blocks(data: np.ndarray, name: str) -> np.ndarray:
    kind = FORMATS[name]
    blocks = data.reshape(*data.shape[:-1], -1, kind.bytes)
    has_minimum = name.endswith("_1")

    def half(at: int) -> np.ndarray:
        return np.ascontiguousarray(blocks[..., at:at + 2]).view(np.float16).astype(np.float32)

    values = _INTEGERS[name](np.ascontiguousarray(blocks[..., 4 if has_minimum else 2:])) * half(0)
    values = values + half(2) if has_minimum else values
    return values.reshape(*data.shape[:-1], -1)
