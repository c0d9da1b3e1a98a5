"""Devices, and the calls that work on arrays."""
import ctypes
from typing import Any, Optional, Tuple, Union

import numpy as np

from . import _structures as c
from ._arrays import Positions, Slots, as_float32, element_of, fits, layout, tensor
from ._encoding import PAIRINGS, Encoding, read
from ._fused import Fused, FusedWork, Given
from ._library import Refused, address, ask, both, call, choose, count, flag, library, number, rope

_OPERATIONS = {"forward": c.ROPE_OPERATION_FORWARD, "transpose": c.ROPE_OPERATION_TRANSPOSE,
               "inverse": c.ROPE_OPERATION_INVERSE, "shift": c.ROPE_OPERATION_SHIFT}
_ANGLES = {"exact": c.ROPE_ANGLE_EXACT, "compatible": c.ROPE_ANGLE_COMPATIBLE}
_ORDERS = {"bshd": 4, "bhsd": 4, "shd": 3, "hsd": 3}
_SINUSOIDS = {"interleaved": c.ROPE_SINUSOIDS_INTERLEAVED, "halves": c.ROPE_SINUSOIDS_HALVES}
_BIASES = {"t5": c.ROPE_BIAS_T5, "clipped": c.ROPE_BIAS_CLIPPED, "alibi": c.ROPE_BIAS_ALIBI}


