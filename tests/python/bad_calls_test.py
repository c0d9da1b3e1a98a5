#!/usr/bin/env python3
"""Drawn bad calls of the package: each is an exception with one sentence, and never a crash. See case.py.

A draw takes a call that is right and spoils some of its arguments: a shape, a type of elements, a name, a number, a device, an
index, a file. It may still be right: then it gives an answer."""
import os
import warnings

from case import LLAMA, WHOLE, Case, main, np, vkrope, write
from model import random

DRAWS = 5000 if WHOLE else 200
WORDS = ["", "q8_0", "half", "t5", "bshd", "shd", "\0", "ü" * 300, "none", "../x", "bf16", "exact"]
NUMBERS = [0, -1, 1, 3, 63, 2**31 - 1, 2**31, 2**32, 2**64, 10**30, 1.5, -0.0, float("nan"), float("inf"), 1e300]
OTHERS = [None, True, False, [], {}, object(), "7", b"x", [[1, 2], [3]], (1, 2), (1, 2, 3), range(0), range(5, 0, -1), range(3, 9, 2),
          1j, np.float32(3), np.array(3), np.array("x")]


def spoiled_array(rng, right):
    """An array of another shape, type or place in memory."""
    x = np.asarray(right)
    if x.ndim == 0 or x.dtype == object:
        return np.zeros((2, 3))
    ways = [lambda: x[..., :-1], lambda: x[:0], lambda: x[None], lambda: x[0], lambda: x.astype(np.float64), lambda: x.astype(">f4"),
            lambda: x.astype(np.int8), lambda: x.astype(np.complex64), lambda: x.astype(object), lambda: x[..., ::-1], lambda: x.T,
            lambda: np.broadcast_to(x[:1], x.shape), lambda: x.astype(np.uint16), lambda: np.full_like(x, np.nan) if x.dtype.kind == "f" else x,
            lambda: np.empty((0,) * x.ndim, x.dtype), lambda: np.zeros((1,) * 9, x.dtype), lambda: x.tolist(), lambda: x.astype("S4"),
            lambda: np.frombuffer(b"\0" + x.tobytes() + b"\0" * 3, np.uint8)[1:1 + x.nbytes].view(x.dtype).reshape(x.shape),
            lambda: np.lib.stride_tricks.as_strided(x, x.shape, [0] * x.ndim), lambda: np.repeat(x, 3, -1)]
    return ways[rng.integers(len(ways))]()


def spoil(rng, right):
    pick = rng.integers(4)
    if pick == 0:
        return WORDS[rng.integers(len(WORDS))]
    if pick == 1:
        return NUMBERS[rng.integers(len(NUMBERS))]
    return OTHERS[rng.integers(len(OTHERS))] if pick == 2 else spoiled_array(rng, right)


class Calls(Case):
    def calls(self):
        x, flat = random((2, 5, 4, 64)), random((2, 5, 64))
        cpu, encoding, rows = vkrope.Device("cpu"), vkrope.read(LLAMA), np.arange(5)
        cache = cpu.fused(None, k=x, cache="int8").k
        write(LLAMA)
        return [
            (vkrope.Device, dict(select="cpu")),
            (vkrope.read, dict(config="config.json", layer_type="", layer=None, length=0, rotary_dim=0)),
            (vkrope.read, dict(config=dict(LLAMA))),
            (vkrope.Encoding, dict(frequencies=np.ones(32), scale=1.0, axes=np.zeros(32), head_dim=64, rotary_begin=0, skip_first=0)),
            (cpu.table, dict(encoding=encoding, positions=rows, angle="exact")),
            (cpu.rotate, dict(encoding=encoding, x=x, positions=rows, order="bshd", element=None, pairing=None,
                              pairing_out=None, operation="forward", angle="exact")),
            (cpu.fused, dict(encoding=encoding, q=x, k=x[:, :, :2], v=x[:, :, 2:], positions=rows, order="bshd", element=None, cache="q8_0",
                             hadamard=64, norm="rms", q_norm=np.ones(64, np.float32), k_norm=True, v_norm=None, epsilon=1e-6,
                             norm_plus=0.0, norm_after=False, q_bias=np.ones(256, np.float32))),
            (cpu.fused, dict(encoding=None, k=x, cache="f8_e4m3", k_scale=1.0)),
            (cpu.fused, dict(encoding=encoding, q=x, positions=rows, query_scale=(0.1, 2, 1))),
            (cpu.add, dict(x=flat, positions=rows, table=random((9, 64)), first_position=0, base=1e4, scale=1.0)),
            (cpu.add, dict(x=flat, positions=0, encoding=encoding, order="halves", cosine_first=False, angle="exact")),
            (cpu.bias, dict(kind="alibi", heads=3, queries=4, keys=6, causal=True, first_query=2)),
            (cpu.bias, dict(kind="t5", weights=random((32, 3)), queries=4, keys=6, max_distance=128, bidirectional=True)),
            (cpu.bias, dict(kind="clipped", weights=random((7, 3)), queries=4, keys=6, least=-3, heads=0)),
            (vkrope.Cache, dict(data=cache.data, format="int8", scales=cache.scales)),
            (vkrope.permute, dict(weights=random((128, 3)), to="half", head_dim=64, rotary_dim=32, rotary_begin=0)),
        ]

    def test_that_are_drawn_are_refused_or_answered(self):
        rng, refused, answered, sentences = np.random.default_rng(1), 0, 0, set()
        calls = self.calls()
        for draw in range(DRAWS):
            function, right = calls[draw % len(calls)]
            given = dict(right)
            for name in rng.choice(list(right), rng.integers(1, min(3, len(right)) + 1), replace=False):
                given[name] = spoil(rng, right[name])
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    answer = function(**given)
                    if isinstance(answer, vkrope.Cache):
                        vkrope.dequantize(answer)
                answered += 1
            except (vkrope.Refused, OSError) as error:  # OSError: a configuration's file
                refused += 1
                sentence = str(error)
                sentences.add(sentence)
                self.assertTrue(sentence and "\n" not in sentence.strip(), sentence)
            except Exception as error:
                shown = {name: type(value).__name__ if isinstance(value, np.ndarray) else value for name, value in given.items()}
                raise AssertionError(f"draw {draw}: {function}({shown}) raised {type(error).__name__}: {error}") from error
        print(f"{DRAWS} draws: {refused} refused in {len(sentences)} sentences, {answered} answered")
        self.assertGreater(refused, DRAWS // 2)
        self.assertEqual(os.listdir("."), ["config.json"])

    def test_of_right_arguments_are_answered(self):
        for function, right in self.calls():
            function(**right)


if __name__ == "__main__":
    main()
