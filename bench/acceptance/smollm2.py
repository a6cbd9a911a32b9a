# SPDX-License-Identifier: Apache-2.0
"""Trains SmolLM2-135M from its published weights, by the tensor parallel plan of transformers.

It knows nothing of nanhunt. ACCEPTANCE_UNREDUCED=N in the environment leaves out the reduction of
self_attn.o_proj in layer N.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Replicate
from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig, tensor_parallel
from transformers.utils import logging

from smollm2_weights import FOLDER

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--dtype", choices=DTYPES, default="fp32")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--sequence", type=int, default=32)
    return parser.parse_args()


def leave_out_reduction(target):
    """Each rank goes on with its own share of the row-parallel output."""
    reduce = tensor_parallel.RowwiseParallel.transform_output_post_forward

    def transform(self, module, output, mesh):
        if module is target:
            output = DTensor.from_local(output.to_local(), mesh, [Replicate()], run_check=False)
        return reduce(self, module, output, mesh)

    tensor_parallel.RowwiseParallel.transform_output_post_forward = transform


def main():
    args = arguments()
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    if args.tp > 1:
        dist.init_process_group("gloo")
    model = AutoModelForCausalLM.from_pretrained(
        FOLDER, dtype=DTYPES[args.dtype], attn_implementation="eager",
        distributed_config=DistributedConfig(tp_size=args.tp) if args.tp > 1 else None)
    model.train()
    broken = os.environ.get("ACCEPTANCE_UNREDUCED")
    if broken is not None and args.tp > 1:
        leave_out_reduction(model.model.layers[int(broken)].self_attn.o_proj)
    # Norm weights are plain tensors beside DTensors, which foreach does not take.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
    text = torch.load(FOLDER / "tokens.pt").split(args.batch * args.sequence)
    for step in range(args.steps):
        tokens = text[step].view(args.batch, args.sequence)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if not dist.is_initialized() or dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.6f}", flush=True)
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