class Device:
    """"cpu", a device's index, or part of its name or driver; without `select` the best device there is. It holds the
    device until `close`, the end of a `with`, or that of the object. Threads may share it."""

    def __init__(self, select: Union[str, int] = "") -> None:
        self._handle: Optional[ctypes.c_void_p] = ctypes.c_void_p()
        text = select if isinstance(select, str) else str(count("the device", select))
        if "\0" in text:
            raise Refused(f"no device matches {text!r}")
        call(library.ropePythonOpenDevice, text.encode(errors="replace"), ctypes.byref(self._handle))
        self.name: str = library.ropePythonDeviceName(self._handle).decode()
        self._limits = c.RopeLimits()
        library.ropePythonLimits(self._handle, ctypes.byref(self._limits))

    def close(self) -> None:
        """No other call may be at work with the device."""
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            library.ropePythonCloseDevice(handle)

    __del__ = close

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _run(self, kind: str, d: Any, slots: Slots) -> None:
        """Plans a description, makes the slots that it gives itself, and carries it out."""
        if not self._handle:
            raise Refused("the device is closed")
        plan = c.RopePlan()
        if rope("ropePlan" + kind)(ctypes.byref(d), ctypes.byref(self._limits), ctypes.byref(plan)) != c.ROPE_SUCCESS:
            raise Refused(plan.reason.text.decode())
        words, parameters = (np.empty(plan.bytes[slot], np.uint8) for slot in (c.ROPE_SLOT_FREQUENCIES, c.ROPE_SLOT_PARAMETERS))
        if words.size:
            turning = d if hasattr(d, "angle") else d.rotation
            ask("ropeWriteFrequencies", ctypes.byref(turning.frequencies), turning.angle, address(words))
            slots.put(c.ROPE_SLOT_FREQUENCIES, read=words)
        if parameters.size:
            ask("ropeWriteBuckets" if kind == "Bias" else "ropeWriteParameters", ctypes.byref(d), address(parameters))
            slots.put(c.ROPE_SLOT_PARAMETERS, read=parameters)
        slots.check(plan)
        if self.name == "cpu":
            ask("ropeHostRun" + kind, ctypes.byref(d), ctypes.byref(slots.on_cpu(getattr(c, "RopeHost" + kind)())))
        else:
            call(library.ropePythonRun, self._handle, ctypes.byref(plan), slots.slots)

    def table(self, encoding: Encoding, positions: Any, *, angle: str = "exact") -> Tuple[np.ndarray, np.ndarray]:
        """cos and sin in float32, [tokens, pairs], or [batch, tokens, pairs] where positions have sequences."""
        place, slots = Positions(positions, _checked(encoding).axis_count), Slots()
        pairs, sequences = len(encoding.frequencies), max(place.batch, 1)
        shape = ([place.batch] if place.batch else []) + [place.tokens, pairs]
        d = c.RopeTableDescription(encoding.describe(place), choose("angle", _ANGLES, angle), sequences, place.tokens,
                                   place.description)
        d.rows = c.RopeRows(row_stride=pairs, sin_offset=sequences * place.tokens * pairs)
        rows = _empty([2, *shape], np.float32)
        slots.put(c.ROPE_SLOT_POSITIONS, place.array)
        slots.put(c.ROPE_SLOT_ROWS, written=rows)
        self._run("Table", d, slots)
        return rows[0], rows[1]

    def rotate(self, encoding: Encoding, x: Any, positions: Any, *, order: Optional[str] = None,
               element: Optional[str] = None, pairing: Optional[str] = None, pairing_out: Optional[str] = None,
               operation: str = "forward", angle: str = "exact") -> np.ndarray:
        """Rotates [batch, seq, heads, dim] (`order` "bshd"; or "bhsd") or [seq, heads, dim] ("shd"; or "hsd"). Positions
        are the first token's, a range, [tokens], [batch, tokens] or [axes, batch, tokens]. Arrays are read where they
        lie; a copy is made of an `x` whose elements of a head do not lie side by side."""
        x, order = _ordered("x", x, order)
        d = c.RopeRotateDescription(element=element_of("x", x, element), out_of_place=1, rotation=c.RopeRotation(
            angle=choose("angle", _ANGLES, angle), operation=choose("operation", _OPERATIONS, operation)))
        x = x if fits(x) else np.ascontiguousarray(x)
        out = _empty(x.shape, x.dtype)
        count_of = dict(zip(order, x.shape))
        d.batch, d.tokens, d.head_dim = count_of.get("b", 1), count_of["s"], count_of["d"]
        d.q = c.RopeTensor(count_of["h"], layout(x, order), layout(out, order))
        d.rotation.rotary_begin = rotary_begin("x", _checked(encoding), d.head_dim)
        d.rotation.rotary_dim = encoding.rotary_dim
        _take_pairing(d, encoding, pairing, pairing_out, operation)
        place, slots = _take_positions(d, encoding, positions), Slots()
        slots.put(c.ROPE_SLOT_POSITIONS, place.array)
        slots.put(c.ROPE_SLOT_Q, read=x)
        slots.put(c.ROPE_SLOT_Q_OUT, written=out)
        self._run("Rotate", d, slots)
        return out

    def fused(self, encoding: Optional[Encoding], q: Any = None, k: Any = None, v: Any = None, *, positions: Any = 0,
              order: Optional[str] = None, element: Optional[str] = None, cache: Any = None, hadamard: Any = None,
              norm: str = "rms", q_norm: Any = None, k_norm: Any = None, v_norm: Any = None, epsilon: float = 1e-6,
              norm_plus: float = 0.0, norm_after: bool = False, q_bias: Any = None, k_bias: Any = None,
              v_bias: Any = None, k_scale: Any = None, v_scale: Any = None, query_scale: Any = None,
              pairing: Optional[str] = None, pairing_out: Optional[str] = None, angle: str = "exact") -> Fused:
        """Takes Q, K and V, or some of them, from the projection to where the attention reads them:

            projection's bias -> norm -> rotation of Q and K -> scale of Q -> Hadamard blocks -> the cache's format

        Each step is left out where nothing asks for it. The arrays are [batch, seq, heads, dim], or as `order` says,
        and may have heads and sizes of their own. The answer is (q, k, v): arrays of the elements that were given,
        or with a `cache` k and v as Cache, which `dequantize` widens to float32.

        encoding    None: nothing rotates
        positions   as of rotate: the first token's, a range, or an array
        cache       a format for K and V, or one for each: "f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0",
                    "iq4_nl", "int8", "f8_e4m3", "f8_e5m2"
        hadamard    elements of a block, or (of Q and K, of V); True: the blocks of llama.cpp. Q, K and V come out turned, so
                    scores stay what they were; fused(None, x, hadamard=n) turns an x of blocks of n back
        q_norm, ... weights: [dim]; [heads, dim], for each head its own; [heads * dim], where all heads are one norm; or
                    True for none. Fewer than dim: the norm takes the first elements of the head. `norm` is "rms", "l2" or
                    "layer", `norm_plus` is added to each weight (Gemma: 1), `norm_after` norms behind the rotation
        q_bias, ... of the projection, [heads, dim] or [heads * dim]
        k_scale, .. of float8: a number, or one of each head. Without it each head of each token has its own
        query_scale (beta, interval, offset), as Encoding.query_scale has it of Llama 4 and Ministral 3: queries are multiplied
                    by 1 + beta * ln(1 + floor((position + offset) / interval))"""
        xs = [None if x is None else _ordered(name, x, order)[0] for name, x in zip("qkv", (q, k, v))]
        work = FusedWork(_order_of(xs) if order is None else order, element)
        caches, blocks = (None, *both("cache", cache)), both("hadamard", hadamard)
        given = (xs, (q_norm, k_norm, v_norm), (q_bias, k_bias, v_bias), (None, k_scale, v_scale), caches, (blocks[0], *blocks))
        if q is None and k is None and v is None:
            raise Refused("q, k and v are missing; one of them is given at least")
        if cache is not None and k is None and v is None:
            raise Refused("a cache takes k and v, and neither is given")
        for name, *own in zip("qkv", *given):
            work.take(name, Given(*own))
            work.take_norm(name, own[1], norm, epsilon, norm_plus, norm_after)
        if work.biases:
            work.slots.put(c.ROPE_SLOT_BIASES, read=np.concatenate(work.biases))
        d = work.description
        d.rotation.angle = choose("angle", _ANGLES, angle)
        if encoding is None:
            d.q.no_rotation = d.k.no_rotation = 1
            work.place = Positions(positions, 1, d.batch, d.tokens, d.tokens)
            d.positions = work.place.description
            work.slots.put(c.ROPE_SLOT_POSITIONS, work.place.array)
        else:
            self._take_rotation(work, _checked(encoding), pairing, pairing_out, positions)
        if query_scale is not None:
            work.take_query_scale(query_scale)
        self._run("Fused", d, work.slots)
        return Fused(*(None if make is None else make() for make in work.outputs))

    @staticmethod
    def _take_rotation(work: Any, encoding: Encoding, pairing: Optional[str], pairing_out: Optional[str], positions: Any) -> None:
        d = work.description
        for name in "qk":
            record = getattr(d, name)
            if record.heads:
                record.rotary_begin = rotary_begin(name, encoding, record.head_dim, latent=name == "k")
        d.rotation.rotary_dim = encoding.rotary_dim
        _take_pairing(d, encoding, pairing, pairing_out, "forward")
        place = _take_positions(d, encoding, positions)
        work.slots.put(c.ROPE_SLOT_POSITIONS, place.array)
        work.place = place  # keeps the frequencies alive

    def add(self, x: Any, positions: Any, *, table: Any = None, first_position: int = 0, base: float = 10000.0,
            encoding: Optional[Encoding] = None, order: str = "interleaved", cosine_first: bool = False,
            scale: float = 1.0, element: Optional[str] = None, angle: str = "exact") -> np.ndarray:
        """Adds positions to embeddings, [batch, seq, dim] or [seq, dim]: sinusoids of a `base`, or of an Encoding's own
        frequencies, or the rows of a learned `table`, [positions, dim], whose first row is of `first_position`.
        `order` "interleaved" has sine and cosine of each pair in turns, "halves" all sines first; with `cosine_first`
        they change places. `scale` multiplies the embeddings before."""
        x = np.ascontiguousarray(tensor("x", x))
        if x.ndim not in (2, 3) or 0 in x.shape:
            raise Refused(f"x has the shape {list(x.shape)}; it is [batch, seq, dim] or [seq, dim], none of them empty")
        batch, tokens, dim = x.shape if x.ndim == 3 else (1, *x.shape)
        d = c.RopeAddDescription(batch=batch, tokens=tokens, dim=dim, element=element_of("x", x, element),
                                 scale=number("scale", scale), out_of_place=1, cosine_first=flag("cosine_first", cosine_first),
                                 order=choose("order", _SINUSOIDS, order), angle=choose("angle", _ANGLES, angle))
        if table is None and encoding is None:
            encoding = read({"model_type": "llama", "head_dim": dim, "rope_theta": number("base", base)})
        axes = 1 if encoding is None else _checked(encoding).axis_count
        place, slots = Positions(positions, axes, batch, tokens, tokens), Slots()
        d.positions = place.description
        slots.put(c.ROPE_SLOT_POSITIONS, place.array)
        if table is not None:
            self._take_learned(d, slots, table, first_position, element, place)
        elif encoding is not None:
            d.frequencies = encoding.describe(place)
        out = _empty(x.shape, x.dtype)
        slots.put(c.ROPE_SLOT_X, read=x)
        slots.put(c.ROPE_SLOT_X_OUT, written=out)
        self._run("Add", d, slots)
        return out

    @staticmethod
    def _take_learned(d: Any, slots: Slots, table: Any, first_position: int, element: Optional[str], place: Positions) -> None:
        rows = np.ascontiguousarray(tensor("table", table))
        if rows.ndim != 2 or rows.shape[1] != d.dim or 0 in rows.shape:
            raise Refused(f"the table has the shape {list(rows.shape)}; it is [positions, dim] with a dim of {d.dim}")
        first = count("first_position", first_position, -2**31, 2**31 - 1)
        d.learned = 1
        d.rows = c.RopeRows(element=element_of("the table", rows, element), first_position=first, count=len(rows))
        for position in (place.least, place.most):
            if not first <= position < first + len(rows):
                raise Refused(f"there is the position {position}, outside the table of {len(rows)} rows, whose first is "
                              f"of position {first}")
        slots.put(c.ROPE_SLOT_ROWS, read=rows)

    def bias(self, kind: str, *, queries: int, keys: int, weights: Any = None, heads: int = 0, first_query: int = 0,
             least: int = 0, max_distance: int = 128, bidirectional: bool = False, causal: bool = False,
             element: Optional[str] = None) -> np.ndarray:
        """The bias of scores, float32 [heads, queries, keys]. `kind` is "t5" (`weights` are [buckets, heads]), "clipped"
        ([distances, heads], the first row for the distance `least` from key to query) or "alibi", which takes `heads` and
        no weights. The first query stands at position `first_query`, the first key at 0. With `causal` keys after their
        query get -infinity."""
        d = c.RopeBiasDescription(kind=choose("kind", _BIASES, kind), bidirectional=flag("bidirectional", bidirectional),
                                  causal=flag("causal", causal), element=c.ROPE_ELEMENT_F32, write_only=1, batch=1)
        d.positions = c.RopePositions(kind=c.ROPE_POSITIONS_COUNTED, same_for_all_sequences=1,
                                      first=count("first_query", first_query, -2**31, 2**31 - 1))
        d.heads, d.queries, d.keys = count("heads", heads), count("queries", queries, 1), count("keys", keys, 1)
        slots = Slots()
        slots.put(c.ROPE_SLOT_ROWS, read=self._bias_rows(d, kind, weights, element, count("max_distance", max_distance),
                                                         count("least", least, -2**30, 2**30)))
        out = _empty([d.heads, d.queries, d.keys], np.float32)
        slots.put(c.ROPE_SLOT_X, written=out)
        self._run("Bias", d, slots)
        return out

    @staticmethod
    def _bias_rows(d: Any, kind: str, weights: Any, element: Optional[str], max_distance: int, least: int) -> np.ndarray:
        if kind == "alibi":
            if weights is not None:
                raise Refused("weights go with 't5' and 'clipped'; 'alibi' has slopes")
            slopes = np.empty(count("heads", d.heads, 1, 65536), np.float32)
            ask("ropeMakeAlibiSlopes", d.heads, address(slopes))
            return slopes
        if weights is None:
            raise Refused(f"weights are missing; {kind!r} has values of each head in them")
        rows = as_float32("weights", weights, element)
        if rows.ndim != 2 or 0 in rows.shape:
            raise Refused(f"weights have the shape {list(rows.shape)}; it is [rows, heads], none of them empty")
        if d.heads not in (0, rows.shape[1]):
            raise Refused(f"weights have {rows.shape[1]} heads, but there are {d.heads}")
        d.heads = rows.shape[1]
        if kind == "t5":
            d.buckets, d.max_distance = len(rows), max_distance
        else:
            d.least, d.most = least, least + len(rows) - 1
        return rows


