"""Q, K and V become the description of a fused pass."""
import ctypes
import math
from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _structures as c
from ._arrays import Slots, array_of, as_float32, element_of, fits, layout
from ._caches import FORMATS, Cache
from ._library import Refused, address, ask, choose, count, flag, number, shown

_NORMS = {"rms": c.ROPE_NORM_RMS, "l2": c.ROPE_NORM_L2, "layer": c.ROPE_NORM_LAYER}
_IN = {"q": c.ROPE_SLOT_Q, "k": c.ROPE_SLOT_K, "v": c.ROPE_SLOT_V}
_OUT = {"q": c.ROPE_SLOT_Q_OUT, "k": c.ROPE_SLOT_K_OUT, "v": c.ROPE_SLOT_V_OUT}
_WEIGHTS = {"q": c.ROPE_SLOT_Q_WEIGHTS, "k": c.ROPE_SLOT_K_WEIGHTS}


class Fused(NamedTuple):
    """Arrays, and with a cache K and V as Cache; None where nothing was given."""
    q: Any
    k: Any
    v: Any


@dataclass
class Given:
    """Device.fused is given this for Q, K or V."""
    x: Optional[np.ndarray]
    norm: Any
    bias: Any
    scale: Any
    cache: Optional[str]
    hadamard: Any


