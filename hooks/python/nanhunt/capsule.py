# SPDX-License-Identifier: Apache-2.0
"""Capsules of a job: what a step starts from, written beside training and loaded again, in any
layout (docs/capsule.md).

    capsules = nanhunt.capsule.Capsules("capsules", model, optimizer, scheduler, scaler, keep=2)
    start = capsules.load() if resume else 0
    for step in range(start, steps):
        capsules.save(step, data={"consumed_samples": ...}, batch={"tokens": tokens})
        ...

Writing never raises into the job; loading does, and loads nothing half: without `rebuild` what the
capsule lacks, or has and the job does not, is an error that names it and what is lost.
"""

import json
import os
import random

import torch

from . import capsule_load, library, mesh as meshes, placement
from .capsule_load import Loaded, Missing  # noqa: F401 (part of what the module offers)
from .capsule_rows import (ROLES, as_bytes, from_bytes, group_numbers, local, number, point,
                           text_of)
from .names import site_of, unwrapped


class Capsules:
    """keep: older whole capsules that stay when a new one is begun; 0: all. `sampler`: anything
    with state_dict and load_state_dict of what JSON holds (a stateful data loader). queue_bytes:
    bound on copies that wait to be written (default 4 GiB); wait: a rank beyond it holds the step
    up until there is room, else values are left out and the capsule is not whole."""

    def __init__(self, folder, model, optimizer=None, scheduler=None, scaler=None, sampler=None,
                 keep=0, queue_bytes=4 << 30, wait=True):
        library.load()
        self.folder = str(folder)
        self.plan = {"folder": self.folder, "keep": keep, "queue_bytes": queue_bytes, "wait": wait}
        self.model, self.optimizer = unwrapped(model), optimizer
        self.documents = {"schedule": scheduler, "scaler": scaler, "data.sampler": sampler}
        self.mesh = meshes.mesh_of(self.model)
        self.parameters = [(site_of(name), parameter)
                           for name, parameter in self.model.named_parameters()]
        self.buffers = [(site_of(name), buffer) for name, buffer in self.model.named_buffers()]
        self.writer = None
        self.unchanged_step = None  # of the capsule that the job goes on from

    # --- writing ------------------------------------------------------------------------------

    def save(self, step, data=None, batch=None):
        """The state that `step` starts from. data: numbers by name ("consumed_samples", "epoch").
        batch: tensors of this rank by name, samples first. Collective. The capsule that the job
        was loaded from, with nothing lost, stays as it is."""
        if step == self.unchanged_step:
            return
        try:
            if self.writer is None:
                self.writer = torch.classes.nanhunt.Capsules(
                    json.dumps(self.plan | {"run": run_number()}), self.facts())
            self.writer.begin(step)
            for site, role, tensor, placed in self.rows(data or {}, batch or {}):
                if placed is None:
                    library.complain(f"capsule: {site} {role}: its placement is not known; "
                                     "it cannot be loaded")
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
        for index, group in self.groups():
            for role, value in group_numbers(group).items():
                yield f"optimizer.groups.{index}", role, number(value), self.whole(())
        if roles := self.state_roles():
            yield *ROLES, text_of(roles), self.whole(text_of(roles).shape)
        for site, text in self.texts():
            yield site, "state", text, self.whole(text.shape)
        for name, value in data.items():
            yield "data", name, number(value), self.whole(())
        for name, tensor in batch.items():
            yield "data.batch", name, tensor, self.of_batch(tensor)

    def tensors(self):
        """Parameters, buffers and the optimizer's tensors of this rank."""
        for site, parameter in self.parameters:
            if is_held(parameter):
                yield site, "param", local(parameter), self.of_tensor(parameter)
            for role, value in self.states(parameter):
                if isinstance(value, torch.Tensor) and value.dim() > 0:
                    if is_held(value):
                        yield site, role, local(value), self.of_state(parameter, value)
                else:  # a counter; a tensor for the one optimizer, a number for the other
                    yield site, role, number(value), self.whole(())
        for site, buffer in self.buffers:
            if is_held(buffer):
                yield site, "buffer", local(buffer), self.of_tensor(buffer)

    def states(self, parameter):
        if self.optimizer is None:
            return []
        kept = self.optimizer.state.get(parameter, {}).items()
        return [(role, value) for role, value in kept if value is not None]

    def state_roles(self):
        """What the optimizer keeps of parameters, by name: a capsule that lost one is told from a
        capsule that never had it."""
        return sorted({role for _, parameter in self.parameters
                       for role, value in self.states(parameter)})

    def groups(self):
        return enumerate(self.optimizer.param_groups if self.optimizer else ())

    def is_optimized(self, parameter):
        return any(parameter is other for _, group in self.groups() for other in group["params"])

    def texts(self):
        """State that is no tensor, as JSON in bytes. Streams of random numbers as they are."""
        for site, owner in self.documents.items():
            if owner is not None:
                yield site, as_bytes(owner.state_dict())
        yield "rng.cpu", torch.get_rng_state()
        if torch.cuda.is_available():
            yield "rng.cuda", torch.cuda.get_rng_state()
        yield "rng.python", as_bytes(random.getstate())

    def text_owners(self):
        """What takes each of them when it is loaded."""
        for site, owner in self.documents.items():
            if owner is not None:
                yield site, putter(owner)
        yield "rng.cpu", torch.set_rng_state
        if torch.cuda.is_available():
            yield "rng.cuda", torch.cuda.set_rng_state
        yield "rng.python", capsule_load.set_python_stream

    # --- loading ------------------------------------------------------------------------------

    def load(self, step=-1, rebuild=False, batch=None, data=()):
        """Loads in place and returns Loaded: the step to go on with, as a number, with what was
        loaded and what was not. Collective: all ranks load, or none does and nothing of the job is
        touched. step -1: the newest whole capsule. batch: the tensors that the job would read
        next, or a function of the step that gives them; others than the capsule's are an error,
        and what is not passed is not compared, as the summary says. data: names of numbers that the job goes on from; what the capsule lacks
        of them is an error. rebuild: goes on without what the capsule lacks, or has and the job
        does not, and says so on stderr."""
        loaded = capsule_load.load(self, self.folder, step, rebuild, batch or {}, data,
                                   library.complain)
        self.unchanged_step = None if loaded.lost else int(loaded)
        return loaded

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

    def of_state(self, parameter, value):
        """What an optimizer keeps of a parameter. Of a sharded one, what is neither sharded itself
        nor of the shard's shape could be anything."""
        if hasattr(parameter, "_local_tensor") and not hasattr(value, "_local_tensor"):
            return self.of_tensor(parameter) if value.shape == local(parameter).shape else None
        return self.of_tensor(value)

    def of_batch(self, tensor):
        """Each data-parallel rank has its own samples, in the order of ranks."""
        ranks, at = self.mesh.extent("dp"), self.mesh.at("dp")
        shape, start = list(tensor.shape), [0] * tensor.dim()
        shape[0], start[0] = shape[0] * ranks, at * shape[0]
        kinds = {axis: "shard" if axis == "dp" else "replicated" for axis in self.mesh.size}
        return placement.box(shape, start, list(tensor.shape),
                             [f"dim{d}" for d in range(tensor.dim())], kinds)


def putter(owner):
    return lambda text: owner.load_state_dict(from_bytes(text))


def is_held(tensor):
    """This rank has something of it; uneven shards leave some ranks without."""
    return local(tensor).numel() > 0 or tensor.numel() == 0


def run_number():
    """The same on all ranks of a run, another in each run."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return int.from_bytes(os.urandom(7), "little")
    drawn = [int.from_bytes(os.urandom(7), "little")]
    torch.distributed.broadcast_object_list(drawn, src=0)
    return drawn[0]
