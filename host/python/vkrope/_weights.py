"""Weights that were made for one pairing are permuted to the other."""
from typing import Any, Sequence

import numpy as np

from ._encoding import PAIRINGS
from ._arrays import tensor
from ._library import Refused, address, ask, choose, count


def permutation(shape: Sequence[int], to: str, head_dim: int, *, rotary_dim: int = 0, rotary_begin: int = 0,
                name: str = "the array") -> np.ndarray:
    """The old row of each new one, in a head of weights of that shape."""
    pairing = choose("to", {key: value for key, value in PAIRINGS.items() if key}, to)
    size, begin = count("head_dim", head_dim, 1, 65536), count("rotary_begin", rotary_begin)
    if not shape or shape[0] == 0 or shape[0] % size:
        raise Refused(f"{name} has the shape {list(shape)}; its first axis must be heads * head_dim with head_dim {size}")
    order = np.empty(size, np.uint32)
    ask("ropePairPermutation", size, begin, count("rotary_dim", rotary_dim) or max(size - begin, 0), pairing, address(order))
    return order


def permute(weights: Any, to: str, head_dim: int, *, rotary_dim: int = 0, rotary_begin: int = 0) -> np.ndarray:
    """Weights, or biases, of any type, [heads * head_dim, ...], whose rotations are of the pairing `to`: "half" or
    "interleaved". They were made for the other. Give `rotary_dim` and `rotary_begin` where not all of a head turns."""
    array = tensor("weights", weights)
    order = permutation(array.shape, to, head_dim, rotary_dim=rotary_dim, rotary_begin=rotary_begin)
    by_head = array.reshape(-1, len(order), *array.shape[1:])
    return by_head[:, order].reshape(array.shape)
