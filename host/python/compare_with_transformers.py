#!/usr/bin/env python3
"""Holds a framework's own rotation against vkrope's: Hugging Face's transformers where it is installed, else its
formula in PyTorch. PYTHONPATH names the folder of vkrope.py.

    PYTHONPATH=build/python python3 host/python/compare_with_transformers.py"""
import sys

import numpy as np

import vkrope

CONFIG = {"model_type": "llama", "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 8,
          "head_dim": 128, "max_position_embeddings": 131072, "rope_theta": 500000.0}


def in_transformers(q, positions):
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    config = LlamaConfig(**{key: value for key, value in CONFIG.items() if key != "model_type"})
    x = torch.from_numpy(q)
    embedding = LlamaRotaryEmbedding(config=config)
    cos, sin = embedding(x, torch.from_numpy(positions)[None])
    return apply_rotary_pos_emb(x, x, cos, sin)[0].numpy(), embedding.inv_freq.numpy()


def in_torch(q, positions):
    """What transformers does for Llama, in the same operations."""
    import torch

    dim = q.shape[-1]
    frequencies = 1.0 / CONFIG["rope_theta"] ** (torch.arange(0, dim, 2).float() / dim)
    angles = torch.outer(torch.from_numpy(positions).float(), frequencies)
    cos, sin = (torch.cat([rows, rows], -1) for rows in (angles.cos(), angles.sin()))
    x = torch.from_numpy(q)
    turned = torch.cat([-x[..., dim // 2:], x[..., :dim // 2]], -1)
    return (x * cos + turned * sin).numpy(), frequencies.numpy()


def rotate_elsewhere(q, positions):
    missing = []
    for name, rotate in (("transformers", in_transformers), ("PyTorch", in_torch)):
        try:
            return (name, *rotate(q, positions))
        except ImportError as error:
            missing.append(str(error))
    print(f"nothing to compare with: {'; '.join(missing)}. Install transformers or PyTorch.")
    sys.exit(0)


def main():
    encoding, device = vkrope.read(CONFIG), vkrope.Device("cpu")
    for first in (0, 4096, 131072 - 64):
        q = np.random.default_rng(1).uniform(-1, 1, (1, 8, 64, 128)).astype(np.float32)  # [batch, heads, seq, dim]
        positions = np.arange(first, first + 64)
        name, theirs, their_frequencies = rotate_elsewhere(q, positions)
        own = vkrope.Encoding(their_frequencies)
        for what, how, angle in (("exact", encoding, "exact"), ("compatible", encoding, "compatible"),
                                 ("compatible, from its own frequencies", own, "compatible")):
            ours = device.rotate(how, q, positions, order="bhsd", angle=angle)
            print(f"positions from {first}, {what}: {name} differs by at most {np.abs(ours - theirs).max():.2g}")


main()
