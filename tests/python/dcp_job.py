# SPDX-License-Identifier: Apache-2.0
"""Trains a small model with FSDP2 on as many gloo ranks as there are, and saves it by
torch.distributed.checkpoint: dcp_job.py FOLDER [--flat]. --flat: the optimizer's state by one key a
tensor, as torchtitan saves it."""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 16), nn.Linear(16, 7))
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(5)
    for _ in range(3):
        model(torch.randn(4, 8, generator=generator)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    options = StateDictOptions(flatten_optimizer_state_dict="--flat" in sys.argv)
    weights, states = get_state_dict(model, optimizer, options=options)
    dcp.save({"model": weights, "optimizer": states, "step": torch.tensor(3)},
             checkpoint_id=sys.argv[1])
    dist.destroy_process_group()
    # gloo's threads may still hold tensors: freed while the interpreter goes down they abort it
    # (pytorch/pytorch#179291).
    os._exit(0)


if __name__ == "__main__":
    main()
