# SPDX-License-Identifier: Apache-2.0
"""Placements as the recorder reads them (hooks/torch_ops/point_text.h), from what is known and
never by guessing: a tensor whose place is not known gets None, and the report names it.
"""

import dataclasses


ORDERS = ("interleaved", "by_rank", "by_microbatch")


@dataclasses.dataclass(frozen=True)
class Samples:
    """Which samples of the step's global batch a microbatch of this rank holds.

    order, of the samples of the global batch over data-parallel ranks:
      interleaved    rank r of n takes every n-th sample (a DistributedSampler)
      by_rank        each rank takes one block and cuts it into microbatches
      by_microbatch  each microbatch of all ranks is one block, cut into one piece a rank
    """
    count: int  # of this microbatch on this rank
    ranks: int = 1
    rank: int = 0
    microbatches: int = 1
    microbatch: int = 0
    order: str = "interleaved"

    @property
    def total(self):
        return self.count * self.ranks * self.microbatches

    def position(self, local):
        if self.order == "by_rank":
            return (self.rank * self.microbatches + self.microbatch) * self.count + local
        if self.order == "by_microbatch":
            return (self.microbatch * self.ranks + self.rank) * self.count + local
        return (self.microbatch * self.count + local) * self.ranks + self.rank

    def runs(self):
        """(first local sample, first position, how many) of runs that are whole in the global
        batch.
        """
        if self.ranks == 1 or self.order != "interleaved":
            return [(0, self.position(0), self.count)]
        return [(local, self.position(local), 1) for local in range(self.count)]


def box(shape, start, extent, axes, mesh):
    """One region from the local origin."""
    return {"axes": list(axes), "shape": list(shape), "mesh": mesh,
            "regions": [[[0] * len(shape), list(start), list(extent)]]}


def whole(shape, mesh):
    """A copy of the whole tensor."""
    return box(shape, [0] * len(shape), shape, [f"dim{d}" for d in range(len(shape))], mesh)


def of_dtensor(tensor, axis_of):
    """Placement of a DTensor: shape, start and kind along each dimension of its mesh.

    axis_of(mesh, dimension) names nanhunt's axis. None for what has no region list here.
    """
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
    kinds = {}
    for dimension, placement in enumerate(tensor.placements):
        axis = axis_of(tensor.device_mesh, dimension)
        if tensor.device_mesh.size(dimension) == 1:
            continue
        if placement.is_shard():
            kind = "shard"
        elif placement.is_replicate():
            kind = "replicated"
        elif placement.is_partial():
            op = getattr(placement, "reduce_op", "sum")
            size = tensor.device_mesh.size(dimension)
            if op not in ("sum", "avg"):
                return None
            kind = ["partial", "sum", float(size) if op == "avg" else 1.0]
        else:
            return None
        if axis in kinds and kinds[axis] != kind:
            return None
        kinds[axis] = kind
    try:
        local, start = compute_local_shape_and_global_offset(
            tensor.shape, tensor.device_mesh, tensor.placements)
    except Exception:
        return None
    if tuple(local) != tuple(tensor._local_tensor.shape):
        return None
    result = box(tensor.shape, start, local, [f"dim{d}" for d in range(tensor.dim())], kinds)
    if 0 in local:  # this rank holds nothing of it
        result["regions"] = []
        return None
    return result