# ---- What several calls take -----------------------------------------------------------------------------------------

def _checked(encoding: Any) -> Encoding:
    if not isinstance(encoding, Encoding):
        raise Refused(f"the encoding is of the type {type(encoding).__name__}; vkrope.read makes one of a configuration")
    return encoding


def _empty(shape: Any, dtype: Any) -> np.ndarray:
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):  # ValueError: more than an array may have
        raise Refused(f"an array of the shape {list(shape)} takes more memory than there is") from None


def _order_of(given: Any) -> str:
    return "shd" if any(x is not None and x.ndim == 3 for x in given) else "bshd"


def _ordered(name: str, x: Any, order: Optional[str]) -> Tuple[np.ndarray, str]:
    x = tensor(name, x)
    order = _order_of([x]) if order is None else order
    if x.ndim != choose("order", _ORDERS, order) or 0 in x.shape:
        raise Refused(f"{name} has the shape {list(x.shape)}; with the order {order!r} it has {_ORDERS[order]} axes, "
                      "none of them empty")
    for size in x.shape:
        count("an axis of " + name, size)
    return x, order


def rotary_begin(name: str, encoding: Encoding, head_dim: int, latent: bool = False) -> int:
    """In the head that the encoding says, the whole one that it is split off from, its rotary part alone, or behind a
    latent row."""
    whole = encoding.nope_dim + encoding.head_dim
    ends = encoding.rotary_begin + encoding.rotary_dim == encoding.head_dim
    if encoding.head_dim in (0, head_dim):
        return encoding.rotary_begin
    if head_dim == whole:
        return encoding.nope_dim + encoding.rotary_begin
    if head_dim == encoding.rotary_dim and ends:
        return 0
    if latent and encoding.nope_dim and ends and head_dim > whole:
        return head_dim - encoding.rotary_dim
    beside = f", or {whole} with the {encoding.nope_dim} before them that do not turn" if encoding.nope_dim else ""
    raise Refused(f"{name} has heads of {head_dim} elements, but the encoding says {encoding.head_dim}{beside}")


