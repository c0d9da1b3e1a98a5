"""Arrays in files: .npy, FILE.npz:NAME, FILE.safetensors:NAME and a checkpoint's model.safetensors.index.json:NAME."""
import contextlib
import fnmatch
import functools
import importlib
import json
import os
import re
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from ._library import Refused

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?", "C64": "<c8"}
_PIECE = 1 << 26  # bytes that are read, worked on and written at once


def optional(module: str, extra: str) -> Any:
    """A package that not everybody needs."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Refused(f"this takes {module.split('.')[0]}, which is not installed: pip install 'vkrope[{extra}]'") from None


# ---- Reading ---------------------------------------------------------------------------------------------------------

@dataclass
class Stored:
    """An array in a file. `kind` is its type in a .safetensors; bfloat16 is uint16 in memory, and types that NumPy lacks
    are bytes."""
    name: str  # empty in an .npy
    kind: str
    shape: Tuple[int, ...]
    row_bytes: int  # of one index of the first axis
    load: Callable[[int, int], np.ndarray]  # rows, from the first to before the last
    metadata: Dict[str, str] = field(default_factory=dict)  # of its .safetensors

    def all(self) -> np.ndarray:
        return self.load(0, self.shape[0]) if self.shape else self.load(0, 1).reshape(())

    def blocks(self, multiple: int = 1) -> Iterator[np.ndarray]:
        """All rows in pieces of some MB, each a multiple of `multiple` rows, so that memory never holds the whole."""
        step = max(_PIECE // max(self.row_bytes * multiple, 1), 1) * multiple
        for first in range(0, self.shape[0], step):
            yield self.load(first, min(first + step, self.shape[0]))


def split_path(text: str) -> Tuple[str, str]:
    """FILE and NAME. A name may have any text in it."""
    found = re.fullmatch(r"(.*?\.(?:npz|safetensors|safetensors\.index\.json))(?::(.*))?", text, re.S)
    return (found.group(1), found.group(2) or "") if found else (text, "")


def open_arrays(option: str, text: str) -> List[Stored]:
    """The arrays that a text names; a * stands for any text in a name."""
    path, name = split_path(text)
    stored = _open_file(option, path)
    names = [known for known in stored if "*" in name and fnmatch.fnmatchcase(known, re.sub(r"([\[?])", r"[\1]", name))]
    if not names and (name in stored or len(stored) == 1 and not name):
        names = [name if name in stored else next(iter(stored))]
    if not names:
        shown = ", ".join(repr(known) for known in list(stored)[:4]) + (", ..." if len(stored) > 4 else "")
        raise Refused(f"{option}: {path} has no array {name!r}; it has {shown or 'none'}"
                      if name else f"{option}: {path} has {len(stored)} arrays; {path}:NAME names one: {shown}")
    try:
        return [stored[known]() for known in names]
    except (ValueError, EOFError, SyntaxError, zipfile.BadZipFile, zlib.error) as error:  # NumPy's, of an .npz
        raise Refused(f"{option}: {path} cannot be read: {str(error).splitlines()[0]}") from None


def open_array(option: str, text: str) -> Stored:
    found = open_arrays(option, text)
    if len(found) > 1:
        raise Refused(f"{option}: {text} names {len(found)} arrays; one is taken")
    return found[0]


def _open_file(option: str, path: str) -> Dict[str, Callable[[], Stored]]:
    """A file's arrays by their names, each as a call that opens it: the others are not read."""
    if path.endswith(".safetensors"):
        return _of_safetensors(option, path, None)
    if path.endswith(".safetensors.index.json"):
        return _of_index(option, path)
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, zipfile.BadZipFile) as error:
        raise Refused(f"{option}: {path} is no file of arrays: {str(error).splitlines()[0]}") from None
    if isinstance(found, np.ndarray):
        return {"": lambda: _of_numpy("", found)}
    return {name: functools.partial(lambda name: _of_numpy(name, found[name]), name) for name in found.files}


def _of_numpy(name: str, array: np.ndarray) -> Stored:
    kind = next((kind for kind, known in _TYPES.items() if np.dtype(known) == array.dtype and kind != "BF16"), "")
    row_bytes = array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    rows = array.reshape(array.shape or 1)
    return Stored(name, kind, array.shape, row_bytes, lambda first, last: rows[first:last])


def _of_safetensors(option: str, path: str, wanted: Optional[Sequence[str]]) -> Dict[str, Callable[[], Stored]]:
    """The library judges the header. Tensors are mapped where they lie: it has no bfloat16 for NumPy."""
    safetensors = optional("safetensors", "safetensors")
    os.stat(path)  # a path that leads nowhere is the system's error
    try:
        with safetensors.safe_open(path, framework="numpy"):
            pass
    except (safetensors.SafetensorError, OSError) as error:
        raise Refused(f"{option}: {path} is no .safetensors file: {error}") from None
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    metadata = header.pop("__metadata__", {})
    missing = [name for name in wanted or () if name not in header]
    if missing:
        raise Refused(f"{option}: {path} has no tensor {missing[0]!r}, which the index says it has")
    return {name: functools.partial(_mapped, path, 8 + size, name, header[name], metadata)
            for name in (header if wanted is None else wanted)}


