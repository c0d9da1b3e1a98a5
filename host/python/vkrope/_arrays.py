"""Arrays and positions as the library takes them."""
from typing import Any, Optional

import numpy as np

from . import _structures as c
from ._library import Refused, shown

_ELEMENTS = {"float32": c.ROPE_ELEMENT_F32, "float16": c.ROPE_ELEMENT_F16, "uint16": c.ROPE_ELEMENT_BF16}


def tensor(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:  # lists of lists of other lengths
        raise Refused(f"{name} is no array: {error}") from None


def array_of(name: str, values: Any, dtype: Any) -> np.ndarray:
    """A contiguous array of that type; what is no array of numbers is refused."""
    try:
        return np.ascontiguousarray(values, dtype)
    except (TypeError, ValueError, OverflowError):
        raise Refused(f"{name} cannot be read as an array of {np.dtype(dtype).name}") from None


def element_of(name: str, array: np.ndarray, element: Optional[str]) -> int:
    if element is not None and (not isinstance(element, str) or element != "bf16"):
        raise Refused(f"element is {shown(element)}; it is 'bf16' where uint16 holds bfloat16, and else not given")
    if not array.dtype.isnative or array.dtype.name not in _ELEMENTS:
        raise Refused(f"{name} holds {array.dtype}; it must be float32, float16, or bfloat16 as uint16")
    if array.dtype.name == "uint16" and element is None:
        raise Refused(f"{name} holds uint16; if these are the bits of bfloat16, say element='bf16'")
    return _ELEMENTS[array.dtype.name]


def as_float32(name: str, values: Any, element: Optional[str] = None) -> np.ndarray:
    """float32 of any floats; bfloat16's bits are widened."""
    array = tensor(name, values)
    if array.dtype.name == "uint16" and element is not None:
        return np.ascontiguousarray(array.astype(np.uint32) << 16).view(np.float32)
    if array.dtype.kind != "f":
        raise Refused(f"{name} holds {array.dtype}; it must be floating point, or bfloat16 as uint16")
    return np.ascontiguousarray(array, np.float32)


def fits(array: np.ndarray) -> bool:
    """True where the library takes the array as it lies: a head's elements side by side, strides of whole elements."""
    size = array.dtype.itemsize
    strides = [stride for stride, count in zip(array.strides, array.shape) if count > 1]
    return (array.flags.aligned and all(stride > 0 and stride % size == 0 for stride in strides)
            and (array.shape[-1] == 1 or array.strides[-1] == size))


def layout(array: np.ndarray, order: str) -> c.RopeLayout:
    stride = {letter: stride // array.dtype.itemsize if count > 1 else 0
              for letter, stride, count in zip(order, array.strides, array.shape)}
    return c.RopeLayout(0, stride.get("b", 0), stride["s"], stride["h"])


class Slots:
    """The arrays of a call, by the slots of rope.h. They are kept alive with it."""

    def __init__(self) -> None:
        self.slots = (c.RopePythonSlot * c.ROPE_SLOT_COUNT)()
        self._kept: list = []

    def put(self, slot: int, read: Optional[np.ndarray] = None, written: Optional[np.ndarray] = None) -> None:
        array = written if read is None else read
        if array is None:
            return
        self._kept.append((read, written))
        reach = sum((count - 1) * stride for count, stride in zip(array.shape, array.strides))
        self.slots[slot] = c.RopePythonSlot(None if read is None else read.ctypes.data,
                                            None if written is None else written.ctypes.data, reach + array.dtype.itemsize)

    def check(self, plan: c.RopePlan) -> None:
        """Buffers end with a whole word, arrays of 16-bit elements need not."""
        for slot, needed in enumerate(plan.bytes):
            given = self.slots[slot].bytes
            if given + (2 if given % 4 == 2 else 0) < needed:
                raise Refused(f"the array of slot {slot} has {given} bytes; the description takes {needed}")

    def on_cpu(self, data: Any) -> Any:
        """The same arrays as a RopeHost... structure has them: its members are named as the slots are."""
        for member, _ in data._fields_:
            slot = getattr(c, "ROPE_SLOT_" + member.upper(), None)
            if slot is None:
                continue  # a reference in double
            if member.endswith("_out") and not self.slots[slot].to:  # in place
                slot = getattr(c, "ROPE_SLOT_" + member[:-len("_out")].upper())
            read = None if member.endswith("_out") else getattr(self.slots[slot], "from")
            setattr(data, member, read or self.slots[slot].to)
        return data


class Positions:
    """Positions as the library takes them: a range or a first position is counted, and needs no array."""

    def __init__(self, given: Any, axes: int, batch: int = 0, tokens: int = 0, turning: int = 0) -> None:
        self.array: Optional[np.ndarray] = None
        self.batch, self.axes = 0, 1
        self.frequencies: Optional[np.ndarray] = None
        self.description = c.RopePositions(kind=c.ROPE_POSITIONS_COUNTED, same_for_all_sequences=1)
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            given = range(int(given), int(given) + turning)
        if isinstance(given, range) and given.step == 1:
            self.least, self.most = (given[0], given[-1]) if given else (0, 0)
            self._check_range(self.least, self.most)
            self.tokens, self.description.first = len(given), self.least
        else:
            values = tensor("positions", given)
            self._take_array(values, axes, batch)
            self.least, self.most = (values.min().item(), values.max().item()) if values.size else (0, 0)
        if not self.tokens:
            raise Refused("there are no positions")
        self.length = self.most + 1 if self.most >= 0 else 0  # that they ask a rule for
        if tokens and self.tokens not in (tokens, turning):
            raise Refused(f"there are {self.tokens} positions, but {tokens} tokens" +
                          ("" if turning == tokens else f", of which {turning} turn"))

    @staticmethod
    def _check_range(least: int, most: int) -> None:
        for position in (least, most):
            if not -2**31 <= position < 2**31:
                raise Refused(f"there is the position {position}, which is beyond int32")

    def _take_array(self, values: np.ndarray, axes: int, batch: int) -> None:
        shape = list(values.shape)
        if values.ndim not in (1, 2, 3):
            raise Refused(f"positions have the shape {shape}; it is [tokens], [batch, tokens] or [axes, batch, tokens]")
        if values.ndim == 2 and axes > 1 and len(values) == axes == batch:
            raise Refused(f"positions have the shape {shape}, of as many rows as there are sequences and axes; "
                          "[axes, batch, tokens] says both")
        if values.ndim == 3 or (values.ndim == 2 and axes > 1 and len(values) == axes != batch):
            self.axes = len(values)
        if self.axes not in (1, axes):
            raise Refused(f"positions have the shape {shape}, of {self.axes} axes, but the pairs turn by {axes}")
        if values.ndim == 3 or (values.ndim == 2 and self.axes == 1):
            self.batch = values.shape[-2]
        if self.batch == 1 and batch:
            self.batch = 0  # they serve every sequence
        if batch and self.batch not in (0, batch):
            raise Refused(f"positions have the shape {shape}, but there are {batch} sequences")
        self.tokens = values.shape[-1]
        self.array = np.ascontiguousarray(self._converted(values))
        self.description = c.RopePositions(kind=c.ROPE_POSITIONS_PER_TOKEN, same_for_all_sequences=int(self.batch == 0),
                                           element=self.element)

    def _converted(self, values: np.ndarray) -> np.ndarray:
        """int32, int64 and float32 are taken as they are; float64 in 2^-32ths."""
        if values.dtype.kind in "iu":
            if values.size:
                self._check_range(int(values.min()), int(values.max()))
            narrow = values.dtype.name == "int32"
            self.element = c.ROPE_POSITION_INT32 if narrow else c.ROPE_POSITION_INT64
            return values.astype(np.int32 if narrow else np.int64, copy=False)
        if values.dtype.kind != "f":
            raise Refused(f"positions hold {values.dtype}; they are whole numbers or floating point")
        if not (np.abs(values) < 2**31).all():
            raise Refused("a position is not finite, or 2^31 or more from 0")
        if values.dtype.itemsize <= 4:
            self.element = c.ROPE_POSITION_FLOAT32
            return values.astype(np.float32, copy=False)
        self.element = c.ROPE_POSITION_FIXED64
        return np.rint(values.astype(np.float64, copy=False) * 2.0**32).astype(np.int64)

    def pad(self, first: int, last: int) -> None:
        """Gives tokens that do not turn positions too, which are not used."""
        if self.array is None:
            self.description.first -= first
        else:
            self.array = np.pad(self.array, [(0, 0)] * (self.array.ndim - 1) + [(first, last)], mode="edge")
