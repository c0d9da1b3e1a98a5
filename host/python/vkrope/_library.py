"""The library that lies in this folder, or where VKROPE_PYTHON_LIBRARY says, and how it is called."""
import ctypes
import functools
import operator
import os
import sys
from typing import Any, Mapping, Tuple

import numpy as np

from . import _structures as c


class Refused(ValueError):
    """The request is at fault."""


class Failed(RuntimeError):
    """The machine failed."""


def _load() -> ctypes.CDLL:
    ending = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libvkrope_python" + ending)
    path = os.environ.get("VKROPE_PYTHON_LIBRARY") or beside
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"vkrope's library cannot be loaded: {error}; VKROPE_PYTHON_LIBRARY may name it") from None
    if not hasattr(library, "ropePythonLayouts"):
        raise ImportError(f"{path} has no ropePythonLayouts; it is no library of this package")
    for name, result in (("Layouts", ctypes.c_uint32), ("DeviceName", ctypes.c_char_p), ("Call", ctypes.c_void_p)):
        getattr(library, "ropePython" + name).restype = result
    if library.ropePythonLayouts() != c.LAYOUTS:
        raise ImportError(f"{path} is of another build than {c.__file__}; take both from one build")
    return library


library = _load()


def call(function: Any, *arguments: Any, where: str = "") -> None:
    """Calls a function that ends with a reason, which becomes an exception."""
    reason = c.RopePythonReason()
    status = function(*arguments, ctypes.byref(reason))
    if status != c.ROPE_PYTHON_DONE:
        kind = Refused if status == c.ROPE_PYTHON_REFUSED else Failed
        raise kind(where + reason.text.decode(errors="replace"))


@functools.lru_cache(None)
def rope(name: str) -> Any:
    """A call of rope.h. Structures are given by reference, addresses as c_void_p."""
    return ctypes.CFUNCTYPE(ctypes.c_int)(library.ropePythonCall(name.encode()))


def ask(name: str, *arguments: Any) -> None:
    """Calls a function of rope.h that ends with a reason, which becomes an exception."""
    reason = c.RopeReason()
    if rope(name)(*arguments, ctypes.byref(reason)) != c.ROPE_SUCCESS:
        raise Refused(reason.text.decode(errors="replace"))


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def choose(name: str, choices: Mapping[Any, Any], value: Any) -> Any:
    try:
        return choices[value]
    except (KeyError, TypeError):  # a list is no key at all
        known = ", ".join(repr(choice) for choice in choices if choice is not None)
        raise Refused(f"{name} is {shown(value)}; it is one of {known}") from None


def count(name: str, value: Any, least: int = 0, most: int = 2**32 - 1) -> int:
    """A whole number as an int. ctypes would drop what 32 bits do not hold."""
    try:
        whole = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        whole = None
    if whole is None or not least <= whole <= most:
        raise Refused(f"{name} is {shown(value)}; it is a whole number from {least} to {most}")
    return whole


def flag(name: str, value: Any) -> int:
    if not isinstance(value, (bool, np.bool_)):
        raise Refused(f"{name} is {shown(value)}; it is True or False")
    return int(value)


def shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Refused(f"{name} is {shown(value)}; it is a number") from None


def both(name: str, value: Any) -> Tuple[Any, Any]:
    """One value for two tensors, or a value for each."""
    if not isinstance(value, (tuple, list)):
        return value, value
    if len(value) != 2:
        raise Refused(f"{name} is {shown(value)}; it is one value, or one for each of two")
    return value[0], value[1]
