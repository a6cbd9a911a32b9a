# SPDX-License-Identifier: Apache-2.0
"""Trains torchtitan's Llama 3 debug model, with its parallelism, loss, clipping, optimizers.

It knows nothing of nanhunt. ACCEPTANCE_UNREDUCED=N in the environment leaves out the reduction of
attention.wo in layer N.
"""

import argparse
import os
import pathlib

import torch
import torch._utils
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import RowwiseParallel

torch._utils._get_available_device_type = lambda: "cpu"  # torchtitan asks for it when imported

from torchtitan.components.loss import cross_entropy_loss
from torchtitan.components.optimizer import build_optimizers
from torchtitan.config import JobConfig
from torchtitan.distributed import ParallelDims
from torchtitan.distributed import utils as distributed_utils
from torchtitan.models.llama3 import Transformer, llama3_args
from torchtitan.models.llama3.infra.parallelize import parallelize_llama

TEXT = pathlib.Path(__file__).resolve().parents[2] / "cases" / "data" / "kjv.txt"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--fsdp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--clip", choices=["loop", "foreach"], default="foreach")
    parser.add_argument("--batch", type=int, default=4, help="samples of a step, over all ranks")
    parser.add_argument("--sequence", type=int, default=32)
    return parser.parse_args()


def settings(args):
    job = JobConfig()
    job.training.seq_len = args.sequence
    job.training.mixed_precision_param = "float32"
    job.activation_checkpoint.mode = "none"
    job.optimizer.implementation = "for-loop"
    return job


def build(job, layout):
    torch.manual_seed(1)
    model = Transformer(llama3_args["debugmodel"])
    with torch.no_grad():
        model.init_weights()  # before it is cut: all layouts start from the same weights
    model = parallelize_llama(model, layout, job)
    for module in model.modules():
        if hasattr(module, "set_force_sum_reduction_for_comms"):
            module.set_force_sum_reduction_for_comms(True)  # gloo knows no scaled sum
    return model


def leave_out_reductions():
    """Of modules that are marked: each rank goes on with its own share of its own tokens. To be
    called before the model is cut.
    """
    reduce = RowwiseParallel._prepare_output_fn

    def share_alone(layouts, use_local_output, module, output, mesh):
        if not hasattr(module, "unreduced"):
            return reduce(layouts, use_local_output, module, output, mesh)
        return output.to_local().chunk(mesh.size(), dim=1)[mesh.get_local_rank()].contiguous()

    RowwiseParallel._prepare_output_fn = staticmethod(share_alone)


def main():
    args = arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    job = settings(args)
    layout = ParallelDims(dp_replicate=1, dp_shard=args.fsdp, cp=1, tp=args.tp, pp=1, ep=1, etp=1,
                          world_size=dist.get_world_size())
    broken = os.environ.get("ACCEPTANCE_UNREDUCED")
    if broken is not None:
        leave_out_reductions()
    model = build(job, layout)
    if broken is not None:
        model.layers[broken].attention.wo.unreduced = True
    optimizers = build_optimizers([model], job.optimizer, layout)
    context = distributed_utils.get_train_context(args.tp > 1)
    text = torch.tensor(bytearray(TEXT.read_bytes()[:100000]), dtype=torch.long)
    samples = text.unfold(0, args.sequence + 1, args.sequence)
    for step in range(args.steps):
        cut = samples[step * args.batch : (step + 1) * args.batch]
        tokens = cut.chunk(args.fsdp)[dist.get_rank() // args.tp]
        with context():
            sum_of_losses = cross_entropy_loss(model(tokens[:, :-1]), tokens[:, 1:])
            loss = sum_of_losses / (args.batch * args.sequence)
            loss.backward()
        distributed_utils.clip_grad_norm_(model.parameters(), job.training.max_norm,
                                          foreach=args.clip == "foreach")
        optimizers.step()
        optimizers.zero_grad()
        loss = loss.full_tensor() if isinstance(loss, DTensor) else loss.detach().clone()
        dist.all_reduce(loss)
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item() / args.tp:.6f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
