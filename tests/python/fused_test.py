#!/usr/bin/env python3
"""Device.fused, dequantize, add, bias and permute, held against publishers' vectors and against models in float64: see case.py."""
import os
import struct
import sys

from case import LLAMA, WHOLE, Case, devices, main, needs, np, opened, same_bits, vkrope
from model import angles, narrow, random, rotate, sinusoids, widen

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "caches")
BLOCKS = {"q8_0": 34, "q4_0": 18, "q4_1": 20, "q5_0": 22, "q5_1": 24, "iq4_nl": 18}  # in blocks.bin's order
FORMATS = ["f32", "f16", "bf16", *BLOCKS, "int8", "f8_e4m3", "f8_e5m2"]
ENCODING = vkrope.read(LLAMA)
DEEPSEEK = {"model_type": "deepseek_v3"}


def read_blocks():
    """What ggml makes of the elements, without those of denormal elements."""
    with open(os.path.join(DATA, "blocks.bin"), "rb") as file:
        data = file.read()
    count, used = struct.unpack("<2I", data[:8])
    elements = np.frombuffer(data, "<f4", 32 * count, 8).reshape(count, 32)
    at, used, made = 8 + elements.nbytes, used // 4 * 4, {}
    for name, size in BLOCKS.items():
        made[name] = np.frombuffer(data, np.uint8, count * size, at).reshape(count, size)[:used]
        at += count * size
    return elements[:used], made


def turned(x, first=0, begin=0, rotary=64, pairing="half", pairing_out=None, base=500000.0):
    """A rotation in float64, from a position on."""
    cos, sin = angles(np.arange(x.shape[1]) + first, base ** (-np.arange(0, rotary, 2) / rotary))
    return rotate(x, cos[None], sin[None], pairing, pairing_out, begin)


def hadamard(x, n):
    """Sylvester's matrix, over the root of n."""
    matrix = np.ones((1, 1))
    while len(matrix) < n:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return (x.reshape(*x.shape[:-1], -1, n) @ matrix / np.sqrt(n)).reshape(x.shape)


def rms(x, weights=1.0, plus=0.0, axes=-1):
    return x / np.sqrt(np.mean(x * x, axes, keepdims=True) + 1e-6) * (weights + plus)


class Caches(Case):
    def test_have_ggmls_bytes(self):
        elements, made = read_blocks()
        x = elements.reshape(1, -1, 1, 128).copy()
        for device in map(opened, devices()):
            for name, wanted in made.items():
                kept = device.fused(None, k=x, cache=name).k
                self.assertEqual(kept.data.tobytes(), wanted.tobytes(), (name, device.name))

    def test_are_widened_as_ggml_widens_them(self):
        path = sys.path.copy()
        sys.path[:] = [folder for folder in path if not os.path.exists(os.path.join(folder, "gguf.py"))]  # the tests' own
        try:
            gguf = needs("gguf")
        finally:
            sys.path[:] = path
        with np.errstate(all="ignore"):
            for name, blocks in read_blocks()[1].items():
                theirs = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name.upper()])
                self.assertTrue(np.array_equal(vkrope.dequantize(vkrope.Cache(blocks, name)), theirs, equal_nan=True), name)

    def test_of_float8_are_widened_as_publishers_do(self):
        with open(os.path.join(DATA, "float8_others.bin"), "rb") as file:
            data = file.read()
        at = 12 + 4 * struct.unpack("<I", data[:4])[0]
        codes = np.arange(256, dtype=np.uint8)[:, None]
        for name in ("f8_e4m3", "f8_e5m2"):
            ours = vkrope.dequantize(vkrope.Cache(codes, name, np.ones(256, np.float32)))[:, 0]
            for i in range(3):
                theirs = np.frombuffer(data, "<f4", 256, at + 1024 * i)
                self.assertTrue(np.array_equal(ours, theirs, equal_nan=True), (name, i))
            at += 3 * 1024

    def test_of_every_format_are_near_and_alike_on_every_device(self):
        q, k, v = random((2, 5, 4, 128), seed=1), random((2, 5, 2, 128), seed=2), random((2, 5, 2, 128), seed=3)
        encoding = vkrope.read({**LLAMA, "head_dim": 128})
        wanted = [hadamard(turned(x.astype(np.float64), 7, rotary=128), 128) for x in (q, k)] + [hadamard(v, 64)]
        bounds = dict(zip(FORMATS, (1e-6, 5e-4, 4e-3, 0.006, 0.1, 0.08, 0.05, 0.04, 0.12, 0.01, 0.05, 0.1)))
        bits = {}
        for name in devices():
            for form in FORMATS if WHOLE or name == "cpu" else ("q8_0", "f8_e4m3"):
                got = opened(name).fused(encoding, q, k, v, positions=7, cache=form, hadamard=True)
                kept = bits.setdefault(form, got)
                self.assertTrue(same_bits(got.q, kept.q), (name, form))
                self.assertLess(np.abs(got.q - wanted[0]).max(), 1e-5)
                for ours, first, true in ((got.k, kept.k, wanted[1]), (got.v, kept.v, wanted[2])):
                    self.assertTrue(same_bits(ours.data, first.data), (name, form))
                    self.assertTrue(ours.scales is None or same_bits(ours.scales, first.scales), (name, form))
                    wide = vkrope.dequantize(ours)
                    self.assertEqual((wide.shape, wide.dtype, ours.format), (true.shape, np.float32, form))
                    self.assertLess(np.abs(wide - true).max() / np.abs(true).max(), bounds[form], (name, form))

    def test_take_a_format_each_and_scales_of_float8(self):
        k, v = random((3, 2, 64), seed=4), random((3, 2, 64), seed=5)
        for device in map(opened, devices()):
            got = device.fused(None, k=k, v=v, cache=("f8_e4m3", "q8_0"), k_scale=[0.5, 0.25])
            self.assertEqual((got.k.format, got.v.format), ("f8_e4m3", "q8_0"))
            self.assertEqual(got.k.scales.tolist(), [[0.5, 0.25]] * 3)
            self.assertLess(np.abs(vkrope.dequantize(got.k) - k).max(), 0.05)
            one = device.fused(None, k=k, cache="f8_e4m3", k_scale=0.5).k
            self.assertTrue(same_bits(one.data[:, 0].copy(), got.k.data[:, 0].copy()))
            self.assertFalse(same_bits(one.data[:, 1].copy(), got.k.data[:, 1].copy()))


