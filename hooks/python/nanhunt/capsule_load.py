# SPDX-License-Identifier: Apache-2.0
"""One capsule into one job (capsule.py, docs/capsule.md): all of it is looked at on all ranks
before anything of the job is touched, so that a load that fails leaves the job as it was.
"""

import dataclasses
import json
import random

import torch
import torch.distributed as dist

from . import capsule_rows as rows


class Missing(RuntimeError):
    """What a capsule lacks, has and the job does not, or what does not fit; one line each in
    `reasons`."""

    def __init__(self, reasons):
        super().__init__(f"{reasons[0]}" + (f" (and {len(reasons) - 1} more)"
                                            if len(reasons) > 1 else ""))
        self.reasons = reasons


class Loaded(int):
    """The step to go on with; and what was loaded:

    tensors         how many, numbers and texts included
    data            numbers of the data cursor, by name
    batch_compared  names of `data.batch` that were held against what the job would read
    lost            one line for each thing that was rebuilt or dropped
    summary         all that in one line, to be logged
    """


@dataclasses.dataclass
class Wanted:
    """A tensor of the job. like: its type and local shape. put: takes it once it is loaded; None:
    it is only held against the job's own. zero: where the capsule lacks it and that is to pass, the
    job gets zeros, as it has other state that would be of no use without it."""
    site: str
    role: str
    like: torch.Tensor
    placed: dict
    put: object = None
    zero: bool = False


