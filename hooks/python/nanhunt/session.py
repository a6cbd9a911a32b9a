# SPDX-License-Identifier: Apache-2.0
"""One rank's capture: where the job is in its step, and the taps that the hooks call.

A step begins with the first call of the model with gradients enabled, and ends when the
optimizers that hold its gradients have stepped (or the scaler skipped them), at the next call at
the latest. Without an optimizer of its parameters it is as many calls as it has microbatches.
Nothing here raises into the job, and nothing waits for another rank.
"""

import gc
import json
import os
import re
import sys

import torch

from . import activations, library, mesh as meshes, placement
from .names import site_of


class Session:
    """settings: microbatches (a step, None: 1, or what accelerate says), order (of samples over
    ranks), loss ("mean" or "sum" of the ranks' losses, None: what FSDP2 does with gradients).
    """

    def __init__(self, microbatches=None, order=None, loss=None):
        self.microbatches = int(os.environ.get("NANHUNT_MICROBATCHES", microbatches or 0)) or None
        self.order = os.environ.get("NANHUNT_SAMPLE_ORDER", order or "interleaved")
        self.loss = os.environ.get("NANHUNT_LOSS", loss)
        self.failed = False
        self.modules = None  # the hooks on modules, which set it
        self.job = None  # made when the model is first called: its mesh is known only then
        self.model = None
        self.batch = None
        self.mesh = meshes.Mesh()
        self.step = -1
        self.in_step = False
        self.microbatch = -1
        self.loss_scale = 1.0
        self.parameters = []  # (site, parameter)
        self.site_of_parameter = {}
        self.stepped = set()  # ids of parameters that an optimizer has updated in this step
        self.held = set()  # ids of those that an optimizer is known to hold
        self.left_alone = set()  # ids of those that none held when it was asked
        self.clipped = False
        self.known_groups = 0
        self.points = {}
        self.places = {}  # what a placement follows from -> the placement
        self.unseen = []  # modules inside compiled regions

    # --- life ---------------------------------------------------------------------------------

    def fail(self, what):
        self.failed = True
        library.complain(f"capture stopped: {what}")
        if self.job is not None:
            self.job.fail(what)

    def open(self):
        """When the model is first called: before that its mesh is not known."""
        self.mesh = meshes.mesh_of(self.model)
        self.loss = self.loss or ("sum" if meshes.sums_gradients(self.model) else "mean")
        self.parameters = [(site_of(name), parameter)
                           for name, parameter in self.model.named_parameters()]
        self.site_of_parameter = {id(parameter): site for site, parameter in self.parameters}
        mesh = {axis: [size, self.mesh.at(axis)] for axis, size in self.mesh.size.items()}
        mesh["mb"] = [self.steps_microbatches(), 0]
        facts = {"rank": self.mesh.rank, "world_size": self.mesh.world_size, "mesh": mesh,
                 "facts": self.facts()}
        self.job = library.Job(json.dumps(facts))
        if not self.job.on():
            self.failed = True
            return
        perturbed = json.loads(self.job.plan()).get("perturbation") is not None
        if self.unseen:
            self.job.fact("coverage.compiled",
                          f"{len(self.unseen)} modules are in compiled regions: their values are "
                          "not captured; NANHUNT_FORCE_EAGER=1 runs them eagerly")
        for site, parameter in self.parameters:
            self.job.keep(local(parameter))
            if perturbed:
                self.job.perturb_parameter(site, local(parameter.detach()))

    def facts(self):
        facts = meshes.describe()
        config = getattr(self.model, "config", None)
        attention = getattr(config, "_attn_implementation", None)
        if attention is not None:
            facts["attention"] = str(attention)
        return facts

    def steps_microbatches(self):
        if self.microbatches is None:
            self.microbatches = max(1, said_by_trainer(), said_by_accelerate(),
                                    said_by_command_line())
        return self.microbatches

    def close(self, status=0):
        """status: of an os._exit, which skips what a program does at its end."""
        if self.job is not None and not self.failed:
            self.failed = True  # nothing is recorded from here on
            error = getattr(sys, "last_value", None)  # set before functions at exit run
            if error is not None:
                self.job.died(f"{type(error).__name__}: {error}")
            elif status != 0:
                self.job.died(f"os._exit({status})")
            else:
                self.end_step()
            self.job.close()

    # --- step ---------------------------------------------------------------------------------

    def begin_microbatch(self, batch):
        if self.job is None:
            self.open()
            if self.failed:
                return
        if self.in_step and self.parameters and (self.all_stepped() or self.passes_are_over()):
            self.end_step()
        if not self.in_step:
            self.begin_step()
        self.microbatch += 1
        self.batch = batch
        if self.is_beyond():
            self.job.fact("coverage.microbatches", "more forward passes a step than "
                          f"{self.steps_microbatches()}, and they are not placed: say "
                          "--microbatches")
            self.batch = None

    def is_beyond(self):
        """In a forward pass that the step was not said to have: what it gives has no place in the
        whole, and no part of the sum over microbatches either.
        """
        return self.microbatch >= self.steps_microbatches()

    def begin_step(self):
        self.step += 1
        self.in_step = True
        self.microbatch = -1
        self.clipped = False
        self.stepped.clear()
        self.declare_groups()
        if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
            self.job.fact("autocast", "on")
        self.job.begin_step(self.step)
        self.tap_each((site, "forward", "param", parameter, self.of_parameter(parameter), "", "")
                      for site, parameter in self.parameters)

    def end_step(self):
        if self.in_step:
            if self.step == 0:
                self.tell_who_never_fired()
            self.tell_fewer_passes()
            self.job.end_step()
            self.in_step = False

    def tell_who_never_fired(self):
        sites = sorted(self.modules.waiting.values())
        if sites:
            more = f" and {len(sites) - 3} more" if len(sites) > 3 else ""
            self.job.fact("coverage.never_fired", "modules that the first step never called: "
                          f"{', '.join(sites[:3])}{more}")

    def tell_fewer_passes(self):
        """What the others would have held is missing, and the samples of the step are fewer."""
        said = self.steps_microbatches()
        if self.microbatch + 1 < said:
            self.job.fact("coverage.passes", f"fewer forward passes in a step than {said}: what "
                          "they gave is not compared; say --microbatches")

    def has_stepped(self, parameters):
        """An optimizer has updated these (ids): so it holds them."""
        self.stepped |= parameters
        self.held |= parameters
        self.left_alone -= parameters

    def all_stepped(self):
        """All that have a gradient, but those that no optimizer holds: nobody will step these
        (a job may freeze what it leaves out of its optimizer).
        """
        if not self.stepped:
            return False
        pending = {id(parameter) for _, parameter in self.parameters
                   if parameter.grad is not None} - self.stepped
        if not pending <= self.held | self.left_alone:  # looking costs milliseconds
            held = held_by_optimizers()
            self.held |= pending & held
            self.left_alone |= pending - held
        return pending <= self.left_alone

    def passes_are_over(self):
        """All that tells steps apart where the job updates its parameters by itself, from copies
        that an optimizer holds in their place or without any.
        """
        return self.microbatch + 1 >= self.steps_microbatches() and \
            held_by_optimizers().isdisjoint(self.site_of_parameter)

    def declare_groups(self):
        groups = meshes.groups()
        if len(groups) == self.known_groups:
            return
        for name, ranks in groups.items():
            self.job.group(name, ranks, self.mesh.axis_of_group(ranks))
        self.known_groups = len(groups)

    # --- taps ---------------------------------------------------------------------------------

    def tap(self, site, phase, role, tensor, placed, op="", attributes="", copied=False):
        """Records the tensor; the one that the job is to go on with (another only in
        calibration). placed: of `place`; attributes: JSON; copied: it has a record already, under
        another name.
        """
        if not self.in_step:
            return tensor
        value = local(tensor)
        number = self.number_of(site, phase, role, placed, op, copied)
        result = self.job.tap(number, value, self.microbatch if phase in _OF_MICROBATCH else -1,
                              attributes)
        return tensor if result is value else result

    def tap_each(self, records):
        """Records of a step, not of a microbatch, in one call: there is one for each parameter.
        records: (site, phase, role, tensor, placed, op, attributes).
        """
        if not self.in_step:
            return
        numbers, values, texts = [], [], []
        for site, phase, role, tensor, placed, op, attributes in records:
            numbers.append(self.number_of(site, phase, role, placed, op, False))
            values.append(inner_tensor(tensor))
            texts.append(attributes)
        self.job.tap_each(numbers, values, texts)

    def number_of(self, site, phase, role, placed, op, copied):
        key = (site, phase, role, op, id(placed), copied)  # `places` keeps it alive
        number = self.points.get(key)
        if number is None:
            point = {"site": site, "phase": phase, "role": role, "op": op}
            if placed:
                point["placement"] = placed
            if copied:
                point["copied"] = True
            number = self.points[key] = self.job.point(json.dumps(point))
        return number

    def scalar(self, site, phase, role, value, attributes=None, op=""):
        if not self.in_step:
            return
        key = (site, phase, role, json.dumps(attributes))
        number = self.points.get(key)
        if number is None:
            point = {"site": site, "phase": phase, "role": role, "op": op or role,
                     "placement": placement.whole([], {})}
            if attributes:
                point["attributes"] = attributes
            number = self.points[key] = self.job.point(json.dumps(point))
        self.job.scalar(number, float(value))

    # --- placements ---------------------------------------------------------------------------

    def place(self, key, make):
        """The placement of that key, made once: a job asks hundreds of times a step."""
        if key not in self.places:
            self.places[key] = make()
        return self.places[key]

    def axis_of(self, device_mesh, dimension):
        return meshes.axis_of_dimension(device_mesh, dimension,
                                        "dp" if meshes.is_fsdp(self.model) else "tp")

    def of_parameter(self, tensor):
        """A parameter, its moments, its reduced gradient."""
        if self.cut_by_megatron(tensor):
            return self.of_megatron(tensor, tensor.shape)
        if type(tensor) not in _PLAIN and hasattr(tensor, "placements"):
            return self.place((tensor._spec, tensor._local_tensor.shape),
                              lambda: placement.of_dtensor(tensor, self.axis_of))
        return self.of_copy(tensor)

    def like_parameter(self, parameter, tensor):
        """A tensor of the parameter's shape: gradient or moment."""
        if hasattr(tensor, "placements") or not hasattr(parameter, "placements"):
            if self.cut_by_megatron(parameter):
                return self.of_megatron(parameter, tensor.shape)
            return self.of_parameter(tensor)
        if tensor.shape == parameter._local_tensor.shape:
            return self.of_parameter(parameter)
        return self.of_copy(tensor) if tensor.dim() == 0 else None

    def of_copy(self, tensor):
        """One that each rank holds whole."""
        shape = tensor.shape
        return self.place(("copy", shape), lambda: placement.whole(shape, {}))

    def cut_by_megatron(self, parameter):
        return self.mesh.extent("tp") > 1 and getattr(parameter, "tensor_model_parallel", False)

    def of_megatron(self, parameter, shape):
        if getattr(parameter, "partition_stride", 1) != 1:
            return None
        dim = parameter.partition_dim
        return self.place((shape, "cut", dim), lambda: self.cut_along(dim, list(shape)))

    def cut_along(self, dim, shape):
        start, logical = [0] * len(shape), list(shape)
        start[dim] = shape[dim] * self.mesh.at("tp")
        logical[dim] = shape[dim] * self.mesh.extent("tp")
        return placement.box(logical, start, shape, [f"dim{d}" for d in range(len(shape))],
                             {"tp": "shard"})

    def unreduced(self, placed):
        """A gradient before data parallelism and accumulation have summed it."""
        if placed is None or self.is_beyond():
            return None
        scale = self.mean_of() * self.loss_scale
        return self.place((id(placed), scale), lambda: unreduced(placed, scale))

    def mean_of(self):
        """How many ranks' losses the step's loss is the mean of; 1 where they add up."""
        return 1.0 if self.loss == "sum" else float(self.mesh.extent("dp"))

    def of_loss(self):
        """A loss of this rank's samples; microbatches add up."""
        if self.is_beyond():
            return None
        return self.place("loss", lambda: {
            "axes": [], "shape": [], "regions": [[[], [], []]],
            "mesh": {"dp": ["partial", "sum", self.mean_of()], "mb": ["partial", "sum", 1.0]}})

    def of_activation(self, shape, style, scale=1.0):
        """None before the batch is known. style, scale: of activations.locate."""
        if self.batch is None:
            return None
        return self.place((shape, self.batch, self.microbatch, style, scale),
                          lambda: activations.locate(shape, self.batch, self.samples(), self.mesh,
                                                     style, scale))

    def samples(self):
        return placement.Samples(self.batch.samples, self.mesh.extent("dp"), self.mesh.at("dp"),
                                 self.steps_microbatches(), self.microbatch, self.order)