class Passes(Case):
    def expect(self, wanted, *arguments, tolerance=4e-6, **named):
        """The same bits from every device, near the model's."""
        first = None
        for name in devices():
            got = opened(name).fused(*arguments, **named)
            first = first or got
            for ours, same, true in zip(got, first, wanted):
                self.assertEqual(ours is None, true is None)
                if true is not None:
                    self.assertTrue(same_bits(ours, same), name)
                    self.assertEqual(ours.shape, true.shape)
                    self.assertLess(np.abs(widen(ours) - true).max(), tolerance * max(1, np.abs(true).max()), name)
        return first

    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = random((2, 6, 4, 64), seed=1), random((2, 6, 2, 64), seed=2), random((2, 6, 2, 64), seed=3)
        self.wide = [x.astype(np.float64) for x in (self.q, self.k, self.v)]

    def test_turn_as_rotate_does(self):
        got = self.expect([turned(self.wide[0], 3), turned(self.wide[1], 3), self.wide[2]], ENCODING, self.q, self.k, self.v,
                          positions=3)
        self.assertTrue(same_bits(got.q, vkrope.Device("cpu").rotate(ENCODING, self.q, 3)))
        self.assertTrue(same_bits(got.v, self.v))

    def test_norm_as_qwen3_and_gemma_do(self):
        a, b = random((64,), seed=4), random((64,), seed=5)
        self.expect([turned(rms(self.wide[0], a)), turned(rms(self.wide[1], b)), None], ENCODING, self.q, self.k, q_norm=a, k_norm=b)
        self.expect([turned(rms(self.wide[0], a, 1)), None, None], ENCODING, self.q, norm_plus=1.0, q_norm=a)
        self.expect([None, None, rms(self.wide[2])], ENCODING, v=self.v, v_norm=True)
        self.expect([None, None, rms(self.wide[2], a)], ENCODING, v=self.v, v_norm=a)

    def test_norm_all_heads_after_the_rotation_and_each_by_its_own(self):
        a = random((256,), seed=4)
        all_heads = rms(self.wide[0], a.reshape(4, 64), axes=(-2, -1))
        self.expect([turned(all_heads), None, None], ENCODING, self.q, q_norm=a)
        self.expect([turned(rms(self.wide[0], a.reshape(4, 64))), None, None], ENCODING, self.q, q_norm=a.reshape(4, 64))
        self.expect([rms(turned(self.wide[0])), None, None], ENCODING, self.q, q_norm=True, norm_after=True)
        less = self.wide[0] - self.wide[0].mean(-1, keepdims=True)
        self.expect([turned(rms(less)), None, None], ENCODING, self.q, q_norm=np.ones(64, np.float32), norm="layer")

    def test_add_biases(self):
        a, b, c = (random((heads, 64), seed=heads) for heads in (4, 2, 3))
        self.expect([turned(self.wide[0] + a), turned(self.wide[1] + b), self.wide[2] + c[:2]], ENCODING, self.q, self.k, self.v,
                    q_bias=a, k_bias=b.reshape(-1), v_bias=c[:2])
        self.expect([None, None, self.wide[2] + b], ENCODING, v=self.v, v_bias=b)

    def test_take_deepseeks_row(self):
        encoding = vkrope.read(DEEPSEEK)
        base = 10000.0
        q, row, weights = random((1, 5, 3, 192), seed=1), random((1, 5, 1, 576), seed=2), random((512,), seed=3)
        wide = row.astype(np.float64)
        wide[..., :512] = rms(wide[..., :512], weights)
        how = dict(pairing=encoding.pairing, pairing_out=encoding.pairing_out, base=base)
        self.expect([turned(q.astype(np.float64), 9, 128, **how), turned(wide, 9, 512, **how), None], encoding, q, row,
                    positions=9, k_norm=weights)

    def test_take_every_element_order_and_stride(self):
        for element in ("f16", "bf16"):
            x = narrow(self.q, element)
            named = {"element": "bf16"} if element == "bf16" else {}
            self.expect([turned(widen(x)), None, None], ENCODING, x, tolerance=1.6e-2, **named)
            weights = narrow(random((64,), seed=4), element)
            self.expect([turned(rms(widen(x), widen(weights))), None, None], ENCODING, x, tolerance=2e-2, q_norm=weights, **named)
        cpu = vkrope.Device("cpu")
        wanted = cpu.fused(ENCODING, self.q, self.k, self.v, cache="int8")
        swapped = [np.ascontiguousarray(np.swapaxes(x, 1, 2)) for x in (self.q, self.k, self.v)]
        got = cpu.fused(ENCODING, *swapped, order="bhsd", cache="int8")
        self.assertTrue(same_bits(np.swapaxes(got.q, 1, 2).copy(), wanted.q))
        self.assertTrue(same_bits(np.swapaxes(got.k.data, 1, 2).copy(), wanted.k.data))
        self.assertTrue(same_bits(np.swapaxes(got.v.scales, 1, 2).copy(), wanted.v.scales))
        one = cpu.fused(ENCODING, self.q[0], self.k[0])
        self.assertTrue(same_bits(one.k, cpu.fused(ENCODING, k=self.k).k[0]))
        packed = np.concatenate([self.q, self.k, self.v], 2)  # a projection's rows, split by views
        got = cpu.fused(ENCODING, packed[:, :, :4], packed[:, :, 4:6], packed[:, :, 6:], cache="int8")
        self.assertTrue(same_bits(got.k.data, wanted.k.data))

    def test_keep_scores_with_hadamard_blocks(self):
        cpu = vkrope.Device("cpu")
        plain, blocks = cpu.fused(ENCODING, self.q, self.k), cpu.fused(ENCODING, self.q, self.k, hadamard=True)
        scores = [np.einsum("bqhd,bkhd->bhqk", p.q[:, :, :2], p.k) for p in (plain, blocks)]
        self.assertLess(np.abs(scores[0] - scores[1]).max(), 1e-4)
        self.assertFalse(np.allclose(plain.k, blocks.k, atol=0.1))
        self.assertLess(np.abs(cpu.fused(None, blocks.k, hadamard=64).q - plain.k).max(), 1e-6)
        mixed = cpu.fused(None, self.q, v=self.v, hadamard=(32, 16))
        self.assertLess(np.abs(mixed.q - hadamard(self.wide[0], 32)).max(), 1e-6)
        self.assertLess(np.abs(mixed.v - hadamard(self.wide[2], 16)).max(), 1e-6)

    def test_turn_by_several_axes(self):
        config = {"model_type": "qwen2_vl", "hidden_size": 256, "num_attention_heads": 4, "rope_theta": 500000.0,
                  "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}}
        positions = np.random.default_rng(3).integers(0, 99, (3, 2, 6))
        encoding, cpu = vkrope.read(config), vkrope.Device("cpu")
        got = cpu.fused(encoding, self.q, self.k, positions=positions, cache="f32")
        self.assertTrue(same_bits(got.q, cpu.rotate(encoding, self.q, positions)))
        self.assertTrue(same_bits(got.k.data, cpu.rotate(encoding, self.k, positions)))

    def test_that_contradict_themselves_are_refused(self):
        fused = vkrope.Device("cpu").fused
        self.refused("q, k and v are missing", fused, ENCODING)
        self.refused("a cache takes k and v", fused, ENCODING, self.q, cache="f16")
        self.refused("cache is 'q9'; it is one of 'f32', 'f16'", fused, ENCODING, k=self.k, cache="q9")
        self.refused("there is a k_norm, but no k", fused, ENCODING, self.q, k_norm=True)
        self.refused("q, k and v are alike", fused, ENCODING, self.q, self.k[:, :3])
        self.refused("q_norm has the shape [65]; it is [64], [4, 64] or [256]", fused, ENCODING, self.q, q_norm=np.ones(65, np.float32))
        self.refused("k_bias has the shape [3]", fused, ENCODING, k=self.k, k_bias=np.ones(3, np.float32))
        self.refused("its cache is q8_0; float8 takes one", fused, ENCODING, k=self.k, cache="q8_0", k_scale=1.0)
        self.refused("no cache in float8", fused, ENCODING, k=self.k, k_scale=1.0)
        self.refused("3 values", fused, ENCODING, k=self.k, cache="f8_e5m2", k_scale=[1.0, 2.0, 3.0])
        self.refused("multiple of 64", fused, None, random((3, 2, 80)), hadamard=True)
        self.refused("it must be a multiple of 32", fused, None, k=random((3, 2, 80)), cache="q8_0")
        self.refused("it is one value, or one for each of two", fused, None, k=self.k, cache=("f16",) * 3)
        self.refused("hadamard", fused, None, k=self.k, hadamard=48)
        self.refused("epsilon", fused, None, k=self.k, k_norm=True, epsilon=-1.0)
        self.refused("type dict", fused, LLAMA, self.q)
        cache = fused(None, k=self.k, cache="int8").k
        self.refused("scales of the shape [2, 6, 2]", vkrope.dequantize, vkrope.Cache(cache.data, "int8"))
        self.refused("an array of int8", vkrope.dequantize, vkrope.Cache(self.k, "int8", cache.scales))
        self.refused("blocks of 34 bytes", vkrope.dequantize, vkrope.Cache(cache.data.view(np.uint8), "q8_0"))
        self.refused("type ndarray", vkrope.dequantize, self.k)


class Additions(Case):
    def test_are_sinusoids_or_rows_of_a_table(self):
        x, table = random((2, 5, 64)), random((9, 64), seed=2)
        for name in devices():
            add = opened(name).add
            for order in ("interleaved", "halves"):
                for first in (False, True):
                    got = add(x, 3, order=order, cosine_first=first, scale=8.0, base=50.0)
                    true = 8.0 * x + sinusoids(np.arange(3, 8), 64, 50.0, order, first)
                    self.assertLess(np.abs(got - true).max(), 2e-6)
            positions = np.array([[0, 4, 2, -2, 6], [1, 1, 1, 1, 1]])
            self.assertTrue(same_bits(add(x, positions, table=table, first_position=-2), x + table[positions + 2]))
            self.assertTrue(same_bits(add(x[0], range(5), table=table), x[0] + table[:5]))
            own = vkrope.Encoding([1.0, 0.5] * 16)
            self.assertLess(np.abs(add(x, range(5), encoding=own)[0, 3, :2] - x[0, 3, :2] - [np.sin(3), np.cos(3)]).max(), 1e-6)
        cpu = vkrope.Device("cpu")
        self.refused("position 9, outside the table of 9 rows", cpu.add, x, 5, table=table)
        self.refused("a rotary part of 64 elements has 32 pairs", cpu.add, x, 5, encoding=vkrope.Encoding([1.0] * 16))
        self.refused("[positions, dim] with a dim of 64", cpu.add, x, 5, table=table[:, :32])


class QueryScales(Case):
    def test_are_the_models_formula(self):
        ministral = vkrope.read({"model_type": "ministral3"})
        self.assertEqual(ministral.query_scale, [0.1, 16384, 0])
        self.assertIsNone(ENCODING.query_scale)
        q, k = random((1, 6, 2, 64)), random((1, 6, 2, 64), seed=2)
        positions = np.array([0, 9, 10, 31, 32, 1000])
        for device in map(opened, devices()):
            for beta, interval, offset in ((0.5, 10, 1), (0.1, 1, 0), (-0.25, 4096, 3)):
                wanted = 1 + beta * np.log(1 + np.floor((positions + offset) / interval))
                for encoding in (ENCODING, None):
                    plain = device.fused(encoding, q, k, positions=positions)
                    got = device.fused(encoding, q, k, positions=positions, query_scale=(beta, interval, offset))
                    self.assertLess(np.abs(got.q - plain.q * wanted[None, :, None, None]).max(), 2e-6)
                    self.assertTrue(same_bits(got.k, plain.k))
        fused = vkrope.Device("cpu").fused
        self.refused("query_scale is 3; it is (beta, interval, offset)", fused, ENCODING, q, query_scale=3)
        self.refused("interval is 0", fused, ENCODING, q, query_scale=(0.1, 0, 0))
        self.refused("65536", fused, ENCODING, q, positions=2**31 - 10, query_scale=(0.1, 1, 0))
        self.refused("no heads", fused, ENCODING, None, k, query_scale=(0.1, 4, 0))


class Biases(Case):
    def test_are_those_of_their_papers(self):
        behind = np.arange(6)[None] - (np.arange(4) + 2)[:, None]  # key less query
        slopes = np.array([2.0 ** -4, 2.0 ** -8, 2.0 ** -2])
        rows, weights = random((7, 3), seed=4), random((32, 3), seed=5)
        clipped = np.moveaxis(rows[np.clip(-behind, -3, 3) + 3], -1, 0)
        t5 = np.moveaxis(weights[np.maximum(-behind, 0)], -1, 0)  # distances below 16 are their own buckets
        for device in map(opened, devices()):
            alibi = device.bias("alibi", heads=3, queries=4, keys=6, first_query=2)
            self.assertTrue(np.array_equal(alibi, (slopes[:, None, None] * behind).astype(np.float32)))
            both = device.bias("alibi", heads=3, queries=4, keys=6, first_query=2, bidirectional=True, causal=True)
            self.assertTrue((np.isneginf(both) == (behind > 0)[None]).all())
            self.assertTrue(np.array_equal(device.bias("clipped", weights=rows, least=-3, queries=4, keys=6, first_query=2), clipped))
            self.assertTrue(np.array_equal(device.bias("t5", weights=weights, queries=4, keys=6, first_query=2), t5))
        bias = vkrope.Device("cpu").bias
        self.refused("weights go with", bias, "alibi", weights=rows, heads=3, queries=4, keys=6)
        self.refused("weights are missing", bias, "t5", queries=4, keys=6)
        self.refused("queries is 0", bias, "alibi", heads=3, queries=0, keys=6)
        self.refused("heads is 0", bias, "alibi", queries=4, keys=6)
        self.refused("3 heads, but there are 2", bias, "t5", heads=2, queries=4, keys=6, weights=weights)
        self.refused("'t5', 'clipped', 'alibi'", bias, "t6", queries=4, keys=6)


class Permutations(Case):
    def test_make_the_other_pairing(self):
        weights, hidden = random((3 * 24, 40), seed=3).astype(np.float64), random((1, 6, 40), seed=4)
        cpu, frequencies = vkrope.Device("cpu"), 10000.0 ** (-np.arange(8) / 8)
        for to, old in (("half", "interleaved"), ("interleaved", "half")):
            new = vkrope.permute(weights, to, 24, rotary_dim=16)
            self.assertTrue(same_bits(vkrope.permute(new, old, 24, rotary_dim=16), weights))
            x, y = ((hidden @ w.T).reshape(1, 6, 3, 24).astype(np.float32) for w in (weights, new))
            x = cpu.rotate(vkrope.Encoding(frequencies, pairing=old), x, 0)
            y = cpu.rotate(vkrope.Encoding(frequencies, pairing=to), y, 0)
            self.assertTrue(same_bits(vkrope.permute(x.reshape(-1, 24).T, to, 24, rotary_dim=16).T.copy(), y.reshape(-1, 24)))
        self.assertEqual(vkrope.permute(np.arange(8), "half", 4).tolist(), [0, 2, 1, 3, 4, 6, 5, 7])
        self.refused("[8]; its first axis must be heads * head_dim with head_dim 3", vkrope.permute, np.arange(8), "half", 3)
        self.refused("from 1 to 65536", vkrope.permute, np.zeros((1 << 30, 0)), "half", 1 << 30)
        self.refused("from 8 on does not fit a head of 8", vkrope.permute, np.arange(8), "half", 8, rotary_begin=8)
        self.refused("'half', 'interleaved'", vkrope.permute, np.arange(8), "both", 4)


if __name__ == "__main__":
    main()
