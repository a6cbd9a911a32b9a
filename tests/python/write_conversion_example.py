# SPDX-License-Identifier: Apache-2.0
"""write_conversion_example.py FOLDER: the checkpoints that docs/conversion.md looks into: a
Trainer's folder in which a moment was reset, a .pt file, a folder of torch.distributed.checkpoint,
and a file that would run code."""

import json
import os
import pathlib
import random
import sys
import warnings

import torch
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from safetensors.torch import save_file
from torch.distributed.checkpoint.state_dict import get_state_dict


class RunsCode:
    def __reduce__(self):
        return (os.mkdir, ("it-ran",))


def trained():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 12), nn.Linear(12, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(3):
        model(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def main(folder):
    warnings.simplefilter("ignore")
    model, optimizer = trained()
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1,
                "global_step": 3, "best_loss": 0.25}, folder / "last.pt")
    weights, states = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": states, "step": torch.tensor(3)},
             checkpoint_id=str(folder / "dcp"))
    torch.save(RunsCode(), folder / "unknown.pt")
    trainer = folder / "checkpoint-3"
    trainer.mkdir()
    save_file(model.state_dict(), trainer / "model.safetensors")
    reset = optimizer.state_dict()
    reset["state"][4]["exp_avg_sq"].zero_()
    torch.save(reset, trainer / "optimizer.pt")
    torch.save(schedule.state_dict(), trainer / "scheduler.pt")
    torch.save({"python": random.getstate(), "cpu": torch.get_rng_state()},
               trainer / "rng_state.pth")
    torch.save(RunsCode(), trainer / "training_args.bin")
    (trainer / "trainer_state.json").write_text(json.dumps({"global_step": 3, "epoch": 1.0}))


main(pathlib.Path(sys.argv[1]))
