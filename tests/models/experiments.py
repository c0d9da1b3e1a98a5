#!/usr/bin/env python3
"""Tries the sets of keys of tests/data/keys.json on the classes of an installed Transformers, and writes what the rotary modules
of model types make of them: experiments.py MODULE CONFIGURATION ROTARY... A module is a folder of transformers/models; then
come the names of its classes, a configuration's and its rotary module's, as often as there are types.

    python3 tests/models/experiments.py qwen3 Qwen3Config Qwen3RotaryEmbedding"""
import copy
import importlib
import json
import logging
import os
import sys

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "keys.json")


def expand(keys, layer_types):
    """`*` stands for each of the type's layers. None where it has no layer types."""
    keys = copy.deepcopy(keys)
    for name in ("rope_parameters", "rope_scaling"):
        if "*" in keys.get(name, {}):
            if not layer_types:
                return None
            keys[name] = {layer: copy.deepcopy(keys[name]["*"]) for layer in layer_types}
    return keys


def outcomes(rotary):
    """For each layer type the elements that turn, the sum of the frequencies, and the scale."""
    for name, buffer in rotary.named_buffers():
        if name.endswith("inv_freq") and "original" not in name:
            layer = name[:-len("inv_freq")].rstrip("_")
            scale = getattr(rotary, f"{layer}_attention_scaling", None) or getattr(rotary, "attention_scaling", 1)
            yield layer, (2 * buffer.numel(), float(f"{buffer.double().abs().sum():.6g}"), float(f"{scale:.6g}"))


def runs(config, elements):
    """Says whether the model turns so many elements. Latent attention splits off a part, and the module's must be as wide."""
    return not getattr(config, "qk_nope_head_dim", None) or elements == config.qk_rope_head_dim


def try_type(data, configuration, rotary):
    """A set that this release's class refuses keeps the outcome of an earlier release."""
    layer_types = data["layers"].get(configuration.model_type) or sorted(set(getattr(configuration(), "layer_types", None) or []))
    found = {}
    for index, keys in enumerate(data["keys"].values()):
        expanded = expand(keys, layer_types)
        try:
            config = configuration(**expanded)
            for layer, outcome in outcomes(rotary(config)):
                found.setdefault(layer, {})[index] = outcome if runs(config, outcome[0]) else None
        except Exception:  # the class refuses these keys, or cannot run with them, in a way of its own
            continue
    if layer_types:
        data["layers"][configuration.model_type] = layer_types
    for layer, sets in found.items():
        name = f"{configuration.model_type} {layer}".strip()
        earlier = {index: tuple(outcome) for outcome, indices in data["types"].get(name, []) for index in indices}
        by_outcome = {}
        for index, outcome in sorted({**earlier, **sets}.items()):
            if outcome:
                by_outcome.setdefault(outcome, []).append(index)
        data["types"][name] = [[list(outcome), indices] for outcome, indices in by_outcome.items()]
    count = sum(outcome is not None for sets in found.values() for outcome in sets.values())
    print(f"{configuration.model_type}: {count} outcomes")


def row(name, value):
    if name in ("keys", "layers"):
        return json.dumps(value)
    return "[" + ", ".join(f"[{json.dumps(outcome)}, {json.dumps(sets, separators=(',', ':'))}]" for outcome, sets in value) + "]"


def main():
    logging.disable(logging.CRITICAL)
    module, *classes = sys.argv[1:]
    with open(DATA, encoding="utf-8") as file:
        data = json.load(file)
    both = [importlib.import_module(f"transformers.models.{module}.{kind}_{module}") for kind in ("configuration", "modeling")]
    for configuration, rotary in zip(classes[::2], classes[1::2]):
        try_type(data, getattr(both[0], configuration), getattr(both[1], rotary))
    with open(DATA, "w", encoding="utf-8") as file:
        parts = [f'"{name}": {{\n' + ",\n".join(f"{json.dumps(key)}: {row(name, data[name][key])}" for key in
                 (data[name] if name == "keys" else sorted(data[name]))) + "\n}" for name in data]
        file.write("{\n" + ",\n".join(parts) + "\n}\n")


main()
