# SPDX-License-Identifier: Apache-2.0
"""The job that is measured: a small GPT of plain torch modules, AdamW, FP32, one process."""

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HIDDEN, HEADS, SEQUENCE, BATCH, VOCABULARY = 4, 256, 4, 128, 4, 1000
SHAPE = (f"GPT of {LAYERS} layers, hidden {HIDDEN}, {HEADS} heads, sequence {SEQUENCE}, "
         f"batch {BATCH}, vocabulary {VOCABULARY}, AdamW, FP32")


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.proj = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=-1))
        context = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(context.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(HIDDEN, 4 * HIDDEN)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(HIDDEN)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(HIDDEN)
        self.mlp = MLP()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Logits [sample, token, vocabulary] of tokens [sample, token]."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.positions = nn.Embedding(SEQUENCE, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(HIDDEN)
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Job:
    """Model, optimizer and text; `run` is one step as any training script has it.

    scale: all weights are multiplied by it, for a second run whose values differ everywhere.
    """

    def __init__(self, threads, scale=1.0):
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        self.model = GPT()
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.mul_(scale)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        text = torch.randint(VOCABULARY, (BATCH, SEQUENCE + 1))
        self.inputs, self.targets = text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def run(self):
        logits = self.model(self.inputs)
        F.cross_entropy(logits.flatten(0, 1), self.targets.flatten()).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
