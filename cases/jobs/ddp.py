# SPDX-License-Identifier: Apache-2.0
"""Trains llama.py by DDP: gradient accumulation with no_sync, FP16 with a gradient scaler."""

import contextlib

import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import common
import fp8
import llama


def build(args):
    with fp8.linears(args.fp8):
        model = llama.Llama(llama.Config(attention=args.attention))
    if args.checkpoint:
        from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrapper

        wrapper.apply_activation_checkpointing(
            model, check_fn=lambda module: isinstance(module, llama.Block))
    if args.compile:
        model = torch.compile(model, backend="aot_eager")
    if args.world > 1:
        model = DistributedDataParallel(model, gradient_as_bucket_view=args.bucket_view)
    return model


def batches(args):
    text = common.Text(args)
    sampler = None
    if args.world > 1:
        sampler = DistributedSampler(text, args.world, args.rank, shuffle=False)
    size = args.batch // args.world // args.microbatches
    return iter(DataLoader(text, batch_size=size, sampler=sampler))


def main():
    args = common.arguments(
        __doc__, "autocast", "fp8", "attention", "optimizer", "checkpoint", "compile",
        "bucket-view", "clip", "resume",
    )
    common.start(args)
    model = build(args)
    optimizer = common.make_optimizer(args, model)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=args.autocast == "fp16")
    loader = batches(args)
    for step in range(args.steps):
        if step and step == args.resume:
            common.save_and_load(model, optimizer)
        total = torch.zeros(())
        for part in range(args.microbatches):
            tokens, labels = next(loader)
            last = part == args.microbatches - 1
            with contextlib.nullcontext() if last or args.world == 1 else model.no_sync():
                with common.autocast(args):
                    logits = model(tokens)
                    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
                loss = loss / args.microbatches
                scaler.scale(loss).backward()
            total += loss.detach()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        common.say_loss(args, step, total)
    common.finish(args, model)


if __name__ == "__main__":
    main()
