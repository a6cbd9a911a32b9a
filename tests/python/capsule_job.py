# SPDX-License-Identifier: Apache-2.0
"""A small job with an optimizer, a scaler, a schedule and dropout, that saves capsules and goes on
from one. Prints the loss of each step, and a digest of all state at the end.

    capsule_job.py FOLDER --steps 6 [--resume STEP] [--fault NAME]
"""

import argparse
import hashlib
import os
import random
import sys

import torch
import torch.distributed as dist
import torch.nn as nn

import nanhunt.capsule


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.GELU(),
                                   nn.Dropout(0.2), nn.Linear(32, 4))

    def forward(self, x):
        return self.inner(x)


def say(text):
    """In one write, so that lines of two ranks stay lines."""
    os.write(1, (text + "\n").encode())


def batch_of(step, rank):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(8, 16, generator=generator), torch.randn(8, 4, generator=generator)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--resume", type=int, default=-1)
    parser.add_argument("--rebuild", action="store_true")
    parser.add_argument("--fault", default="")
    parser.add_argument("--without", default="")
    options = parser.parse_args()
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group("gloo")
    rank = dist.get_rank() if ranks > 1 else 0
    torch.manual_seed(7 + rank)
    random.seed(7 + rank)
    torch.set_num_threads(1)
    model = Net()
    with torch.no_grad():
        for index, parameter in enumerate(model.parameters()):
            generator = torch.Generator().manual_seed(index)
            parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
    wrapped = nn.parallel.DistributedDataParallel(model) if ranks > 1 else model
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    parts = {"optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
    parts.pop(options.without, None)
    capsules = nanhunt.capsule.Capsules(options.folder, wrapped, **parts)
    start = 0
    if options.resume >= 0:
        if options.fault == "scaler_not_loaded":
            capsules.documents["scaler"] = None
        inputs, targets = batch_of(options.resume + (options.fault == "other_batch"), rank)
        start = capsules.load(options.resume, rebuild=options.rebuild,
                              batch={"inputs": inputs, "targets": targets})
    for step in range(start, options.steps + 1):
        inputs, targets = batch_of(step, rank)
        if step % 3 == 0:
            capsules.save(step, data={"consumed_samples": 8 * ranks * step},
                          batch={"inputs": inputs, "targets": targets})
        if step == options.steps:
            break
        noise = random.random()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(wrapped(inputs + noise), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        say(f"rank {rank} step {step} loss {loss.item().hex()} scale {scaler.get_scale()}")
    capsules.close()
    digest = hashlib.sha256()
    for _, tensor in sorted(model.state_dict().items()):
        digest.update(tensor.numpy().tobytes())
    say(f"rank {rank} digest {digest.hexdigest()}")
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main()
    except nanhunt.capsule.Missing as missing:
        for reason in missing.reasons:
            say(f"missing: {reason}")
        sys.exit(3)
