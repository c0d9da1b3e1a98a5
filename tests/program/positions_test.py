import os

import numpy as np

from model import random, write_config
from program import expect_refusal, test

FAR = [2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 2**32 + 5]


@test
def positions_beyond_int32_are_refused():
    write_config()
    np.save("p.npy", np.array([[7, 1, 3, 2], [1, 2, FAR[0], FAR[1]]]))
    np.save("q.npy", random((2, 4, 2, 64)))
    sentence = "--positions has 2147483648 for token 2 of sequence 1, outside int32, -2147483648 to 2147483647\n"
    before = sorted(os.listdir("."))
    given = ["--config", "config.json", "--positions", "p.npy", "--device", "cpu"]
    for command in (["rotate", "--q", "q.npy", "--q-out", "o.npy"], ["table", "--cos", "o.npy", "--sin", "o2.npy"]):
        expect_refusal(command[0], [*command, *given], sentence, before)
    for far in FAR:
        np.save("p.npy", np.array([0, 2**31 - 1, -(2**31), far]))
        expect_refusal(str(far), ["rotate", *given, "--q", "q.npy", "--q-out", "o.npy"], f"--positions has {far} for token 3, ", before)
