import os

import numpy as np

from model import angles, axes_of, axis_angles, frequencies, positions_of_axes, write_config
from program import devices, expect_refusal, run, test


@test
def table_is_numpys_cos_and_sin():
    write_config()
    np.save("f.npy", frequencies(10000, 10))
    np.save("positions.npy", np.array([[0, -7, 4], [100000, 65535, -2]], np.int64))
    tables = {}
    for device in devices():
        text, _ = run("table", "--config", "config.json", "--positions", "-8:4096", "--cos", "c.npy", "--sin", "s.npy",
                      "--device", device)
        assert text.startswith(str(4104 * 32 * 8)), text
        cos, sin = np.load("c.npy"), np.load("s.npy")
        assert cos.dtype == sin.dtype == np.float32 and cos.shape == sin.shape == (4104, 32)
        wanted = angles(np.arange(-8, 4096), frequencies())
        # numpy rounds its products and powers, 4096 radians by 2^-41 each
        assert max(np.abs(cos - wanted[0]).max(), np.abs(sin - wanted[1]).max()) < 2**-24.8
        tables[device] = (cos.tobytes(), sin.tobytes())
        run("table", "--frequencies", "f.npy", "--scale", "1.25", "--positions", "positions.npy", "--cos", "c.npy",
            "--sin", "s.npy", "--device", device)
        wanted = angles(np.load("positions.npy"), frequencies(10000, 10), 1.25)
        assert np.load("c.npy").shape == (2, 3, 5)
        assert np.abs(np.load("c.npy") - wanted[0]).max() < 1.2e-7
        assert np.abs(np.load("s.npy") - wanted[1]).max() < 1.2e-7
    bits = [tables[device] for device in tables if device != "reference"]
    assert all(b == bits[0] for b in bits), "the devices' tables differ"


@test
def table_of_compatible_angles_is_float32s():
    write_config()
    for device in devices():
        run("table", "--config", "config.json", "--positions", "0:100000", "--angle", "compatible", "--cos", "c.npy",
            "--sin", "s.npy", "--device", device)
        turned = np.multiply.outer(np.arange(100000, dtype=np.float32), frequencies().astype(np.float32))
        assert turned.dtype == np.float32
        assert np.abs(np.load("c.npy") - np.cos(turned.astype(np.float64))).max() < 2**-24.8
        assert np.abs(np.load("s.npy") - np.sin(turned.astype(np.float64))).max() < 2**-24.8


@test
def tables_of_several_axes_are_numpys():
    values = frequencies(10000, 32)
    np.save("f.npy", values)
    axes = axes_of("contiguous", [4, 6, 6])
    whole, fractions = positions_of_axes(3, 2, 9), positions_of_axes(3, 2, 9) / 8 + 1 / 3
    bits = {}
    for device in devices():
        for name, array, meant, shape in [
                ("[axes, batch, tokens]", whole, whole, (2, 9)), ("[axes, tokens]", whole[:, 1], whole[:, 1:], (9,)),
                ("[axes, 1, tokens]", whole[:, 1:], whole[:, 1:], (1, 9)),
                ("[2, tokens]", whole[0], whole[[0, 0, 0]], (2, 9)), ("floats", fractions, fractions, (2, 9)),
                ("a range", None, np.broadcast_to(np.arange(5, 14), (3, 1, 9)), (9,))]:
            if array is not None:
                np.save("p.npy", array)
            run("table", "--frequencies", "f.npy", "--scale", "1.5", "--sections", "4,6,6", "--positions",
                "5:14" if array is None else "p.npy", "--cos", "c.npy", "--sin", "s.npy", "--device", device)
            cos, sin = axis_angles(meant, axes, values, 1.5)
            got = np.load("c.npy"), np.load("s.npy")
            assert got[0].shape == got[1].shape == (*shape, 16), f"{name}: {got[0].shape}"
            for one, wanted in zip(got, (cos, sin)):
                assert np.abs(one - wanted.reshape(one.shape)).max() < 1.2e-7, name
            if device != "reference":
                bits.setdefault(name, set()).add(got[0].tobytes() + got[1].tobytes())
    assert all(len(one) == 1 for one in bits.values()), "the devices' tables differ"


@test
def tables_are_made_in_every_format_of_rows():
    values = frequencies(10000, 10)
    np.save("f.npy", values)
    np.save("p.npy", np.array([[0, 7, -3], [1, 2, 100000]]))
    for positions, shape in [("-2:5", (7,)), ("p.npy", (2, 3))]:
        for device in devices():
            table = ["table", "--frequencies", "f.npy", "--scale", "1.5", "--positions", positions, "--device", device]
            run(*table, "--cos", "c.npy", "--sin", "s.npy")
            cos, sin = np.load("c.npy"), np.load("s.npy")
            assert cos.shape == (*shape, 5)
            run(*table, "--format", "two-arrays", "--cos", "c2.npy", "--sin", "s2.npy")
            assert open("c2.npy", "rb").read() + open("s2.npy", "rb").read() == \
                open("c.npy", "rb").read() + open("s.npy", "rb").read()
            run(*table, "--format", "duplicated", "--cos", "c2.npy", "--sin", "s2.npy")
            for got, one in [("c2.npy", cos), ("s2.npy", sin)]:
                assert np.array_equal(np.load(got), np.concatenate([one, one], -1)), device
            for name, wanted in [("split", np.concatenate([cos, sin], -1)), ("interleaved", np.stack([cos, sin], -1)),
                                 ("complex", (cos + 1j * sin).astype(np.complex64))]:
                text, _ = run(*table, "--format", name, "--out", "o.npy")
                got = np.load("o.npy")
                assert got.dtype == wanted.dtype and np.array_equal(got, wanted), f"{name} on {device}"
                assert text.startswith(f"{got.nbytes} bytes: "), text
    before = sorted(os.listdir("."))
    table = ["table", "--frequencies", "f.npy", "--positions", "0:3"]
    for arguments, sentence in [
            (["--format", "split", "--cos", "o.npy", "--sin", "o2.npy"], "--format split is one array; --out names"),
            (["--format", "complex"], "--format complex is one array"),
            (["--format", "complex", "--out", "o.npy", "--sin", "o2.npy"], "--format complex is one array"),
            (["--out", "o.npy"], "--format two-arrays is two arrays; --cos and --sin name"),
            (["--format", "duplicated", "--cos", "o.npy"], "--format duplicated is two arrays"),
            (["--format", "rows", "--out", "o.npy"], "rows")]:
        expect_refusal(" ".join(arguments), table + arguments, sentence, before)
