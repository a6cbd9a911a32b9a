# SPDX-License-Identifier: Apache-2.0
"""Placements as the recorder reads them (hooks/torch_ops/point_text.h), from what is known and
never by guessing: a tensor whose place is not known gets None, and the report names it.
"""

import dataclasses
import itertools


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


def is_strided(placement):
    """FSDP2 over tensor parallelism: cuts what the other axis has cut already."""
    return type(placement).__name__ == "_StridedShard"


def of_strided(tensor, kinds):
    """Local elements may lie in several runs along a dimension. None: not as torch says it does."""
    along = [list(range(size)) for size in tensor.shape]
    for dimension, placement in enumerate(tensor.placements):
        if not (placement.is_shard() or is_strided(placement)):
            continue
        here = along[placement.dim]
        where = (len(here), tensor.device_mesh.size(dimension),
                 tensor.device_mesh.get_coordinate()[dimension])
        if is_strided(placement):
            size, offsets = placement._local_shard_size_and_offset(*where,
                                                                   return_first_offset=False)
        else:
            size, first = placement._local_shard_size_and_offset(*where)
            offsets = range(first, first + size)
        along[placement.dim] = [here[offset] for offset in offsets[:size]]
    if tuple(map(len, along)) != tuple(tensor._local_tensor.shape) or not all(along):
        return None
    result = whole(tensor.shape, kinds)
    result["regions"] = [[list(part) for part in zip(*runs)]
                         for runs in itertools.product(*map(runs_of, along))]
    return result


def runs_of(indices):
    """(first local index, first logical index, how many) of runs of indices that follow one
    another."""
    starts = [at for at in range(len(indices)) if at == 0 or indices[at] != indices[at - 1] + 1]
    return [(at, indices[at], end - at) for at, end in zip(starts, [*starts[1:], len(indices)])]


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
        if placement.is_shard() or is_strided(placement):
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
        if any(map(is_strided, tensor.placements)):
            return of_strided(tensor, kinds)
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
