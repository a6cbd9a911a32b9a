# SPDX-License-Identifier: Apache-2.0
"""A small job in one of several layouts that saves capsules and goes on from those of any other.
Widths do not divide: some ranks hold more of a tensor than others, and some hold nothing of it.

    capsule_layout_job.py LAYOUT FOLDER [--steps 6] [--resume STEP [--out FOLDER] [--rebuild]]

LAYOUT: one, ddp, fsdp, tp, fsdp_tp. Prints the loss of each step on each rank, a digest of what the
rank holds at the end, and what load() says.
"""

import argparse
import hashlib
import os
import random
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                               parallelize_module)

import nanhunt.capsule

SAMPLES = 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(12), nn.Linear(12, 20), nn.Linear(20, 12)
        self.register_buffer("scale", torch.full((3,), 0.5))

    def forward(self, x):
        hidden = self.down(nn.functional.gelu(self.up(self.norm(x))))
        return x + nn.functional.dropout(hidden, 0.2) * self.scale[0]


class Net(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def say(text):
    """In one write, so that lines of two ranks stay lines."""
    os.write(1, (text + "\n").encode())


class Cursor:
    """A data loader that knows where it is: which sample comes next."""

    def __init__(self):
        self.next = 0

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state["next"]

    def samples(self, rank, ranks):
        count = SAMPLES // ranks
        generator = torch.Generator().manual_seed(self.next)
        x, y = (torch.randn(SAMPLES, width, generator=generator) for width in (12, 3))
        mine = slice(rank * count, (rank + 1) * count)
        return {"inputs": x[mine].clone(), "targets": y[mine].clone()}


def laid_out(model, layout, world):
    """The model in its layout, and the data-parallel rank and size."""
    rank = dist.get_rank() if world > 1 else 0
    if layout == "one":
        return model, 0, 1
    if layout == "ddp":
        return nn.parallel.DistributedDataParallel(model), rank, world
    tp = {"tp": world, "fsdp": 1, "fsdp_tp": 2}[layout]
    mesh = init_device_mesh("cpu", (world // tp, tp), mesh_dim_names=("dp", "tp"))
    if tp > 1:
        for block in model.blocks:
            parallelize_module(block, mesh["tp"],
                               {"up": ColwiseParallel(), "down": RowwiseParallel()})
    if tp < world:
        for block in model.blocks:
            fully_shard(block, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
    return model, mesh.get_local_rank("dp"), world // tp


def without(kind, rows):
    """Rows of a capsule without those of one kind."""
    def is_of(site, role):
        return {"parameters": role == "param", "buffers": role == "buffer",
                "moments": role in ("exp_avg", "exp_avg_sq"), "optimizer step": role == "step",
                "parameter groups": site.startswith("optimizer.groups"),
                "schedule": site == "schedule", "scaler": site == "scaler",
                "RNG streams": site in ("rng.cpu", "rng.python", "rng.cuda"),
                "data cursor": site == "data", "sampler": site == "data.sampler",
                "next batch": site == "data.batch"}[kind]

    def kept(*words):
        return (row for row in rows(*words) if not is_of(row[0], row[1]))
    return kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("layout")
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--resume", type=int, default=-1)
    parser.add_argument("--out", default="")
    parser.add_argument("--rebuild", action="store_true")
    parser.add_argument("--leave-out", default="")
    parser.add_argument("--pass", dest="passed", default="batch,data")
    parser.add_argument("--catch", action="store_true", help="go on when loading fails")
    options = parser.parse_args()
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1:
        dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(5)
    model, rank, ranks = laid_out(Net(options.blocks), options.layout, world)
    torch.manual_seed(7 + rank)
    random.seed(7 + rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    cursor = Cursor()
    parts = (model, optimizer, scheduler, scaler, cursor)
    capsules = nanhunt.capsule.Capsules(options.folder, *parts)
    if options.leave_out:
        capsules.rows = without(options.leave_out, capsules.rows)
    start = 0
    if options.resume >= 0:
        cursor.next = SAMPLES * options.resume  # what the job would read without its loader's state
        words = {"batch": cursor.samples(rank, ranks), "data": ("consumed_samples",)}
        try:
            passed = {name: words[name] for name in options.passed.split(",") if name}
            start = capsules.load(options.resume, rebuild=options.rebuild, **passed)
            say(f"loaded {start}: {start.summary}")
        except RuntimeError as error:
            if not options.catch:
                raise
            say(f"caught: {error}")
            cursor.next = 0
        if options.out:
            capsules = nanhunt.capsule.Capsules(options.out, *parts)
    for step in range(start, options.steps + 1):
        batch = cursor.samples(rank, ranks)
        if step % 3 == 0:
            capsules.save(step, data={"consumed_samples": cursor.next}, batch=batch)
        if step == options.steps:
            break
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch["inputs"] + random.random()), batch["targets"])
        loss.backward()
        optimizer.step()
        scheduler.step()
        cursor.next += SAMPLES
        say(f"rank {dist.get_rank() if world > 1 else 0} step {step} loss {loss.item().hex()}")
    capsules.close()
    digest = hashlib.sha256()
    for _, tensor in sorted(model.state_dict().items()):
        digest.update(getattr(tensor, "_local_tensor", tensor).contiguous().numpy().tobytes())
    say(f"rank {dist.get_rank() if world > 1 else 0} digest {digest.hexdigest()}")
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main()
    except nanhunt.capsule.Missing as missing:
        for reason in missing.reasons:
            say(f"missing: {reason}")
        sys.exit(3)
