"""Q, K and V become the description of a fused pass."""
from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _structures as c
from ._arrays import Slots, array_of, as_float32, element_of, fits, layout
from ._caches import FORMATS, Cache
from ._library import Refused, both, choose, count, flag, number

_NORMS = {"rms": c.ROPE_NORM_RMS, "l2": c.ROPE_NORM_L2, "layer": c.ROPE_NORM_LAYER}
_IN = {"q": c.ROPE_SLOT_Q, "k": c.ROPE_SLOT_K, "v": c.ROPE_SLOT_V}
_OUT = {"q": c.ROPE_SLOT_Q_OUT, "k": c.ROPE_SLOT_K_OUT, "v": c.ROPE_SLOT_V_OUT}
_WEIGHTS = {"q": c.ROPE_SLOT_Q_WEIGHTS, "k": c.ROPE_SLOT_K_WEIGHTS}


class Fused(NamedTuple):
    q: Optional[np.ndarray]
    k: Union[np.ndarray, Cache, None]
    v: Union[np.ndarray, Cache, None]


@dataclass
class FusedOptions:
    """What Device.fused is given. Each triple has Q's, K's and V's."""
    cache: Any
    hadamard: Any
    norm: str
    norms: Tuple[Any, Any, Any]
    epsilon: float
    norm_plus: float
    norm_after: bool
    biases: Tuple[Any, Any, Any]
    scales: Tuple[Any, Any, Any]
    element: Optional[str]


class FusedWork:
    """A description, its arrays, and what becomes of them."""

    def __init__(self, order: str) -> None:
        self.description = c.RopeFusedDescription(out_of_place=1)
        self.slots = Slots()
        self.order = order
        self.place: Any = None
        self.results: List[Any] = [None, None, None]
        self.kept: List[np.ndarray] = []

    def ordered(self, array: np.ndarray) -> np.ndarray:
        """From [batch, seq, heads, ...] to the order that was given."""
        array = array if "b" in self.order else array[0]
        return np.swapaxes(array, -3, -2) if self.order.endswith("hsd") else array

    def result(self) -> Fused:
        return Fused(*(None if make is None else make() for make in self.results))


def describe_fused(given: Sequence[Optional[np.ndarray]], order: str, options: FusedOptions) -> FusedWork:
    work, d = FusedWork(order), None
    d = work.description
    formats = (None, *both("cache", options.cache)) if options.cache is not None else (None, None, None)
    biases: List[np.ndarray] = []
    for i, (name, x) in enumerate(zip("qkv", given)):
        if x is None:
            _refuse_unused(name, options, i)
            continue
        record = getattr(d, name)
        _take_tensor(work, name, x, record, options.element)
        record.hadamard = _hadamard(name, options.hadamard, record.head_dim)
        _take_norm(work, name, record, options, i)
        _take_bias(name, record, options, i, biases)
        work.results[i] = _take_output(work, name, record, formats[i], options.scales[i], x.dtype)
    if not d.tokens:
        raise Refused("q, k and v are missing; one of them is given at least")
    if options.cache is not None and not (d.k.heads or d.v.heads):
        raise Refused("a cache takes k and v, and neither is given")
    if biases:
        work.slots.put(c.ROPE_SLOT_BIASES, read=np.concatenate(biases))
    return work


def _refuse_unused(name: str, options: FusedOptions, i: int) -> None:
    for what, values in (("norm", options.norms), ("bias", options.biases), ("scale", options.scales)):
        if values[i] is not None:
            raise Refused(f"there is a {name}_{what}, but no {name}")


def _take_tensor(work: FusedWork, name: str, x: np.ndarray, record: Any, element: Optional[str]) -> None:
    d, number_of = work.description, element_of(name, x, element)
    sizes = dict(zip(work.order, x.shape))
    batch, tokens = sizes.get("b", 1), sizes["s"]
    if d.tokens and (batch, tokens, number_of) != (d.batch, d.tokens, d.element):
        raise Refused(f"{name} is {x.dtype} {list(x.shape)}; q, k and v are alike in elements, batch and tokens")
    d.batch, d.tokens, d.element = batch, tokens, number_of
    x = x if fits(x) else np.ascontiguousarray(x)
    record.heads, record.head_dim = sizes["h"], sizes["d"]
    setattr(record, "from", layout(x, work.order))
    d.head_dim = d.head_dim or sizes["d"]
    work.slots.put(_IN[name], read=x)


