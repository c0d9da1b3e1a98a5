"""Weights that were made for one pairing are permuted to the other."""
from typing import Any, Sequence

import numpy as np

from ._encoding import PAIRINGS
from ._arrays import tensor
from ._library import Refused, address, ask, choose, count

_MOST = 65536  # rows of a head


def permutation(shape: Sequence[int], to: str, *, heads: int = 0, head_dim: int = 0, rotary_dim: int = 0,
                rotary_begin: int = 0, name: str = "the array") -> np.ndarray:
    """The old row of each new one, in a head of weights of that shape."""
    pairing = choose("to", {key: value for key, value in PAIRINGS.items() if key}, to)
    heads, head_dim = count("heads", heads), count("head_dim", head_dim)
    if bool(heads) == bool(head_dim):
        raise Refused("the heads are missing; heads says how many there are, or head_dim their size"
                      if not heads else "heads and head_dim say the same; one of them is given")
    rows = shape[0] if shape else 0
    given, word = (heads, "heads") if heads else (head_dim, "head_dim")
    if rows == 0 or rows % given:
        raise Refused(f"{name} has the shape {list(shape)}; its first axis must be heads * head_dim with {word} {given}")
    size = rows // heads if heads else head_dim
    if size > _MOST:
        raise Refused(f"{name} has the shape {list(shape)}, which makes heads of {size} rows; they may have {_MOST}")
    begin = count("rotary_begin", rotary_begin)
    if begin >= size:
        raise Refused(f"the rotary part from element {begin} on does not fit into heads of {size}")
    order = np.empty(size, np.uint32)
    ask("ropePairPermutation", size, begin, count("rotary_dim", rotary_dim) or size - begin, pairing, address(order))
    return order


def permute(weights: Any, to: str, *, heads: int = 0, head_dim: int = 0, rotary_dim: int = 0, rotary_begin: int = 0) -> np.ndarray:
    """Weights, or biases, of any type, [heads * head_dim, ...], whose rotations are of the pairing `to`: "half" or
    "interleaved". They were made for the other. Give `heads` or `head_dim`, and where not all of a head turns
    `rotary_dim` and `rotary_begin`."""
    array = tensor("weights", weights)
    order = permutation(array.shape, to, heads=heads, head_dim=head_dim, rotary_dim=rotary_dim, rotary_begin=rotary_begin)
    by_head = array.reshape(-1, len(order), *array.shape[1:])
    return by_head[:, order].reshape(array.shape)
