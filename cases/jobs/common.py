# SPDX-License-Identifier: Apache-2.0
"""What the jobs share: options, start and end of a run, text, optimizer, gradient norm."""

import argparse
import contextlib
import hashlib
import io
import os
import pathlib

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
OPTIMIZERS = {"plain": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
WRAPPERS = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")


def switch(text):
    return {"on": True, "off": False}[text]


OPTIONS = {
    "steps": {"type": int, "default": 3},
    "seed": {"type": int, "default": 1},
    "batch": {"type": int, "default": 8, "help": "samples of a step, over all ranks"},
    "sequence": {"type": int, "default": 32},
    "microbatches": {"type": int, "default": 1, "help": "parts that a rank's samples come in"},
    "lr": {"type": float, "default": 1e-3},
    "clip": {"type": float, "default": 1.0},
    "tp": {"type": int, "default": 0, "help": "0: what dp leaves of the ranks"},
    "dp": {"type": int, "default": 1},
    "sp": {"type": switch, "default": False},
    "data": {"choices": ["average", "ddp", "fsdp"], "default": "average"},
    "dtype": {"choices": ["fp32", "bf16"], "default": "fp32", "help": "of the parameters"},
    "autocast": {"choices": ["off", "bf16", "fp16"], "default": "off"},
    "fp8": {"type": switch, "default": False, "help": "emulated E4M3 operands of the linears"},
    "attention": {"choices": ["eager", "sdpa"], "default": "eager"},
    "optimizer": {"choices": list(OPTIMIZERS), "default": "plain"},
    "checkpoint": {"type": switch, "default": False, "help": "recompute activations"},
    "compile": {"type": switch, "default": False},
    "async-collectives": {"type": switch, "default": False},
    "bucket-view": {"type": switch, "default": False},
    "resume": {"type": int, "default": 0, "help": "save and load before this step; 0: never"},
}


def arguments(description, *names):
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    for name in ("steps", "seed", "batch", "sequence", "microbatches", "lr", *names):
        parser.add_argument("--" + name, **OPTIONS[name])
    parser.add_argument("--digest", action="store_true", help="print a hash of the weights")
    parser.add_argument("--save", help="write the weights to this file")
    return parser.parse_args()


def start(args, process_group=True):
    """Threads, seed and process group; sets args.rank, args.world and the layout."""
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    args.rank, args.world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if hasattr(args, "tp"):
        args.tp = args.tp or args.world // args.dp
        if args.tp * args.dp != args.world:
            raise SystemExit(f"tp {args.tp} x dp {args.dp} are not {args.world} ranks")
    if process_group and args.world > 1:
        dist.init_process_group("gloo")
    if os.environ.get("NANHUNT_FAULT_FILE"):
        import faults

        faults.plant(args)


def finish(args, model):
    if args.digest or args.save:
        weights = {plain_name(name): full(parameter.detach())
                   for name, parameter in model.named_parameters()}
        if args.save and args.rank == 0:
            torch.save(weights, args.save)
        digest = hashlib.sha256()
        for name in sorted(weights):
            digest.update(name.encode() + weights[name].float().numpy().tobytes())
        say(args, f"digest {digest.hexdigest()}")
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


def say(args, text):
    if args.rank == 0:
        print(text, flush=True)


def plain_name(name):
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def local(tensor):
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def full(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


class Text(torch.utils.data.Dataset):
    """Cuts of a public-domain text, as bytes: (tokens, the tokens one further)."""

    def __init__(self, args):
        path = pathlib.Path(__file__).resolve().parent.parent / "data" / "kjv.txt"
        self.text, self.length = bytearray(path.read_bytes()), args.sequence
        draw = torch.Generator().manual_seed(args.seed)
        last = len(self.text) - args.sequence - 1
        self.starts = torch.randint(last, (args.steps * args.batch,), generator=draw).tolist()

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, index):
        begin = self.starts[index]
        cut = torch.tensor(self.text[begin : begin + self.length + 1], dtype=torch.long)
        return cut[:-1], cut[1:]

    def microbatches(self, args, step, replica):
        """Neighbouring samples: first shared out over the replicas, then cut in microbatches."""
        share = args.batch // args.dp
        first = step * args.batch + replica * share
        samples = [self[i] for i in range(first, first + share)]
        tokens, labels = (torch.stack(column) for column in zip(*samples))
        return zip(tokens.chunk(args.microbatches), labels.chunk(args.microbatches))


def autocast(args):
    if args.autocast == "off":
        return contextlib.nullcontext()
    return torch.autocast("cpu", dtype=DTYPES[args.autocast])


def make_optimizer(args, model):
    """AdamW; norm weights do not decay, and are a group of their own also because they may be
    plain tensors beside DTensors."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in parameters if p.ndim > 1], "weight_decay": 0.1},
              {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.95), **OPTIMIZERS[args.optimizer])


def clip_grad_norm(parameters, limit):
    """As torch.nn.utils.clip_grad_norm_, for DTensors and plain tensors side by side."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norms = [full(torch.linalg.vector_norm(g)).float() for g in gradients]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    factor = torch.clamp(limit / (norm + 1e-6), max=1.0)
    for gradient in gradients:
        local(gradient).mul_(factor)
    return norm


def average(name, gradient, group, asynchronous):
    """Starts the mean over the replicas; the caller waits for what comes back, if anything."""
    return dist.all_reduce(gradient, op=dist.ReduceOp.AVG, group=group, async_op=asynchronous)


def say_loss(args, step, loss):
    """The mean over all ranks."""
    loss = loss.detach().float().clone()
    if args.world > 1:
        dist.all_reduce(loss)
    say(args, f"step {step} loss {loss.item() / args.world:.6f}")


def save_and_load(model, optimizer):
    """What a stopped job does when it starts again."""
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    state = torch.load(file, weights_only=False)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
