# SPDX-License-Identifier: Apache-2.0
"""What torch's clipping makes of a gradient that is still to be summed over two ranks, without
nanhunt: beside a sharded one, and by both implementations.

    python -m torch.distributed.run --standalone --nproc-per-node=2 partial_clip.py
"""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor


def parameter(shape, mesh, placement):
    return torch.nn.Parameter(distribute_tensor(torch.zeros(shape), mesh, [placement]))


def factors(mesh, foreach):
    """By how much each of the two gradients was scaled."""
    torch.manual_seed(1)
    whole = torch.randn(8, 4)
    torch.manual_seed(2 + dist.get_rank())
    share = torch.randn(4)
    sharded, replicated = parameter((8, 4), mesh, Shard(0)), parameter(4, mesh, Replicate())
    sharded.grad = distribute_tensor(whole, mesh, [Shard(0)])
    replicated.grad = DTensor.from_local(share, mesh, [Partial()], run_check=False)
    before = [p.grad.full_tensor() for p in (sharded, replicated)]
    torch.nn.utils.clip_grad_norm_([sharded, replicated], 1.0, foreach=foreach)
    after = [p.grad.full_tensor() for p in (sharded, replicated)]
    return [float(b.norm() / a.norm()) for a, b in zip(before, after)]


def main():
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for foreach in (False, True):
        sharded, partial = factors(mesh, foreach)
        if dist.get_rank() == 0:
            print(f"torch {torch.__version__} foreach={foreach}: sharded gradient x {sharded:.4f}, "
                  f"partial gradient x {partial:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
