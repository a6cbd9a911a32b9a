# SPDX-License-Identifier: Apache-2.0
"""How what a job has becomes rows of a capsule, and back: tensors, numbers, texts."""

import json

import torch

from .optimizers import betas_of

_BLOCK = 16384  # texts of all ranks are of one length: blanks mean nothing at the end of JSON
ROLES = ("optimizer", "roles")  # what the optimizer keeps of parameters, by name
_DTYPES = {"fp32": torch.float32, "fp64": torch.float64, "fp16": torch.float16,
           "bf16": torch.bfloat16, "int64": torch.int64, "int32": torch.int32,
           "int16": torch.int16, "int8": torch.int8, "uint8": torch.uint8, "bool": torch.bool,
           "fp8_e4m3": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e5m2}


def dtype_of(row):
    """Of a row that a capsule holds; None without one."""
    return row and _DTYPES[row["dtype"]]


def point(site, role, placed):
    said = {"site": site, "phase": "state", "role": role}
    if placed is not None:
        said["placement"] = placed
    return json.dumps(said)


def local(tensor):
    return getattr(tensor, "_local_tensor", tensor).detach()


def number(value):
    if isinstance(value, torch.Tensor):
        return value.detach().reshape(()).cpu().clone()
    return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else torch.int64)


def as_bytes(state):
    """JSON; floats keep their bits."""
    text = json.dumps(state).encode()
    text += b" " * (-len(text) % _BLOCK)
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


def text_of(state):
    """The same, no longer than it is."""
    return torch.frombuffer(bytearray(json.dumps(state).encode()), dtype=torch.uint8)


def from_bytes(text):
    return json.loads(bytes(text.tolist()))


def as_tuples(value):
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def group_numbers(group):
    numbers = {name: value for name, value in group.items()
               if isinstance(value, (int, float)) and not isinstance(value, bool)}
    if isinstance(group.get("lr"), torch.Tensor):
        numbers["lr"] = float(group["lr"])
    return numbers | betas_of(group)


def set_group_number(group, name, value):
    if name in betas_of(group):
        betas = list(group["betas"])
        betas[int(name.removeprefix("beta")) - 1] = value
        group["betas"] = tuple(betas)
    elif isinstance(group[name], torch.Tensor):
        group[name].fill_(value)
    else:
        group[name] = type(group[name])(value)