class Loading:
    def __init__(self, state, folder, step, batch, data):
        self.state = state
        self.reader = torch.classes.nanhunt.Capsule(folder, step, state.facts())
        self.batch = batch(self.reader.step()) if callable(batch) else batch
        self.held = {(row["site"], row["role"]): row for row in json.loads(self.reader.tensors())}
        self.data_names = tuple(data)
        self.asked, self.found, self.zeros = {rows.ROLES}, [], []
        self.data, self.compared = {}, []
        self.lost_roles = self.roles_that_are_gone()

    # --- looking --------------------------------------------------------------------------------

    def look(self):
        """Reads all of it into memory of its own, one tensor at a time; returns what is in the
        way."""
        reasons = []
        for wanted in self.all_wanted():
            self.asked.add((wanted.site, wanted.role))
            if wanted.like.numel() == 0 and wanted.like.dim() > 0:
                self.zeros.append(wanted)  # other ranks hold all of it
                continue
            here = torch.empty(wanted.like.shape, dtype=wanted.like.dtype)
            why = self.reader.load(rows.point(wanted.site, wanted.role, wanted.placed), here)
            if why:
                reasons.append(why)
                self.zeros += [wanted] if wanted.zero else []
            elif wanted.site == "data":
                self.data[wanted.role] = here.item()
            elif wanted.site == "data.batch":
                reasons += self.compared_with(wanted.role, here)
            if not why:
                self.found.append(wanted)
        return reasons + self.unknown()

    def compared_with(self, name, kept):
        self.compared.append(name)
        if kept.equal(self.batch[name].detach().cpu()):
            return []
        return [f"data.batch {name}: the job would read another batch than the capsule's next one"]

    def unknown(self):
        """What the capsule has and the job does not. Cursor and batch are the job's to use."""
        return [row["lost"] for (site, role), row in self.held.items()
                if row["lost"] and (site, role) not in self.asked
                and site not in ("data", "data.batch")]

    # --- loading --------------------------------------------------------------------------------

    def fill(self):
        for wanted in self.found:
            if wanted.put is None:
                continue
            here = torch.empty(wanted.like.shape, dtype=wanted.like.dtype)
            why = self.reader.load(rows.point(wanted.site, wanted.role, wanted.placed), here)
            if why:
                raise RuntimeError(f"it changed while it was loaded: {why}")
            wanted.put(here)
        for wanted in self.zeros:
            if wanted.put is None:
                continue
            wanted.put(torch.zeros(wanted.like.shape, dtype=wanted.like.dtype))

    def result(self, lost):
        loaded = Loaded(self.reader.step())
        loaded.tensors = len(self.found)
        loaded.data, loaded.batch_compared, loaded.lost = self.data, tuple(self.compared), lost
        loaded.summary = ", ".join((
            f"capsule of step {int(loaded)}: {loaded.tensors} tensors, numbers and texts loaded",
            self.about_batch(), self.about_cursor(),
            f"{len(lost)} things rebuilt or dropped" if lost else "nothing lost"))
        return loaded

    def about_batch(self):
        kept = [role for site, role in self.held if site == "data.batch"]
        if not kept:
            return "next batch not compared: the capsule has none"
        left = [name for name in kept if name not in self.compared]
        if left:
            return f"next batch not compared: the job did not pass {' '.join(left)}"
        return "next batch equal"

    def about_cursor(self):
        if not self.data:
            return "no data cursor in the capsule"
        return "data cursor " + " ".join(f"{name}={value}" for name, value in self.data.items())

    # --- what the job has -----------------------------------------------------------------------

    def all_wanted(self):
        yield from self.of_model()
        yield from self.of_groups()
        yield from self.of_texts()
        whole = self.state.whole(())
        names = [role for site, role in self.held if site == "data"]
        for name in dict.fromkeys((*names, *self.data_names)):
            dtype = rows.dtype_of(self.held.get(("data", name))) or torch.int64
            yield Wanted("data", name, torch.zeros((), dtype=dtype), whole)
        for name, tensor in self.batch.items():
            yield Wanted("data.batch", name, tensor, self.state.of_batch(tensor))

    def of_model(self):
        for site, parameter in self.state.parameters:
            placed = self.state.of_tensor(parameter)
            here = rows.local(parameter)
            yield Wanted(site, "param", here, placed, here.copy_)
            yield from self.of_optimizer(site, parameter)
        for site, buffer in self.state.buffers:
            here = rows.local(buffer)
            yield Wanted(site, "buffer", here, self.state.of_tensor(buffer), here.copy_)

    def of_optimizer(self, site, parameter):
        """What it keeps of a parameter, and what it would have made at its first step."""
        if not self.state.is_optimized(parameter):
            return
        kept = dict(self.state.states(parameter))
        there = [role for owner, role in self.held
                 if owner == site and role not in ("param", "buffer")]
        for role in dict.fromkeys((*kept, *there, *self.lost_roles)):
            value = kept.get(role)
            if value is None:
                value = self.empty(parameter, role, self.held.get((site, role)))
            put = self.putter(parameter, role, value)
            zero = bool(there) and role in self.lost_roles
            if isinstance(value, torch.Tensor) and value.dim() > 0:
                placed = self.state.of_state(parameter, value)
                yield Wanted(site, role, rows.local(value), placed, put, zero)
            else:
                yield Wanted(site, role, rows.number(value), self.state.whole(()), put, zero)

    def roles_that_are_gone(self):
        """What the optimizer that wrote the capsule kept of parameters, and none has there."""
        if rows.ROLES not in self.held:
            return []
        text = torch.zeros(self.held[rows.ROLES]["shape"], dtype=torch.uint8)
        why = self.reader.load(rows.point(*rows.ROLES, self.state.whole(text.shape)), text)
        if why:
            raise RuntimeError(why)
        there = {role for _, role in self.held}
        return [role for role in rows.from_bytes(text) if role not in there]

    def empty(self, parameter, role, row):
        if row is None:  # gone: of what type it was, only its name can tell
            return torch.zeros(()) if role == "step" else torch.zeros_like(parameter)
        dtype = rows.dtype_of(row)
        if tuple(row["shape"]) == tuple(parameter.shape):
            return torch.zeros_like(parameter, dtype=dtype)
        return torch.zeros(row["shape"], dtype=dtype)

    def putter(self, parameter, role, value):
        def put(loaded):
            state = self.state.optimizer.state[parameter]
            if not isinstance(value, torch.Tensor):
                state[role] = type(value)(loaded.item())
                return
            rows.local(value).copy_(loaded)
            state[role] = value
        return put

    def of_groups(self):
        for index, group in self.state.groups():
            for role, value in rows.group_numbers(group).items():
                put = (lambda group, role: lambda loaded: rows.set_group_number(
                    group, role, loaded.item()))(group, role)
                yield Wanted(f"optimizer.groups.{index}", role, rows.number(value),
                             self.state.whole(()), put)

    def of_texts(self):
        for site, put in self.state.text_owners():
            row = self.held.get((site, "state"))
            text = torch.zeros(row["shape"] if row else (1,), dtype=torch.uint8)
            yield Wanted(site, "state", text, self.state.whole(text.shape), put)


def set_python_stream(text):
    random.setstate(rows.as_tuples(rows.from_bytes(text)))


def told_by_all(reasons):
    """The reasons of all ranks; those that not all have say whose they are. Collective."""
    if not (dist.is_available() and dist.is_initialized()):
        return reasons
    told = [None] * dist.get_world_size()
    dist.all_gather_object(told, reasons)
    merged = []
    for reason in dict.fromkeys(reason for own in told for reason in own):
        ranks = [str(rank) for rank, own in enumerate(told) if reason in own]
        merged.append(reason if len(ranks) == len(told) else f"rank {' '.join(ranks)}: {reason}")
    return merged


def load(state, folder, step, rebuild, batch, data, complain):
    """Of Capsules.load. Collective: all ranks load, or none does."""
    loading, reasons, broken = None, [], []
    with torch.no_grad():
        try:
            loading = Loading(state, folder, step, batch, data)
            reasons = loading.look()
        except (RuntimeError, ValueError) as error:
            broken = [str(error).splitlines()[0]]
        broken, reasons = told_by_all(broken), told_by_all(reasons)
        if broken:
            raise RuntimeError("; ".join(broken))
        if reasons and not rebuild:
            raise Missing(reasons)
        if state.mesh.rank == 0:
            for reason in reasons:
                complain(f"goes on without: {reason}")
        loading.fill()
    return loading.result(reasons)
