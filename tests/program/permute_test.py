import os

import numpy as np

from model import frequencies, indices, random
from program import devices, expect_refusal, run, test


@test
def permuted_weights_rotate_as_the_other_pairing():
    values = frequencies(10000, 16)
    np.save("f.npy", values)
    weights, hidden = random((3 * 24, 40), seed=3).astype(np.float64), random((1, 6, 40), seed=4).astype(np.float64)
    for to, old in [("half", "interleaved"), ("interleaved", "half")]:
        np.save("w.npy", weights)
        run("permute", "--to", to, "--heads", "3", "--rotary-dim", "16", "w.npy", "-o", "new.npy")
        new = np.load("new.npy")
        assert new.dtype == np.float64 and new.shape == weights.shape
        results = []
        for matrix, pairing in [(weights, old), (new, to)]:
            np.save("q.npy", (hidden @ matrix.T).reshape(1, 6, 3, 24).astype(np.float32))
            run("rotate", "--frequencies", "f.npy", "--positions", "0:6", "--q", "q.npy", "--q-out", "o.npy", "--pairing",
                pairing, "--device", devices()[0])
            results.append(np.load("o.npy"))
        first, second = indices(old, 16, 0)
        first_out, second_out = indices(to, 16, 0)
        moved = results[0].copy()
        moved[..., first_out], moved[..., second_out] = results[0][..., first], results[0][..., second]
        assert np.array_equal(moved, results[1]), to
        run("permute", "--to", old, "--heads", "3", "--rotary-dim", "16", "new.npy", "-o", "new.npy")
        assert np.array_equal(np.load("new.npy"), weights)
    np.save("bias.npy", np.arange(8, dtype=np.int32))
    np.save("bomb.npy", np.zeros((1 << 30, 0), np.float32)) # rows of no bytes, of which memory cannot hold the order
    expect_refusal("a head of 2^30 rows", ["permute", "--to", "half", "--heads", "1", "--rotary-dim", "2", "bomb.npy", "-o", "o.npy"],
                   "which makes heads of 1073741824 rows; they may have 65536", sorted(os.listdir(".")))
    said = run("permute", "--to", "half", "--heads", "2", "bias.npy", "-o", "bias_half.npy")[0]
    assert np.load("bias_half.npy").tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert said == "bias.npy: [8], 2 heads of 4\n", said
    assert run("permute", "--to", "half", "--head-dim", "4", "bias.npy", "-o", "other.npy")[0] == said
    assert np.array_equal(np.load("other.npy"), np.load("bias_half.npy"))
