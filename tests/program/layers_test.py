"""Layers that do not rotate, and layers that rotate otherwise, as the program says them."""
import json
import os

import numpy as np

from gguf import gguf
from model import random
from program import expect_refusal, run, test

SMOLLM = dict(model_type="smollm3", num_hidden_layers=8)
GEMMA = dict(model_type="gemma3_text", num_hidden_layers=12)
GRANITE = dict(model_type="granite_swa", num_hidden_layers=4, layer_rope_theta=[10000, 5000000, 0, 10000])


def write(config):
    with open("config.json", "w") as file:
        json.dump(config, file)


@test
def answers_say_which_layers_they_are_for():
    said = {"smollm3": "the frequencies are those of layers 0-2, 4-6; layers 3, 7 do not rotate",
            "gemma3_text": "the frequencies are those of layers 5, 11 (full_attention); layers 0-4, 6-10 "
                           "(sliding_attention) have others"}
    np.save("q.npy", random((1, 4, 1, 128)))
    for config in (SMOLLM, GEMMA):
        write({**config, "head_dim": 128})
        line = said[config["model_type"]]
        assert run("frequencies", "--config", "config.json")[0].splitlines()[1] == line
        table = ["table", "--config", "config.json", "--positions", "0:4", "--cos", "c.npy", "--sin", "s.npy"]
        assert run(*table, "--device", "reference")[1] == f"vkrope table: note: {line}\n"
        rotation = ["rotate", "--config", "config.json", "--positions", "0:4", "--q", "q.npy", "--q-out", "o.npy"]
        assert run(*rotation, "--device", "reference")[1] == f"vkrope rotate: note: {line}\n"
    write(dict(model_type="llama", num_hidden_layers=32))
    assert len(run("frequencies", "--config", "config.json")[0].splitlines()) == 3 + 64
    assert run("table", "--config", "config.json", "--positions", "0:4", "--cos", "c.npy", "--sin", "s.npy", "--device",
               "reference")[1] == ""


@test
def a_gguf_of_two_rotations_is_read_as_a_config_is():
    keys = {"embedding_length": 2048, "attention.head_count": 8, "attention.sliding_window": 1024, "block_count": 12}
    with open("model.gguf", "wb") as file:
        file.write(gguf("gemma3", {**keys, "rope.freq_base_swa": 5}, {}))
    for options, said in [([], "layers 5, 11 (full_attention); layers 0-4, 6-10 (sliding_attention) have others"),
                          (["--layer-type", "sliding_attention"], "layers 0-4, 6-10 (sliding_attention); layers 5, 11 ("
                                                                  "full_attention) have others")]:
        text, errors = run("frequencies", "--config", "model.gguf", *options)
        assert text.splitlines()[1] == f"the frequencies are those of {said}" and errors == "", text


@test
def layers_are_asked_for_by_number():
    asked = ["frequencies", "--config", "config.json", "--json"]
    write(GRANITE)
    for layer, base in [(0, 10000), (1, 5000000), (3, 10000)]:
        got = json.loads(run(*asked, "--layer", layer)[0])
        assert got["base"] == base and got["still_layers"] == [2] and layer in got["layers"], got
    assert json.loads(run(*asked, "--layer", 1, "--layer-type", "sliding_attention")[0])["layers"] == [1]
    write(GEMMA)
    assert json.loads(run(*asked, "--layer", "011")[0])["layer_type"] == "full_attention"
    before = sorted(os.listdir("."))
    cases = [(SMOLLM, ["--layer", "3"], "layer 3 does not rotate; layers 0-2, 4-6 rotate"),
             (SMOLLM, ["--layer", "8"], "the model has 8 layers, 0 to 7, and no layer 8"),
             (SMOLLM, ["--layer", "-1"], "--layer takes a whole number from 0 to 65535, not '-1'"),
             (SMOLLM, ["--layer", ""], "--layer is empty; it takes a value"),
             (GRANITE, ["--layer", "2"], "layer 2 (sliding_attention) does not rotate"),
             (GRANITE, ["--layer-type", "sliding_attention"], "one layer is to be chosen by its number, which --layer does"),
             (GRANITE, ["--layer", "1", "--layer-type", "full_attention"], "layer 1 is of the type sliding_attention"),
             (dict(model_type="cohere2"), ["--layer-type", "full_attention"], "do not rotate"),
             (dict(model_type="llama"), ["--layer", "0"], "num_hidden_layers")]
    for config, options, sentence in cases:
        write(config)
        expect_refusal(f"{config['model_type']} {options}", [*asked, *options], sentence, before)