def _mapped(path: str, begin: int, name: str, entry: Dict[str, Any], metadata: Dict[str, str]) -> Stored:
    shape, (first_byte, last_byte) = tuple(entry["shape"]), entry["data_offsets"]
    rows = shape[0] if shape else 1
    row_bytes = (last_byte - first_byte) // rows if rows else 0
    known = entry["dtype"] in _TYPES
    dtype = np.dtype(_TYPES.get(entry["dtype"], "u1"))
    inner = shape[1:] if known else (row_bytes,)

    def load(first: int, last: int) -> np.ndarray:
        if row_bytes == 0 or last <= first:
            return np.empty((max(last - first, 0), *inner), dtype)
        return np.memmap(path, dtype, "r", begin + first_byte + first * row_bytes, (last - first, *inner))

    return Stored(name, entry["dtype"], shape, row_bytes, load, metadata)


def _of_index(option: str, path: str) -> Dict[str, Callable[[], Stored]]:
    try:
        with open(path, "rb") as file:
            places = json.load(file)["weight_map"]
        files: Dict[str, List[str]] = {}
        for name, place in places.items():
            files.setdefault(place, []).append(name)
        if not all(isinstance(place, str) for place in files):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Refused(f"{option}: {path} is no index of a checkpoint; it must be JSON with \"weight_map\", which says the "
                      "file of each tensor") from None
    found: Dict[str, Callable[[], Stored]] = {}
    for place, names in files.items():
        if os.path.isabs(place) or ".." in place.replace("\\", "/").split("/") or "\0" in place:
            raise Refused(f"{option}: {path} has the file {place!r}; it must lie beside the index")
        found.update(_of_safetensors(option, os.path.join(os.path.dirname(path), place), names))
    return found


# ---- Writing ---------------------------------------------------------------------------------------------------------

@dataclass
class Written:
    """An array to be written, piece by piece."""
    option: str
    path: str  # FILE.npy, FILE.safetensors or FILE.safetensors:NAME
    name: str  # in a .safetensors where the path has none
    kind: str
    dtype: Any
    shape: Tuple[int, ...]
    bytes: int
    blocks: Iterable[np.ndarray]
    metadata: Dict[str, str] = field(default_factory=dict)


def _check_output(path: str, arrays: Sequence[Written]) -> None:
    """Refuses what could not be written, or would lose tensors."""
    option = arrays[0].option
    if not path.endswith((".npy", ".safetensors")):
        raise Refused(f"{option} is {arrays[0].path}; arrays are written to .npy and .safetensors")
    if not os.path.isdir(os.path.dirname(path)) or os.path.exists(path) and not os.path.isfile(path):
        raise Refused(f"{option} is {arrays[0].path}; outputs are files in folders that are there")
    names = [split_path(array.path)[1] or array.name for array in arrays]
    if len(set(names)) < len(names) or len(names) > 1 and path.endswith(".npy"):
        raise Refused(f"{arrays[-1].option} is {arrays[-1].path}, which another output is too; give each a path of its own")
    if path.endswith(".safetensors") and os.path.exists(path) and os.path.getsize(path):
        raise Refused(f"{option} is {arrays[0].path}, which is there; name another file, or delete it first")


@contextlib.contextmanager
def replacing(path: str) -> Iterator[Any]:
    """A file that takes the place of another when it is whole; otherwise nothing is left of it."""
    path = os.path.realpath(path)
    new = f"{path}.{os.getpid()}.new"
    try:
        with open(new, "wb") as file:
            yield file
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def write_arrays(arrays: Sequence[Written], what: str) -> None:
    files: Dict[str, List[Written]] = {}
    for array in arrays:
        files.setdefault(os.path.realpath(split_path(array.path)[0]), []).append(array)
    for path, own in files.items():
        _check_output(path, own)
    with _progress(what, sum(array.bytes for array in arrays)) as advance:
        for path, own in files.items():
            with replacing(path) as file:
                if path.endswith(".npy"):
                    header = {"descr": np.dtype(own[0].dtype).str, "fortran_order": False, "shape": own[0].shape}
                    np.lib.format.write_array_header_1_0(file, header)
                else:
                    own.sort(key=lambda array: -np.dtype(array.dtype).itemsize)  # each begins at a multiple of its size
                    _write_safetensors_header(file, own)
                for array in own:
                    for block in array.blocks:
                        file.write(np.ascontiguousarray(block))
                        advance(block.nbytes)


def _write_safetensors_header(file: Any, arrays: Sequence[Written]) -> None:
    """The library writes only what memory holds at once."""
    header: Dict[str, Any] = {}
    end = 0
    if any(array.metadata for array in arrays):
        header["__metadata__"] = {key: value for array in arrays for key, value in array.metadata.items()}
    for array in arrays:
        if not array.kind:
            raise Refused(f"{array.option} is {array.path}; a .safetensors has no type for {np.dtype(array.dtype)}")
        header[split_path(array.path)[1] or array.name] = {"dtype": array.kind, "shape": list(array.shape),
                                                           "data_offsets": [end, end + array.bytes]}
        end += array.bytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)


@contextlib.contextmanager
def _progress(what: str, size: int) -> Iterator[Callable[[int], Any]]:
    """A bar where the work takes more than two seconds, standard error is a terminal, and tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda count: None
        return
    with tqdm(total=size, desc=what, unit="B", unit_scale=True, delay=2, disable=None, leave=False) as bar:
        yield bar.update
