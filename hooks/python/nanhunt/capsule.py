# SPDX-License-Identifier: Apache-2.0
"""Capsules of a job: what a step starts from, written beside training and loaded again, in any
layout (docs/capsule.md).

    capsules = nanhunt.capsule.Capsules("capsules", model, optimizer, scheduler, scaler, keep=2)
    start = capsules.load() if resume else 0
    for step in range(start, steps):
        capsules.save(step, data={"consumed_samples": ...}, batch={"tokens": tokens})
        ...

Writing never raises into the job; loading does, and loads nothing half: without `rebuild` what the
capsule lacks is an error that names it and what is lost.
"""

import json
import os
import random

import torch

from . import library, mesh as meshes, placement
from .names import site_of, unwrapped


class Missing(RuntimeError):
    """What a capsule lacks, or what does not fit; one line each in `reasons`."""

    def __init__(self, reasons):
        super().__init__(f"{reasons[0]}" + (f" (and {len(reasons) - 1} more)"
                                            if len(reasons) > 1 else ""))
        self.reasons = reasons


class Capsules:
    """keep: older capsules that stay when a new one is begun; 0: all. `sampler`: anything with
    state_dict and load_state_dict of what JSON holds (a stateful data loader)."""

    def __init__(self, folder, model, optimizer=None, scheduler=None, scaler=None, sampler=None,
                 keep=0):
        library.load()
        self.folder, self.keep = str(folder), keep
        self.model, self.optimizer = unwrapped(model), optimizer
        self.documents = {"schedule": scheduler, "scaler": scaler, "data.sampler": sampler}
        self.mesh = meshes.mesh_of(self.model)
        self.parameters = [(site_of(name), parameter)
                           for name, parameter in self.model.named_parameters()]
        self.buffers = [(site_of(name), buffer) for name, buffer in self.model.named_buffers()]
        self.writer = None

    # --- writing ------------------------------------------------------------------------------

    def save(self, step, data=None, batch=None):
        """The state that `step` starts from. data: numbers by name ("consumed_samples", "epoch").
        batch: tensors of this rank by name, samples first."""
        try:
            if self.writer is None:
                self.writer = torch.classes.nanhunt.Capsules(json.dumps(
                    {"folder": self.folder, "keep": self.keep, "run": run_number()}),
                    self.facts())
            self.writer.begin(step)
            for site, role, tensor, placed in self.rows(data or {}, batch or {}):
                if not self.writer.add(point(site, role, placed), tensor):
                    library.complain(f"capsule: {site} {role} is of no type that a capsule holds")
            self.writer.end()
        except Exception as error:
            library.complain(f"capsule of step {step}: {type(error).__name__}: {error}")

    def close(self):
        """Waits until what was saved is written."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    def rows(self, data, batch):
        yield from self.tensors()
        for site, values in self.settings():
            for role, value in values.items():
                yield site, role, number(value), self.whole(())
        for site, text in self.texts():
            yield site, "state", text, self.whole(text.shape)
        for name, value in data.items():
            yield "data", name, number(value), self.whole(())
        for name, tensor in batch.items():
            yield "data.batch", name, tensor, self.of_batch(tensor)

    def tensors(self):
        """Parameters, buffers and the optimizer's tensors of this rank."""
        for site, parameter in self.parameters:
            placed = self.of_tensor(parameter)
            yield site, "param", local(parameter), placed
            for role, value in self.states(parameter):
                if isinstance(value, torch.Tensor) and value.shape == parameter.shape:
                    yield site, role, local(value), placed
                else:  # a counter; a tensor for the one optimizer, a number for the other
                    yield site, role, number(value), self.whole(())
        for site, buffer in self.buffers:
            yield site, "buffer", local(buffer), self.of_tensor(buffer)

    def states(self, parameter):
        return self.optimizer.state.get(parameter, {}).items() if self.optimizer else ()

    def settings(self):
        """Numbers of the optimizer's groups."""
        for index, group in enumerate(self.optimizer.param_groups if self.optimizer else ()):
            yield f"optimizer.groups.{index}", group_numbers(group)

    def texts(self):
        """State that is no tensor, as JSON in bytes; floats keep their bits. Streams of random
        numbers as they are."""
        for site, owner in self.documents.items():
            if owner is not None:
                yield site, as_bytes(owner.state_dict())
        yield "rng.cpu", torch.get_rng_state()
        if torch.cuda.is_available():
            yield "rng.cuda", torch.cuda.get_rng_state()
        yield "rng.python", as_bytes(random.getstate())

    # --- loading ------------------------------------------------------------------------------

    def load(self, step=-1, rebuild=False, batch=None):
        """Loads in place and returns the step to go on with. step -1: the newest whole capsule.
        batch: the tensors that the job would read next; others than the capsule's are an error.
        rebuild: goes on without what the capsule lacks, and says so on stderr."""
        reader = torch.classes.nanhunt.Capsule(self.folder, step, self.facts())
        held = {(row["site"], row["role"]): row for row in json.loads(reader.tensors())}
        reasons = []

        def load(site, role, tensor, placed):
            why = reader.load(point(site, role, placed), tensor)
            if why:
                reasons.append(why)
            return not why

        with torch.no_grad():
            self.make_states(held)
            for site, role, tensor, placed in self.tensors():
                if load(site, role, tensor, placed) and tensor.dim() == 0:
                    self.set_state(site, role, tensor)
            self.load_settings(load)
            self.load_texts(held, load)
            self.check_batch(batch or {}, load, reasons)
        if reasons and not rebuild:
            raise Missing(reasons)
        for reason in reasons:
            library.complain(f"rebuilt: {reason}")
        return reader.step()

    def make_states(self, held):
        """Empty tensors for what an optimizer makes at its first step."""
        if self.optimizer is None:
            return
        grouped = {id(parameter) for group in self.optimizer.param_groups
                   for parameter in group["params"]}
        for site, parameter in self.parameters:
            if id(parameter) not in grouped:
                continue
            state = self.optimizer.state[parameter]
            for (owner, role), row in held.items():
                if owner != site or role in ("param", "buffer") or role in state:
                    continue
                if row["shape"]:
                    state[role] = torch.zeros_like(parameter)
                else:
                    state[role] = torch.zeros((), dtype=getattr(torch, {
                        "fp32": "float32", "fp64": "float64"}.get(row["dtype"], row["dtype"])))

    def set_state(self, site, role, tensor):
        """Counters were loaded into a copy."""
        for owner, parameter in self.parameters:
            if owner != site or self.optimizer is None or role not in self.optimizer.state[parameter]:
                continue
            old = self.optimizer.state[parameter][role]
            if isinstance(old, torch.Tensor):
                old.copy_(tensor.to(old.dtype))
            else:
                self.optimizer.state[parameter][role] = type(old)(tensor.item())

    def load_settings(self, load):
        for index, group in enumerate(self.optimizer.param_groups if self.optimizer else ()):
            found = {}
            for role, value in group_numbers(group).items():
                tensor = number(value)
                if load(f"optimizer.groups.{index}", role, tensor, self.whole(())):
                    found[role] = tensor.item()
            set_group_numbers(group, found)

    def load_texts(self, held, load):
        owners = {site: (lambda owner: lambda value: owner.load_state_dict(value))(owner)
                  for site, owner in self.documents.items() if owner is not None}
        owners["rng.cpu"] = torch.set_rng_state
        if torch.cuda.is_available():
            owners["rng.cuda"] = torch.cuda.set_rng_state
        owners["rng.python"] = lambda value: random.setstate(as_tuples(value))
        for site, put in owners.items():
            row = held.get((site, "state"))
            text = torch.zeros(row["shape"] if row else (1,), dtype=torch.uint8)
            if load(site, "state", text, self.whole(text.shape)):
                streams = ("rng.cpu", "rng.cuda")
                put(text if site in streams else json.loads(bytes(text.tolist())))

    def check_batch(self, batch, load, reasons):
        for name, tensor in batch.items():
            kept = torch.zeros_like(tensor)
            if load("data.batch", name, kept, self.of_batch(tensor)) and not kept.equal(tensor):
                reasons.append(f"data.batch {name}: the job would read another batch than the "
                               "capsule's next one")

    # --- placements ---------------------------------------------------------------------------

    def facts(self):
        mesh = {axis: [size, self.mesh.at(axis)] for axis, size in self.mesh.size.items()}
        return json.dumps({"rank": self.mesh.rank, "world_size": self.mesh.world_size,
                           "mesh": mesh, "facts": meshes.describe()})

    def whole(self, shape):
        return placement.whole(shape, {axis: "replicated" for axis in self.mesh.size})

    def of_tensor(self, tensor):
        if not hasattr(tensor, "_local_tensor"):
            return self.whole(tensor.shape)
        unnamed = "dp" if meshes.is_fsdp(self.model) else "tp"
        return placement.of_dtensor(
            tensor, lambda mesh, dimension: meshes.axis_of_dimension(mesh, dimension, unnamed))

    def of_batch(self, tensor):
        """Each data-parallel rank has its own samples, in the order of ranks."""
        ranks, at = self.mesh.extent("dp"), self.mesh.at("dp")
        shape, start = list(tensor.shape), [0] * tensor.dim()
        shape[0], start[0] = shape[0] * ranks, at * shape[0]
        kinds = {axis: "shard" if axis == "dp" else "replicated" for axis in self.mesh.size}
        return placement.box(shape, start, list(tensor.shape),
                             [f"dim{d}" for d in range(tensor.dim())], kinds)


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


_BLOCK = 16384  # texts of all ranks are of one length: blanks mean nothing at the end of JSON


def as_bytes(state):
    text = json.dumps(state).encode()
    text += b" " * (-len(text) % _BLOCK)
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


def as_tuples(value):
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def group_numbers(group):
    numbers = {name: value for name, value in group.items()
               if isinstance(value, (int, float)) and not isinstance(value, bool)}
    if isinstance(group.get("lr"), torch.Tensor):
        numbers["lr"] = float(group["lr"])
    if "betas" in group:
        numbers["beta1"], numbers["beta2"] = map(float, group["betas"])
    return numbers


def set_group_numbers(group, numbers):
    for name, value in numbers.items():
        if isinstance(group.get(name), torch.Tensor):
            group[name].fill_(value)
        elif name in group:
            group[name] = type(group[name])(value)
    if "beta1" in numbers and "beta2" in numbers:
        group["betas"] = (numbers["beta1"], numbers["beta2"])


def run_number():
    """The same on all ranks of a run, another in each run."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return int.from_bytes(os.urandom(7), "little")
    drawn = [int.from_bytes(os.urandom(7), "little")]
    torch.distributed.broadcast_object_list(drawn, src=0)
    return drawn[0]
