"""A model's configuration becomes an Encoding: frequencies, and which elements of a head turn by them."""
import ctypes
import functools
import json
import os
from typing import Any, Callable, Optional, Sequence, Tuple, Union

import numpy as np

from . import _structures as c
from ._arrays import array_of
from ._library import Refused, call, count, library, number, shown

PAIRINGS = {None: c.ROPE_PAIRING_DEFAULT, "half": c.ROPE_PAIRING_HALF, "interleaved": c.ROPE_PAIRING_INTERLEAVED}
_Angles = Tuple[np.ndarray, float]


class Encoding:
    """An encoding says how each pair turns, in radians per position (`frequencies`) with a factor on cos and sin (`scale`),
    and where the pairs lie. `read` makes one of a configuration; frequencies of your own make one too."""

    def __init__(self, frequencies: Any, *, scale: float = 1.0, pairing: Optional[str] = "half",
                 pairing_out: Optional[str] = None, head_dim: int = 0, nope_dim: int = 0, rotary_begin: int = 0,
                 axes: Any = None, axis_names: Sequence[str] = (), chunk_dim: int = 0, skip_first: int = 0,
                 skip_last: int = 0, model_type: str = "", rule: str = "", layer_type: str = "",
                 layer_types: Sequence[str] = (), notes: Sequence[str] = (), query_scale: Any = None) -> None:
        self.frequencies = array_of("frequencies", frequencies, np.float64)
        if self.frequencies.ndim != 1:
            raise Refused(f"frequencies have the shape {list(self.frequencies.shape)}; it is [pairs]")
        self.axes = None if axes is None else array_of("axes", axes, np.uint8)
        self._check_arrays()
        self.scale, self.pairing, self.pairing_out = number("scale", scale), pairing, pairing_out
        self.head_dim, self.rotary_begin = count("head_dim", head_dim), count("rotary_begin", rotary_begin)
        self.nope_dim = count("nope_dim", nope_dim)  # elements before that head in whole heads, which end with it
        self.chunk_dim = count("chunk_dim", chunk_dim)
        # tokens at a sequence's ends that do not turn
        self.skip_first, self.skip_last = count("skip_first", skip_first), count("skip_last", skip_last)
        self.axis_names, self.layer_types, self.notes = list(axis_names), list(layer_types), list(notes)
        self.model_type, self.rule, self.layer_type = model_type, rule, layer_type
        self.query_scale = query_scale  # (beta, interval, offset), or None; `notes` say of which layers
        self._read_for: Optional[Callable[[float], _Angles]] = None  # the frequencies and the scale of another length

    @property
    def rotary_dim(self) -> int:
        return 2 * len(self.frequencies)

    @property
    def axis_count(self) -> int:
        return max(1, len(self.axis_names), 0 if self.axes is None else int(self.axes.max()) + 1)

    def _check_arrays(self) -> None:
        self.frequencies = array_of("frequencies", self.frequencies, np.float64)  # they may have been assigned anew
        if self.axes is not None:
            self.axes = array_of("axes", self.axes, np.uint8)
            if self.axes.shape != self.frequencies.shape:
                raise Refused(f"axes have the shape {list(self.axes.shape)}; it is that of the frequencies, "
                              f"{list(self.frequencies.shape)}")

    def at(self, length: float) -> _Angles:
        """The frequencies and the scale for a length, where `read` was given none and the rule depends on it."""
        own = self.frequencies, self.scale

        def same(other: _Angles) -> bool:
            return np.array_equal(other[0], own[0]) and other[1] == own[1]

        if self._read_for is None or length <= 0 or not same(self._read_for(0)):  # or they have been assigned anew
            return own
        try:
            depends = not same(self._read_for(2**31))
        except Refused:
            depends = True
        return self._read_for(length) if depends else own

    def describe(self, place: Any, by_length: bool = True) -> c.RopeFrequencies:
        """Positions keep the frequencies alive."""
        self._check_arrays()
        place.frequencies, scale = self.at(place.length if by_length else 0)
        axes = self.axes.ctypes.data if self.axes is not None and place.axes > 1 else None
        return c.RopeFrequencies(place.frequencies.ctypes.data, len(place.frequencies), scale, axes, 1)


def _text_of(config: Any) -> Tuple[Optional[str], str, bytes]:
    """The path of a .gguf, or the text of a configuration, with what its sentences begin with."""
    if isinstance(config, dict):
        try:
            return None, "", json.dumps(config).encode()
        except (TypeError, ValueError) as error:
            raise Refused(f"the configuration is no JSON: {error}") from None
    if not isinstance(config, (str, bytes, os.PathLike)):
        raise Refused(f"the configuration is of the type {type(config).__name__}; it is a path or a dict")
    path = os.fsdecode(config)
    if "\0" in path:
        raise Refused(f"the configuration's path is {path!r}; no path has a zero in it")
    with open(path, "rb") as file:
        text = file.read(4)
        if text == b"GGUF" and os.path.isfile(path):
            return path, "", b""
        return None, f"{path}: ", text + file.read()


def read(config: Union[str, "os.PathLike[str]", dict], *, layer_type: str = "", layer: Optional[int] = None,
         length: float = 0, rotary_dim: int = 0) -> Encoding:
    """A model's Encoding. `config` is the path of a config.json or of a .gguf, or a dict. `layer` chooses one layer by
    its number, from 0 on. `length`, for rules that depend on it, is the largest position so far plus 1; without it,
    a Device's calls take it from their positions, and the Encoding's own frequencies are for the length that the model was
    trained on."""
    path, where, text = _text_of(config)
    wanted_layer = 0 if layer is None else count("layer", layer, 0, 65535) + 1
    wanted_dim, wanted_length = count("rotary_dim", rotary_dim), number("length", length)
    if not isinstance(layer_type, str):
        raise Refused(f"layer_type is {shown(layer_type)}; it is a text")

    def read_for(length: float) -> Encoding:
        address = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)
        request = c.RopePythonRequest(os.fsencode(path) if path else None, address, len(text), layer_type.encode(),
                                      length, wanted_dim, wanted_layer)
        told = ctypes.c_void_p()
        call(library.ropePythonReadModel, ctypes.byref(request), ctypes.byref(told), where=where)
        try:
            return Encoding(**json.loads(ctypes.string_at(told)))
        finally:
            library.ropePythonFreeText(told)

    @functools.lru_cache(8)
    def angles_for(length: float) -> _Angles:
        encoding = read_for(length)
        return encoding.frequencies, encoding.scale

    encoding = read_for(wanted_length)
    encoding._read_for = None if wanted_length else angles_for
    return encoding
