# SPDX-License-Identifier: Apache-2.0
"""Faults in the update: of the weight of one MLP matrix of the fault's layer."""

import common

WEIGHT = "mlp.down_proj.weight"


def skip_in_step(run, when):
    """The optimizer leaves weight and moments as they are; the gradient stays visible."""

    def act(optimizer):
        kept = []

        def hide(*_):
            if when():
                weight = run.parameter(WEIGHT)
                kept.append(weight.grad)
                weight.grad = None

        def show(*_):
            if kept:
                run.parameter(WEIGHT).grad = kept.pop()

        optimizer.register_step_pre_hook(hide)
        optimizer.register_step_post_hook(show)

    run.on_optimizer.append(act)


def ddp_frozen_parameter(run):
    """On one rank of several a weight does not train."""
    if run.args.world > 1:
        skip_in_step(run, lambda: run.on() and run.on_rank())


def optimizer_skips_parameter(run):
    """The optimizers that take tensors in lists leave one out."""
    if run.args.optimizer != "plain":
        skip_in_step(run, run.on)


def weight_not_updated(run):
    """The moments are updated, the weight is not."""

    def act(optimizer):
        kept = []

        def keep(*_):
            if run.on():
                kept.append(common.local(run.parameter(WEIGHT)).detach().clone())

        def put_back(*_):
            if kept:
                common.local(run.parameter(WEIGHT)).detach().copy_(kept.pop())

        optimizer.register_step_pre_hook(keep)
        optimizer.register_step_post_hook(put_back)

    run.on_optimizer.append(act)


def wrong_moment_after_resume(run):
    """Loading gives gate_proj the first moment of up_proj, which has the same shape."""

    def act(optimizer):
        def mix_up(_):
            gate, up = run.parameter("mlp.gate_proj.weight"), run.parameter("mlp.up_proj.weight")
            wrong, right = (common.local(optimizer.state[p]["exp_avg"]) for p in (gate, up))
            wrong.copy_(right)

        optimizer.register_load_state_dict_post_hook(mix_up)

    run.on_optimizer.append(act)


def one_gradient_element(run):
    """1e-3 is added to one element of a weight's gradient."""

    def act():
        def add(parameter):
            if run.on_microbatch() and run.on_rank():
                flat = common.local(parameter.grad).view(-1)
                flat[run.fault.element % flat.numel()] += 1e-3

        run.parameter(WEIGHT).register_post_accumulate_grad_hook(add)

    run.on_model.append(act)
