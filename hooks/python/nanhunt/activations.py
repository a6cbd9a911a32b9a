# SPDX-License-Identifier: Apache-2.0
"""Where activations lie: which dimension counts samples and tokens, and what is cut over tp.

Known from the batch that the model was called with, from the placements of the module's own
weights, and from DTensors that the parallel styles show. Under tensor parallelism a shape alone
says nothing: half of one width may be all of another.
"""

import dataclasses
import math

from . import placement


@dataclasses.dataclass(frozen=True)
class BatchShape:
    samples: int
    tokens: int | None = None
    sample_first: bool = True  # else activations are [tokens, samples, ...], as Megatron's


def is_sample_first(model):
    return not any(type(module).__module__.startswith("megatron.core")
                   for module in model.modules())


def batch_of(arguments, sample_first=True):
    """From the leaves of the root's arguments: [samples, tokens] integers, else the first
    tensor's.
    """
    tensors = [leaf for leaf in arguments if hasattr(leaf, "dim") and leaf.dim() > 0]
    for tensor in tensors:
        if tensor.dim() == 2 and not tensor.is_floating_point():
            return BatchShape(tensor.shape[0], tensor.shape[1], sample_first)
    if not tensors:
        return None
    first = tensors[0]
    return BatchShape(first.shape[0], first.shape[1] if first.dim() == 3 else None)


def sharded_dim(weight, axis_of):
    """The dimension of the weight that tp cuts, None when every tp rank holds all of it."""
    if getattr(weight, "tensor_model_parallel", False):
        return weight.partition_dim
    for dimension, place in enumerate(getattr(weight, "placements", ())):
        if axis_of(weight.device_mesh, dimension) == "tp" and place.is_shard():
            return place.dim
    return None


def _span(weight, dim, mesh, axis_of):
    """(start, logical size) of this rank's part of the weight along the cut dimension."""
    if hasattr(weight, "placements"):
        from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
        _, start = compute_local_shape_and_global_offset(
            weight.shape, weight.device_mesh, weight.placements)
        return start[dim], weight.shape[dim]
    return weight.shape[dim] * mesh.at("tp"), weight.shape[dim] * mesh.extent("tp")


def _local_shape(weight):
    return tuple(getattr(weight, "_local_tensor", weight).shape)


def style_of(module, size, mesh, axis_of, given):
    """What the module's weight says of a last dimension of `size`: (kind, start, logical size),
    or None.

    given: True of its input, False of its output. A column-parallel linear takes whole inputs and
    gives shards, a row-parallel one the other way round; vocabulary-parallel embeddings and
    modules whose weight is whole (norms) give whole outputs.
    """
    weight = getattr(module, "weight", None)
    if weight is None or not hasattr(weight, "dim") or weight.dim() not in (1, 2):
        return None
    embedding = weight.dim() == 2 and hasattr(module, "num_embeddings")
    if embedding and given:
        return None
    mine = 0 if weight.dim() == 1 else (1 if given or embedding else 0)
    cut = sharded_dim(weight, axis_of)
    start, whole = _span(weight, mine, mesh, axis_of) if cut == mine else (0, weight.shape[mine])
    if size == whole:  # an output that was gathered, or a dimension that is not cut
        return ("replicated", 0, whole)
    if cut == mine and size == _local_shape(weight)[mine]:
        return ("shard", start, whole)
    return None