def unreduced(placed, scale):
    mesh = dict(placed["mesh"])
    if mesh.get("dp") == "shard":
        return None
    mesh["dp"] = ["partial", "sum", scale]
    mesh["mb"] = ["partial", "sum", 1.0]
    return {**placed, "mesh": mesh}


def alive(kind):
    """The objects of this class in the process."""
    return [found for found in gc.get_objects() if issubclass(type(found), kind)]


def held_by_optimizers():
    """Ids of all parameters that the optimizers of the process hold."""
    return {id(parameter) for optimizer in alive(torch.optim.Optimizer)
            for group in optimizer.param_groups for parameter in group["params"]}


def said_by_trainer():
    """The arguments of the transformers.Trainer that is running, when one is."""
    trainer = getattr(sys.modules.get("transformers.trainer"), "Trainer", None)
    running = alive(trainer) if trainer is not None else []
    return running[-1].args.gradient_accumulation_steps if running else 0


def said_by_accelerate():
    state = sys.modules.get("accelerate.state")
    shared = getattr(getattr(state, "GradientState", None), "_shared_state", None) or {}
    plugin = shared.get("plugin_kwargs") or {}
    return int(plugin.get("num_steps") or 0)


def said_by_command_line():
    """--microbatches=2, --gradient-accumulation-steps 4 and the like, among the job's own
    arguments.
    """
    text = " ".join(sys.argv[1:])
    names = r"micro[-_]?batches|grad(?:ient)?[-_]accum\w*(?:[-_]steps)?"
    found = re.search(rf"--(?:{names})[= ](\d+)", text)
    return int(found.group(1)) if found else 0


_OF_MICROBATCH = frozenset({"forward", "loss", "backward"})


def recomputing():
    """True inside backward: in the second forward of activation checkpointing."""
    return torch._C._current_graph_task_id() != -1


def local(tensor):
    """The plain tensor inside a DTensor; waits for an asynchronous one."""
    tensor = inner_tensor(tensor)
    return tensor.detach() if isinstance(tensor, torch.nn.Parameter) else tensor


def inner_tensor(tensor):
    """The same, a parameter as it is."""
    if type(tensor) in _PLAIN:
        return tensor
    inner = getattr(tensor, "_local_tensor", None)
    if inner is not None:
        tensor = inner
    if type(tensor).__name__ == "AsyncCollectiveTensor":
        tensor = tensor.wait()
    return tensor


_PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
