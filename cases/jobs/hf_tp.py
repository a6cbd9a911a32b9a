# SPDX-License-Identifier: Apache-2.0
"""Trains a Hugging Face Llama: its own tensor parallel plan, and FSDP2 over what ranks are left."""

import pathlib
import tempfile

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.distributed import DistributedConfig
from transformers.utils import logging

import common
import fp8


def build(args):
    config = LlamaConfig.from_pretrained(pathlib.Path(__file__).parent / "llama_config.json")
    layout = DistributedConfig(tp_size=args.tp, fsdp_size=args.dp) if args.world > 1 else None
    with tempfile.TemporaryDirectory() as folder, fp8.linears(args.fp8):
        config.save_pretrained(folder)
        weights = LlamaForCausalLM(config).state_dict()
        save_file(weights, pathlib.Path(folder) / "model.safetensors", metadata={"format": "pt"})
        model = LlamaForCausalLM.from_pretrained(
            folder, dtype=common.DTYPES[args.dtype], attn_implementation=args.attention,
            distributed_config=layout)
    if args.checkpoint:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    model.train()
    return torch.compile(model, backend="aot_eager") if args.compile else model


def main():
    args = common.arguments(
        __doc__, "tp", "dp", "dtype", "autocast", "fp8", "attention", "optimizer", "checkpoint",
        "compile", "clip",
    )
    common.start(args)
    logging.disable_progress_bar()
    model = build(args)
    optimizer = common.make_optimizer(args, model)
    text, replica = common.Text(args), args.rank // args.tp
    for step in range(args.steps):
        total = torch.zeros(())
        for part, (tokens, _) in enumerate(text.microbatches(args, step, replica)):
            if args.dp > 1:
                model.set_requires_gradient_sync(part == args.microbatches - 1)
            with common.autocast(args):
                loss = model(input_ids=tokens, labels=tokens).loss / args.microbatches
            loss.backward()
            total += loss.detach()
        common.clip_grad_norm(model.parameters(), args.clip)
        optimizer.step()
        optimizer.zero_grad()
        common.say_loss(args, step, total)
    common.finish(args, model)


if __name__ == "__main__":
    main()
