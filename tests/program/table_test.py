import os

import numpy as np

from model import angles, axes_of, axis_angles, frequencies, positions_of_axes, write_axes, write_config, write_scaled
from program import devices, run, test


@test
def table_is_numpys_cos_and_sin():
    write_scaled(1.25, 10)
    os.rename("config.json", "scaled.json")
    write_config()
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
        run("table", "--config", "scaled.json", "--positions", "positions.npy", "--cos", "c.npy", "--sin", "s.npy", "--device",
            device)
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
    write_axes("contiguous", [4, 6, 6])
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
            run("table", "--config", "config.json", "--positions", "5:14" if array is None else "p.npy", "--cos", "c.npy", "--sin",
                "s.npy", "--device", device)
            cos, sin = axis_angles(meant, axes, values)
            got = np.load("c.npy"), np.load("s.npy")
            assert got[0].shape == got[1].shape == (*shape, 16), f"{name}: {got[0].shape}"
            for one, wanted in zip(got, (cos, sin)):
                assert np.abs(one - wanted.reshape(one.shape)).max() < 1.2e-7, name
            if device != "reference":
                bits.setdefault(name, set()).add(got[0].tobytes() + got[1].tobytes())
    assert all(len(one) == 1 for one in bits.values()), "the devices' tables differ"