def locate(shape, batch, samples, mesh, style, scale=1.0):
    """Placement of an activation of that local shape, or None.

    style: (kind, start, logical size) of what is neither sample nor token: of the last dimension,
    or of heads and their channels together; None when not known. scale: local
    values are that many times the logical ones (a gradient of a loss that is a mean over this
    rank's samples alone).
    """
    shape = tuple(shape)
    tp = mesh.extent("tp")
    over_batch = ["batch", "sum", float(scale)]
    kinds = {"dp": over_batch, "mb": over_batch if mesh.extent("dp") == 1 else "batch"}
    if not shape or batch is None:
        return None
    dims = _batch_dims(shape, batch, tp)
    if dims is None:
        return None
    sample_dim, token_dim, tokens_cut, flat = dims
    rest = [d for d in range(len(shape)) if d not in (sample_dim, token_dim)]
    logical, start = list(shape), [0] * len(shape)
    axes = [f"dim{d}" for d in range(len(shape))]
    if tp > 1:
        if tokens_cut:
            start[token_dim] = shape[token_dim] * mesh.at("tp")
            logical[token_dim] = batch.tokens
            kinds["tp"] = "shard"
        elif not rest:
            kinds["tp"] = "replicated"
        else:
            cut = _cut(shape, rest, style)
            if cut is None:
                return None
            kinds["tp"], start[rest[0]], logical[rest[0]] = cut
    unit = batch.tokens if flat else 1
    axes[sample_dim] = "sample"
    if token_dim is not None:
        axes[token_dim] = "token"
    logical[sample_dim] = samples.total * unit
    regions = []
    for first, position, count in samples.runs():
        local_start, logical_start, extent = [0] * len(shape), list(start), list(shape)
        local_start[sample_dim] = first * unit
        logical_start[sample_dim] = position * unit
        extent[sample_dim] = count * unit
        regions.append([local_start, logical_start, extent])
    result = {"axes": axes, "shape": logical, "mesh": kinds, "regions": regions}
    return _as_sample_first(result, sample_dim, token_dim)


def width_of(shape, batch, tp):
    """Elements per sample and token, None where the dimensions are not known."""
    dims = _batch_dims(tuple(shape), batch, tp) if batch is not None and len(shape) else None
    if dims is None:
        return None
    return math.prod(size for d, size in enumerate(shape) if d not in dims[:2])


def _cut(shape, rest, style):
    """The style of the first of one or two dimensions: heads are cut as a whole."""
    if style is None or len(rest) > 2:
        return None
    kind, start, whole = style
    channels = shape[rest[1]] if len(rest) == 2 else 1
    if start % channels or whole % channels:
        return None
    return kind, start // channels, whole // channels


def _as_sample_first(result, sample_dim, token_dim):
    """[token, sample, ...] in memory is [sample, token, ...] logically."""
    if token_dim is None or sample_dim < token_dim:
        return result
    order = list(range(len(result["shape"])))
    order[sample_dim], order[token_dim] = order[token_dim], order[sample_dim]
    swap = lambda values: [values[d] for d in order]
    result["axes"], result["shape"] = swap(result["axes"]), swap(result["shape"])
    result["to_logical"] = order
    result["regions"] = [[local, swap(start), swap(extent)]
                         for local, start, extent in result["regions"]]
    return result


def _batch_dims(shape, batch, tp):
    """(sample dimension, token dimension or None, tokens cut over tp, samples and tokens
    flattened).
    """
    samples, tokens = batch.samples, batch.tokens
    heads_first = len(shape) == 4 and shape[0] == samples and shape[2] == tokens != shape[1]
    if batch.sample_first and heads_first:  # [sample, head, token, channel]
        return 0, 2, False, False
    # Token ids, losses of tokens and what an embedding gives are sample first everywhere.
    pairs = [(0, 1)] if batch.sample_first or len(shape) == 2 else [(1, 0), (0, 1)]
    for sample_dim, token_dim in pairs:
        if len(shape) <= max(sample_dim, token_dim) or shape[sample_dim] != samples:
            continue
        if tokens is not None and shape[token_dim] == tokens:
            return sample_dim, token_dim, False, False
        if tokens is not None and len(shape) > 2 and tp > 1 and shape[token_dim] * tp == tokens:
            return sample_dim, token_dim, True, False
        if batch.sample_first:
            return 0, None, False, False
    if len(shape) == 1 and shape[0] == samples:
        return 0, None, False, False
    if tokens is not None and shape[0] == samples * tokens:
        return 0, None, False, True
    return None
