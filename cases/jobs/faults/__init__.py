# SPDX-License-Identifier: Apache-2.0
"""Planted faults, all off by default. The environment variable NANHUNT_FAULT_FILE names a JSON
file {"name": .., "layer": .., "rank": .., "microbatch": .., "step": .., "element": ..}; nothing
else tells a job of it. A fault is a function that patches what it breaks, and stays on from its
step on. Faults of parallel code leave a run of one rank healthy."""

import dataclasses
import difflib
import json
import os
import sys

import common

from . import collectives, data, optimizer, outputs


@dataclasses.dataclass
class Fault:
    name: str
    layer: int = 0
    rank: int = 0
    microbatch: int = 0
    step: int = 0
    element: int = 0


FAULTS = {
    function.__name__: function
    for function in (
        collectives.row_output_not_reduced,
        collectives.row_output_reduced_twice,
        collectives.norm_grad_not_summed,
        collectives.sum_for_avg,
        collectives.read_before_wait,
        data.ddp_other_order,
        data.ddp_neighbours_data,
        optimizer.ddp_frozen_parameter,
        optimizer.optimizer_skips_parameter,
        optimizer.wrong_moment_after_resume,
        optimizer.weight_not_updated,
        optimizer.one_gradient_element,
        outputs.heads_split_wrong_dimension,
        outputs.wrong_mask_fused,
        outputs.fp16_overflow,
        outputs.nan_masked_away,
        outputs.one_element,
        outputs.scaled_output,
        outputs.fp8_scale,
        outputs.nan_one,
        outputs.backward_twice,
    )
}


class Run:
    """What a fault knows of the run that it is planted in."""

    def __init__(self, args, fault):
        self.args, self.fault, self.calls = args, fault, 0
        self.modules, self.parameters = {}, {}
        self.on_model = []  # called when the model is as it will be trained
        self.on_optimizer = []  # called with its optimizer

    def model_is_ready(self, model):
        model.register_forward_pre_hook(self.count)
        clean = lambda name: common.plain_name(name).removeprefix("model.")
        self.modules = {clean(name): module for name, module in model.named_modules()}
        self.parameters = {clean(name): value for name, value in model.named_parameters()}
        for act in self.on_model:
            act()

    def optimizer_is_ready(self, optimizer):
        for act in self.on_optimizer:
            act(optimizer)

    def count(self, module, inputs):
        self.calls += 1

    @property
    def step(self):
        return max(self.calls - 1, 0) // self.args.microbatches

    @property
    def microbatch(self):
        return max(self.calls - 1, 0) % self.args.microbatches

    def on(self):
        return self.step >= self.fault.step

    def on_microbatch(self):
        return self.on() and self.microbatch == self.fault.microbatch

    def on_rank(self):
        return self.args.rank == self.fault.rank

    def has(self, option):
        return getattr(self.args, option, 1) > 1

    def name(self, within_layer):
        return f"layers.{self.fault.layer}.{within_layer}"

    def module(self, within_layer):
        return self.modules[self.name(within_layer)]

    def parameter(self, within_layer):
        return self.parameters[self.name(within_layer)]


def refuse(path, what):
    raise SystemExit(f"{path}: {what}")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            fields = json.load(file)
    except OSError:
        refuse(path, "cannot read the fault file")
    except ValueError:
        refuse(path, "the fault file is not JSON")
    if not isinstance(fields, dict):
        refuse(path, "the fault is not a JSON object")
    known = [field.name for field in dataclasses.fields(Fault)]
    for key, value in fields.items():
        if key not in known:
            refuse(path, f"no field '{key}'; known are {', '.join(known)}")
        if key == "name":
            if value != "none" and value not in FAULTS:
                near = difflib.get_close_matches(str(value), FAULTS, 1, 0)[0]
                refuse(path, f"field 'name': no fault '{value}'; the nearest is '{near}'")
        elif not isinstance(value, int) or isinstance(value, bool):
            refuse(path, f"field '{key}' is not a whole number")
        elif value < 0:
            refuse(path, f"field '{key}' is negative")
    if "name" not in fields:
        refuse(path, "field 'name' is missing")
    return Fault(**fields)


def plant(args):
    fault = read(os.environ["NANHUNT_FAULT_FILE"])
    if fault.name == "none":
        return
    run = Run(args, fault)
    FAULTS[fault.name](run)
    watch_make_optimizer(run)
    if "transformers.trainer" in sys.modules:
        watch_trainer(run, sys.modules["transformers.trainer"].Trainer)


def watch_make_optimizer(run):
    make = common.make_optimizer

    def make_optimizer(args, model):
        run.model_is_ready(model)
        made = make(args, model)
        run.optimizer_is_ready(made)
        return made

    common.make_optimizer = make_optimizer


def watch_trainer(run, trainer_class):
    create = trainer_class.create_optimizer

    def create_optimizer(self, *args, **kwargs):
        run.model_is_ready(self.model)
        made = create(self, *args, **kwargs)
        run.optimizer_is_ready(made)
        return made

    trainer_class.create_optimizer = create_optimizer
