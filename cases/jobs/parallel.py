# SPDX-License-Identifier: Apache-2.0
"""Trains llama.py on a mesh of dp x tp ranks: DTensor tensor parallelism with or without sequence
parallelism; gradients averaged by hand, by DDP, or by FSDP2."""

import torch
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

import common
import fp8
import llama


def tensor_parallel(model, mesh, sequence_parallel):
    stream = Shard(1) if sequence_parallel else Replicate()
    plan = {
        "embed_tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=stream),
        "lm_head": ColwiseParallel(input_layouts=stream, output_layouts=Replicate()),
    }
    block = {
        "self_attn.q_proj": ColwiseParallel(),
        "self_attn.k_proj": ColwiseParallel(),
        "self_attn.v_proj": ColwiseParallel(),
        "self_attn.o_proj": RowwiseParallel(output_layouts=stream),
        "mlp.gate_proj": ColwiseParallel(),
        "mlp.up_proj": ColwiseParallel(),
        "mlp.down_proj": RowwiseParallel(output_layouts=stream),
    }
    if sequence_parallel:
        plan["norm"] = SequenceParallel()
        block |= {
            "input_layernorm": SequenceParallel(),
            "self_attn": PrepareModuleInput(
                input_layouts=(Shard(1), None, None),
                desired_input_layouts=(Replicate(), None, None),
            ),
            "post_attention_layernorm": SequenceParallel(),
            "mlp": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
        }
    parallelize_module(model, mesh, plan)
    for layer in model.layers:
        parallelize_module(layer, mesh, block)


def wrap_layers(model, args):
    for name, layer in model.layers.named_children():
        if args.checkpoint:
            from torch.distributed.algorithms._checkpoint import checkpoint_wrapper as wrapper

            layer = wrapper.checkpoint_wrapper(layer)
        if args.compile:
            layer = torch.compile(layer, backend="aot_eager")
        model.layers.register_module(name, layer)


def data_parallel(model, mesh, args):
    if args.data == "ddp":
        if args.tp > 1:
            raise SystemExit("ddp is for tp 1")
        from torch.nn.parallel import DistributedDataParallel

        return DistributedDataParallel(model, process_group=mesh.get_group("dp"))
    if args.data == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for layer in model.layers:
            fully_shard(layer, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
    return model


def sync_in_backward(model, args, last):
    """DDP and FSDP reduce gradients while the last microbatch runs backward."""
    if args.dp > 1 and args.data == "ddp":
        model.require_backward_grad_sync = last
    elif args.dp > 1 and args.data == "fsdp":
        model.set_requires_gradient_sync(last)


def average_gradients(model, group, asynchronous):
    pending = []
    for name, parameter in model.named_parameters():
        gradient = common.local(parameter.grad)
        pending.append(common.average(common.plain_name(name), gradient, group, asynchronous))
    for work in pending:
        if work is not None:
            work.wait()


def build(args):
    with fp8.linears(args.fp8):
        model = llama.Llama(llama.Config(attention=args.attention)).to(common.DTYPES[args.dtype])
    mesh = None
    if args.world > 1:
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
    if args.tp > 1:
        tensor_parallel(model, mesh["tp"], args.sp)
    wrap_layers(model, args)
    if args.dp > 1:
        model = data_parallel(model, mesh, args)
    return model, mesh


def main():
    args = common.arguments(
        __doc__, "tp", "dp", "sp", "data", "dtype", "autocast", "fp8", "attention", "optimizer",
        "checkpoint", "compile", "async-collectives", "clip", "resume",
    )
    common.start(args)
    model, mesh = build(args)
    optimizer = common.make_optimizer(args, model)
    text, replica = common.Text(args), args.rank // args.tp
    for step in range(args.steps):
        if step and step == args.resume:
            common.save_and_load(model, optimizer)
        total = torch.zeros(())
        for part, (tokens, labels) in enumerate(text.microbatches(args, step, replica)):
            sync_in_backward(model, args, last=part == args.microbatches - 1)
            with common.autocast(args):
                logits = model(tokens)
            loss = F.cross_entropy(logits.float().flatten(0, 1), labels.flatten())
            loss = loss / args.microbatches
            loss.backward()
            total += loss.detach()
        if args.dp > 1 and args.data == "average":
            average_gradients(model, mesh.get_group("dp"), args.async_collectives)
        common.clip_grad_norm(model.parameters(), args.clip)
        optimizer.step()
        optimizer.zero_grad()
        common.say_loss(args, step, total)
    common.finish(args, model)


if __name__ == "__main__":
    main()
