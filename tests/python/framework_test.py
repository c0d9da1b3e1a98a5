#!/usr/bin/env python3
"""A framework's own rotation beside the package's: PyTorch, and transformers' classes of Llama and Qwen 3. See case.py.

Both are gigabytes: tests/run.sh --whole fetches them, and a short run names this test among the skipped."""

from case import LLAMA, Case, main, needs, np, vkrope
from model import random

CONFIG = {**LLAMA, "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 131072}


class Frameworks(Case):
    def setUp(self):
        super().setUp()
        self.torch = needs("torch")

    def in_torch(self, q, positions):
        """What Llama does, in PyTorch's operations."""
        dim = q.shape[-1]
        frequencies = 1.0 / CONFIG["rope_theta"] ** (self.torch.arange(0, dim, 2).float() / dim)
        angles = self.torch.outer(self.torch.from_numpy(positions).float(), frequencies)
        cos, sin = (self.torch.cat([rows, rows], -1) for rows in (angles.cos(), angles.sin()))
        x = self.torch.from_numpy(q)
        turned = self.torch.cat([-x[..., dim // 2:], x[..., :dim // 2]], -1)
        return (x * cos + turned * sin).numpy(), frequencies.numpy()

    def in_transformers(self, q, positions):
        needs("transformers")
        from transformers import LlamaConfig
        from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

        x = self.torch.from_numpy(q)
        embedding = LlamaRotaryEmbedding(config=LlamaConfig(**{k: v for k, v in CONFIG.items() if k != "model_type"}))
        cos, sin = embedding(x, self.torch.from_numpy(positions)[None])
        return apply_rotary_pos_emb(x, x, cos, sin)[0].numpy(), embedding.inv_freq.numpy()

    def compare(self, rotate):
        encoding, device = vkrope.read(CONFIG), vkrope.Device("cpu")
        for first in (0, 4096, 131072 - 64):
            q, positions = random((1, 8, 64, 64)), np.arange(first, first + 64)  # [batch, heads, seq, dim]
            theirs, frequencies = rotate(q, positions)
            same = device.rotate(vkrope.Encoding(frequencies), q, positions, order="bhsd", angle="compatible")
            exact = device.rotate(encoding, q, positions, order="bhsd")
            self.assertLess(np.abs(same - theirs).max(), 1e-6)  # by its own frequencies and angles
            print(f"positions from {first}: float32 angles are off by {np.abs(exact - theirs).max():.2g}")
            self.assertLess(np.abs(exact - theirs).max(), 1e-6 * (first + 64))

    def test_rotate_as_torch_does(self):
        self.compare(self.in_torch)

    def test_rotate_as_transformers_does(self):
        self.compare(self.in_transformers)

    def test_a_cache_format_keeps_qwen3s_scores(self):
        needs("transformers")
        torch = self.torch
        from transformers import Qwen3Config
        from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention, Qwen3RotaryEmbedding, apply_rotary_pos_emb

        config = Qwen3Config(hidden_size=256, num_attention_heads=4, num_key_value_heads=4, head_dim=64, rope_theta=1e6)
        attention, embedding = Qwen3Attention(config, 0), Qwen3RotaryEmbedding(config=config)
        with torch.no_grad():
            attention.q_norm.weight.normal_(), attention.k_norm.weight.normal_()
            hidden = torch.from_numpy(random((1, 16, 256)))
            q, k = (project(hidden).view(1, 16, 4, 64) for project in (attention.q_proj, attention.k_proj))
            cos, sin = embedding(hidden, torch.arange(16)[None])
            normed = attention.q_norm(q).transpose(1, 2), attention.k_norm(k).transpose(1, 2)
            theirs_q, theirs_k = apply_rotary_pos_emb(*normed, cos, sin)
            theirs = (theirs_q @ theirs_k.transpose(2, 3)).numpy()
        encoding = vkrope.read({"model_type": "qwen3", "head_dim": 64, "rope_theta": 1e6})
        norms = [norm.weight.detach().numpy() for norm in (attention.q_norm, attention.k_norm)]
        for form, bound in (("f32", 1e-5), ("q8_0", 2e-2), ("q4_0", 0.3)):
            ours = vkrope.Device("cpu").fused(encoding, q.numpy(), k.numpy(), cache=form, hadamard=True, q_norm=norms[0], k_norm=norms[1])
            scores = np.einsum("bqhd,bkhd->bhqk", ours.q, vkrope.dequantize(ours.k))
            self.assertLess(np.abs(scores - theirs).max() / np.abs(theirs).max(), bound, form)


if __name__ == "__main__":
    main()