class FusedWork:
    """A description and its arrays. A tensor is taken before its norm."""

    def __init__(self, order: str, element: Optional[str]) -> None:
        self.description = c.RopeFusedDescription(out_of_place=1)
        self.slots = Slots()
        self.order, self.element = order, element
        self.place: Any = None  # Positions
        self.outputs: List[Any] = []  # of Q, K and V: None, or what makes the answer behind the pass
        self.kept: List[np.ndarray] = []
        self.biases: List[np.ndarray] = []

    def take(self, name: str, given: Given) -> None:
        if given.x is None:
            unused = [word for word in ("norm", "bias", "scale") if getattr(given, word) is not None]
            if unused:
                raise Refused(f"there is a {name}_{unused[0]}, but no {name}")
            return self.outputs.append(None)
        record, x = getattr(self.description, name), given.x
        self._take_tensor(name, x, record)
        record.hadamard = _hadamard(name, given.hadamard, record.head_dim)
        if given.bias is not None:
            values = as_float32(f"{name}_bias", given.bias, self.element)
            if values.shape not in ((record.heads * record.head_dim,), (record.heads, record.head_dim)):
                raise Refused(f"{name}_bias has the shape {list(values.shape)}; it is [{record.heads}, {record.head_dim}] or "
                              f"[{record.heads * record.head_dim}]")
            record.bias, record.bias_offset = 1, sum(before.size for before in self.biases)
            self.biases.append(values.reshape(-1))
        shape = (self.description.batch, self.description.tokens, record.heads, record.head_dim)
        if given.cache is not None:
            return self.outputs.append(self._take_cache(name, given.cache, given.scale, shape, record))
        if given.scale is not None:
            raise Refused(f"there is a {name}_scale, but no cache in float8")
        out = np.empty(shape, x.dtype)
        self.slots.put(_OUT[name], written=out)
        self.outputs.append(lambda: self._ordered(out))

    def _ordered(self, array: np.ndarray) -> np.ndarray:
        """Turns [batch, seq, heads, ...] to the order that was given."""
        array = array if "b" in self.order else array[0]
        return np.swapaxes(array, -3, -2) if self.order.endswith("hsd") else array

    def _take_tensor(self, name: str, x: np.ndarray, record: Any) -> None:
        d, element, sizes = self.description, element_of(name, x, self.element), dict(zip(self.order, x.shape))
        batch, tokens = sizes.get("b", 1), sizes["s"]
        if d.tokens and (batch, tokens, element) != (d.batch, d.tokens, d.element):
            raise Refused(f"{name} is {x.dtype} {list(x.shape)}; q, k and v are alike in elements, batch and tokens")
        d.batch, d.tokens, d.element, d.head_dim = batch, tokens, element, d.head_dim or sizes["d"]
        x = x if fits(x) else np.ascontiguousarray(x)
        record.heads, record.head_dim = sizes["h"], sizes["d"]
        setattr(record, "from", layout(x, self.order))
        self.slots.put(_IN[name], read=x)

    def take_norm(self, name: str, given: Any, kind: str, epsilon: float, plus: float, after: bool) -> None:
        """The weights' shape says what the norm takes."""
        if given is None or given is False:
            return
        record = getattr(self.description, name)
        norm, heads, dim = record.norm, record.heads, record.head_dim
        norm.kind, norm.after = choose("norm", _NORMS, kind), flag("norm_after", after)
        norm.epsilon, norm.weight_plus = number("epsilon", epsilon), number("norm_plus", plus)
        if given is True:
            norm.no_weights = 1
            return
        weights = as_float32(f"{name}_norm", given, self.element)
        if weights.shape == (heads, dim):
            norm.weights_head_stride = dim
        elif weights.shape == (heads * dim,) and heads > 1:
            norm.all_heads = 1
        elif weights.ndim == 1 and 0 < len(weights) <= dim:
            norm.dim = len(weights)
        else:
            raise Refused(f"{name}_norm has the shape {list(weights.shape)}; it is [{dim}], [{heads}, {dim}] or [{heads * dim}], "
                          "or True for a norm without weights")
        if name in _WEIGHTS:
            self.slots.put(_WEIGHTS[name], read=weights)
        else:
            norm.weights = weights.ctypes.data
            self.kept.append(weights)

    def _take_cache(self, name: str, form: str, scale: Any, shape: Tuple[int, ...], record: Any) -> Any:
        d, kind = self.description, choose("cache", FORMATS, form)
        d.cache.kind, d.cache.slots = c.ROPE_CACHE_SLOTS, count("tokens of all sequences", d.batch * d.tokens, 0, 2**30)
        self.slots.put(c.ROPE_SLOT_SLOT_MAP, read=np.arange(d.cache.slots, dtype=np.int32))
        scales = None if scale is None else self._given_scales(name, form, scale, record)
        found = kind.scaled and scales is None
        heads = d.cache.slots * record.heads
        size = heads * record.head_dim // kind.elements * kind.bytes
        record.element, record.stored_scales.offset = kind.element, size // 4 if found else 0
        buffer = np.empty(size + (4 * heads if found else 0), np.uint8)
        self.slots.put(_OUT[name], written=buffer)

        def make() -> Cache:
            data = self._ordered(buffer[:size].view(kind.dtype).reshape(*shape[:3], -1))
            own = buffer[size:].view(np.float32).reshape(shape[:3]) if found else scales
            own = None if own is None else self._ordered(np.broadcast_to(own, shape[:3])[..., None])[..., 0]
            return Cache(data, form, own)

        return make

    def _given_scales(self, name: str, form: str, scale: Any, record: Any) -> np.ndarray:
        if not form.startswith("f8"):
            raise Refused(f"there is a {name}_scale, but its cache is {form}; float8 takes one")
        values = array_of(f"{name}_scale", scale, np.float32).reshape(-1)
        if len(values) not in (1, record.heads):
            raise Refused(f"{name}_scale has {len(values)} values; it is one, or one of each of the {record.heads} heads")
        record.given_scale = c.RopeCacheScale(values.ctypes.data, len(values), 0)
        self.kept.append(values)
        return values

    def take_query_scale(self, given: Any) -> None:
        if not isinstance(given, (tuple, list)) or len(given) != 3:
            raise Refused(f"query_scale is {shown(given)}; it is (beta, interval, offset)")
        beta, interval, offset = number("beta", given[0]), count("interval", given[1], 1), count("offset", given[2], 0, 2**31 - 1)
        steps = min((max(math.floor(self.place.most), 0) + offset) // interval + 1, 65537)  # the library refuses so many
        values = np.empty(steps, np.float32)
        ask("ropeMakeQueryScale", ctypes.c_double(beta), steps, address(values))
        self.kept.append(values)
        self.description.query_scale = c.RopeQueryScale(values.ctypes.data, steps, interval, offset)


def _hadamard(name: str, block: Any, head_dim: int) -> int:
    if block is not True:
        return 0 if block is None or block is False else count("hadamard", block)
    if head_dim % 64:
        raise Refused(f"hadamard=True takes heads of a multiple of 64 elements, as llama.cpp does; {name} has {head_dim}")
    return 64 if name == "v" else min(head_dim & -head_dim, 512)
