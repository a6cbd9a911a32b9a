# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPTModel of megatron-core, tensor parallel, on the bytes of a text; on CPUs.

It knows nothing of nanhunt. ACCEPTANCE_UNREDUCED=N in the environment leaves out the reduction of
self_attention.linear_proj in layer N.
"""

import argparse
import contextlib
import os
import pathlib

import torch
import torch.distributed as dist

torch.cuda.current_device = lambda: "cpu"  # megatron-core asks for it where it makes buffers

from megatron.core import parallel_state, tensor_parallel
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.transformer.transformer_config import TransformerConfig

TEXT = pathlib.Path(__file__).resolve().parents[2] / "cases" / "data" / "kjv.txt"


class NoDraws:
    """Stands for the CUDA random states, which a job without dropout never uses."""

    def fork(self, *_):
        return contextlib.nullcontext()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=32)
    return parser.parse_args()


def build(args):
    config = TransformerConfig(
        num_layers=args.layers, hidden_size=args.hidden, num_attention_heads=4,
        tensor_model_parallel_size=args.tp, use_cpu_initialization=True,
        params_dtype=torch.float32, attention_dropout=0.0, hidden_dropout=0.0,
        masked_softmax_fusion=False, bias_dropout_fusion=False)
    return GPTModel(config, get_gpt_layer_local_spec(), vocab_size=256,
                    max_sequence_length=args.sequence)


def leave_out_reduction(target):
    """Each rank goes on with its own share of the row-parallel output."""
    layers = tensor_parallel.layers
    reduce, forward = layers.reduce_from_tensor_model_parallel_region, target.forward

    def share_alone(*arguments):
        layers.reduce_from_tensor_model_parallel_region = lambda share, group=None: share
        try:
            return forward(*arguments)
        finally:
            layers.reduce_from_tensor_model_parallel_region = reduce

    target.forward = share_alone


def main():
    args = arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=args.tp)
    tensor_parallel.get_cuda_rng_tracker = NoDraws
    torch.manual_seed(1)
    model = build(args)
    broken = os.environ.get("ACCEPTANCE_UNREDUCED")
    if broken is not None and args.tp > 1:
        leave_out_reduction(model.decoder.layers[int(broken)].self_attention.linear_proj)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    text = torch.tensor(bytearray(TEXT.read_bytes()[:100000]), dtype=torch.long)
    samples = text.unfold(0, args.sequence + 1, args.sequence)
    positions = torch.arange(args.sequence).expand(args.batch, -1)
    mask = torch.ones(args.sequence, args.sequence, dtype=torch.bool).triu(1)[None, None]
    for step in range(args.steps):
        cut = samples[step * args.batch : (step + 1) * args.batch]
        loss = model(cut[:, :-1].contiguous(), positions, mask, labels=cut[:, 1:].contiguous())
        loss = loss.mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.6f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
