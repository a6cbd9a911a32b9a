# SPDX-License-Identifier: Apache-2.0
"""Faults in which samples a rank of data parallelism gets: of torch's sampler (ddp.py), and of
accelerate's (trainer.py). The order of an epoch is drawn up at its start, so the fault's step is
counted in its items."""

import sys

from torch.utils.data import DistributedSampler


def replace_order(run, around):
    """From the fault's step on, its rank follows around(order of a rank, rank, ranks, items of a
    step)."""
    samples = run.args.batch // run.args.world
    patch(run, DistributedSampler, "rank", "num_replicas", samples, around)
    loader = sys.modules.get("accelerate.data_loader")
    if loader is not None:
        patch(run, loader.BatchSamplerShard, "process_index", "num_processes",
              run.args.microbatches, around)


def patch(run, sampler, rank_field, size_field, items_of_step, around):
    iterate = sampler.__iter__

    def order_of(self, rank):
        own = getattr(self, rank_field)
        setattr(self, rank_field, rank)
        items = list(iterate(self))
        setattr(self, rank_field, own)
        return items

    def patched(self):
        own = getattr(self, rank_field)
        items = order_of(self, own)
        if own == run.fault.rank:
            first = run.fault.step * items_of_step
            size = getattr(self, size_field)
            others = around(lambda rank: order_of(self, rank), own, size, items_of_step)
            items[first:] = others[first:]
        return iter(items)

    sampler.__iter__ = patched


def ddp_other_order(run):
    """One rank is a step ahead in its order."""

    def ahead(order_of, rank, size, step):
        return order_of(rank)[step:] + order_of(rank)[:step]

    replace_order(run, ahead)


def ddp_neighbours_data(run):
    """One rank takes the samples of its neighbour."""
    replace_order(run, lambda order_of, rank, size, step: order_of((rank + 1) % size))
