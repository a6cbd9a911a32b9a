# SPDX-License-Identifier: Apache-2.0
"""Faults in the reductions between ranks: of row-parallel outputs, and of gradients."""

import sys

import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate

import common


def alter_row_outputs(run, alter):
    """The partial output of the layer's o_proj goes through alter(output, mesh) before its style
    reduces it: DTensor's own style, or the one of transformers."""
    if not run.has("tp"):
        return
    target = lambda module: run.on() and module is run.module("self_attn.o_proj")
    styles = sys.modules.get("transformers.distributed.tensor_parallel")
    if styles is not None:
        reduce = styles.RowwiseParallel.transform_output_post_forward

        def transform(self, module, output, mesh):
            output = alter(output, mesh) if target(module) else output
            return reduce(self, module, output, mesh)

        styles.RowwiseParallel.transform_output_post_forward = transform
        return
    from torch.distributed.tensor.parallel import RowwiseParallel

    reduce = RowwiseParallel._prepare_output_fn

    def prepare(layouts, use_local_output, module, output, mesh):
        output = alter(output, mesh) if target(module) else output
        return reduce(layouts, use_local_output, module, output, mesh)

    RowwiseParallel._prepare_output_fn = staticmethod(prepare)


def row_output_not_reduced(run):
    """Each rank goes on with its own share of o_proj's output."""

    def alter(output, mesh):
        return DTensor.from_local(output.to_local(), mesh, [Replicate()], run_check=False)

    alter_row_outputs(run, alter)


def row_output_reduced_twice(run):
    """o_proj's output is summed over the ranks once more."""

    def alter(output, mesh):
        total = output.redistribute(placements=[Replicate()]).to_local()
        return DTensor.from_local(total, mesh, [Partial()], run_check=False)

    alter_row_outputs(run, alter)


def norm_grad_not_summed(run):
    """With sequence parallelism each rank has the final norm's gradient of its own tokens, and is
    told that this is all."""
    if not run.has("tp"):
        return

    def keep_local(parameter):
        gradient = parameter.grad
        last = run.microbatch == run.args.microbatches - 1
        unsummed = isinstance(gradient, DTensor) and gradient.placements[-1].is_partial()
        if run.on() and last and unsummed:
            parameter.grad = DTensor.from_local(
                gradient.to_local(), gradient.device_mesh, parameter.placements, run_check=False)

    def act():
        run.parameters["norm.weight"].register_post_accumulate_grad_hook(keep_local)

    run.on_model.append(act)


def replace_average(run, around):
    """The mean of one gradient, of the layer's down_proj, is started by around(average, ..)."""
    average = common.average

    def patched(name, gradient, group, asynchronous):
        if run.on() and name == run.name("mlp.down_proj.weight"):
            return around(average, name, gradient, group, asynchronous)
        return average(name, gradient, group, asynchronous)

    common.average = patched


def sum_for_avg(run):
    """The replicas' gradients are summed where their mean is meant."""

    def around(average, name, gradient, group, asynchronous):
        return dist.all_reduce(gradient, op=dist.ReduceOp.SUM, group=group, async_op=asynchronous)

    replace_average(run, around)


class ReadEarly:
    """Stands for a work whose buffer was read when it was issued: after the wait the reader has
    what was there then, however fast the reduction was."""

    def __init__(self, work, gradient, read):
        self.work, self.gradient, self.read = work, gradient, read

    def wait(self):
        self.work.wait()
        self.gradient.copy_(self.read)


def read_before_wait(run):
    """One rank reads a gradient before the wait for its asynchronous mean."""

    def around(average, name, gradient, group, asynchronous):
        read = gradient.clone()
        work = average(name, gradient, group, asynchronous)
        return ReadEarly(work, gradient, read) if asynchronous and run.on_rank() else work

    replace_average(run, around)