def _hadamard(name: str, given: Any, head_dim: int) -> int:
    of_qk, of_v = both("hadamard", given)
    block = of_v if name == "v" else of_qk
    if block is True:
        if head_dim % 64:
            raise Refused(f"hadamard=True takes heads of a multiple of 64 elements, as llama.cpp does; {name} has {head_dim}")
        return 64 if name == "v" else min(head_dim & -head_dim, 512)
    return 0 if block is None or block is False else count("hadamard", block)


def _take_norm(work: FusedWork, name: str, record: Any, options: FusedOptions, i: int) -> None:
    given = options.norms[i]
    if given is None or given is False:
        return
    norm = record.norm
    norm.kind = choose("norm", _NORMS, options.norm)
    norm.epsilon, norm.weight_plus = number("epsilon", options.epsilon), number("norm_plus", options.norm_plus)
    norm.after = flag("norm_after", options.norm_after)
    if given is True:
        norm.no_weights = 1
        return
    weights = as_float32(f"{name}_norm", given, options.element)
    heads, dim = record.heads, record.head_dim
    if weights.shape == (heads, dim):
        norm.weights_head_stride = dim
    elif weights.shape == (heads * dim,) and heads > 1:
        norm.all_heads = 1
    elif weights.ndim == 1 and 0 < len(weights) <= dim:
        norm.dim = len(weights)
    else:
        raise Refused(f"{name}_norm has the shape {list(weights.shape)}; it is [{dim}], [{heads}, {dim}] or "
                      f"[{heads * dim}], or True for a norm without weights")
    if name in _WEIGHTS:
        work.slots.put(_WEIGHTS[name], read=weights)
    else:
        norm.weights = weights.ctypes.data
        work.kept.append(weights)


def _take_bias(name: str, record: Any, options: FusedOptions, i: int, biases: List[np.ndarray]) -> None:
    if options.biases[i] is None:
        return
    values = as_float32(f"{name}_bias", options.biases[i], options.element)
    size = record.heads * record.head_dim
    if values.shape not in ((size,), (record.heads, record.head_dim)):
        raise Refused(f"{name}_bias has the shape {list(values.shape)}; it is [{record.heads}, {record.head_dim}] or [{size}]")
    record.bias, record.bias_offset = 1, sum(len(before) for before in biases)
    biases.append(values.reshape(-1))


def _take_output(work: FusedWork, name: str, record: Any, form: Optional[str], scale: Any, dtype: Any) -> Any:
    """Makes the array that is written, and says what becomes of it behind the pass."""
    d = work.description
    shape = (d.batch, d.tokens, record.heads, record.head_dim)
    if form is None:
        if scale is not None:
            raise Refused(f"there is a {name}_scale, but no cache in float8")
        out = np.empty(shape, dtype)
        work.slots.put(_OUT[name], written=out)
        return lambda: work.ordered(out)
    kind = choose("cache", FORMATS, form)
    if record.head_dim % kind.elements:
        raise Refused(f"{name} has heads of {record.head_dim} elements; {form} has blocks of {kind.elements}")
    record.element = kind.element
    d.cache.kind, d.cache.slots = c.ROPE_CACHE_SLOTS, count("tokens of all sequences", d.batch * d.tokens, 0, 2**30)
    work.slots.put(c.ROPE_SLOT_SLOT_MAP, read=np.arange(d.cache.slots, dtype=np.int32))
    heads = d.cache.slots * record.heads
    data_bytes = heads * record.head_dim // kind.elements * kind.bytes
    given = _given_scale(work, name, record, form, scale)
    found = kind.scaled and given is None
    record.stored_scales.offset = data_bytes // 4 if found else 0
    buffer = np.empty(data_bytes + (4 * heads if found else 0), np.uint8)
    work.slots.put(_OUT[name], written=buffer)

    def make() -> Cache:
        data = buffer[:data_bytes].view(kind.dtype).reshape(*shape[:3], -1)
        scales = buffer[data_bytes:].view(np.float32).reshape(shape[:3]) if found else given
        if scales is not None:
            scales = work.ordered(np.broadcast_to(scales, shape[:3])[..., None])[..., 0]
        return Cache(work.ordered(data), str(form), scales)

    return make


def _given_scale(work: FusedWork, name: str, record: Any, form: str, scale: Any) -> Optional[np.ndarray]:
    if scale is None:
        return None
    if not form.startswith("f8"):
        raise Refused(f"there is a {name}_scale, but its cache is {form}; float8 takes one")
    values = array_of(f"{name}_scale", scale, np.float32).reshape(-1)
    if len(values) not in (1, record.heads):
        raise Refused(f"{name}_scale has {len(values)} values; it is one, or one of each of the {record.heads} heads")
    record.given_scale = c.RopeCacheScale(values.ctypes.data, len(values), 0)
    work.kept.append(values)
    return values