def _take_pairing(d: Any, encoding: Encoding, pairing: Optional[str], pairing_out: Optional[str], operation: str) -> None:
    """A model may read one pairing and write another. Elements that are turned already lie as it writes them."""
    if pairing is None and encoding.pairing is None:
        raise Refused(f"the pairing of the model type {encoding.model_type!r} is not known; pairing='half' or "
                      "'interleaved' says it")
    source, written = encoding.pairing, encoding.pairing_out or encoding.pairing
    back = operation in ("inverse", "transpose")
    own_in, own_out = (source if operation == "forward" else written), (source if back else written)
    if pairing_out is None and pairing is None:
        pairing_out = own_out
    d.rotation.pairing = choose("pairing", PAIRINGS, own_in if pairing is None else pairing)
    d.rotation.pairing_out = choose("pairing_out", PAIRINGS, pairing_out)
    interleaved = d.rotation.pairing == c.ROPE_PAIRING_INTERLEAVED and d.rotation.pairing_out != c.ROPE_PAIRING_HALF
    d.rotation.chunk_dim = 0 if interleaved else encoding.chunk_dim


def _take_positions(d: Any, encoding: Encoding, positions: Any) -> Positions:
    first, last = encoding.skip_first, encoding.skip_last
    turning = d.tokens - first - last if first + last < d.tokens else d.tokens
    place = Positions(positions, encoding.axis_count, d.batch, d.tokens, turning)
    if place.tokens != d.tokens:  # they leave out the tokens that do not turn
        d.rotation.skip_first, d.rotation.skip_last = first, last
        place.pad(first, last)
    # a shift's positions are distances, which ask for no length
    d.positions = place.description
    d.rotation.frequencies = encoding.describe(place, d.rotation.operation != c.ROPE_OPERATION_SHIFT)
    return place
