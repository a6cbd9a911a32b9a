# SPDX-License-Identifier: Apache-2.0
"""The job's mesh: sizes and this rank's coordinates, by nanhunt's axes, and the groups along
them.
"""

import dataclasses

import torch
import torch.distributed as dist

# Names that frameworks give to mesh dimensions.
_AXES = {
    "tp": "tp", "tensor": "tp", "model": "tp", "mp": "tp",
    "dp": "dp", "data": "dp", "dp_shard": "dp", "dp_replicate": "dp", "fsdp": "dp", "ddp": "dp",
    "replicate": "dp", "shard": "dp", "dp_shard_mod_ep": "dp", "dp_shard_cp": "dp",
    "cp": "cp", "context": "cp", "ep": "ep", "expert": "ep", "pp": "pp", "pipeline": "pp",
}


@dataclasses.dataclass
class Mesh:
    rank: int = 0
    world_size: int = 1
    size: dict = dataclasses.field(default_factory=dict)  # axis -> ranks along it
    coordinate: dict = dataclasses.field(default_factory=dict)
    # axis -> global ranks of this rank's group
    ranks: dict = dataclasses.field(default_factory=dict)

    def extent(self, axis):
        return self.size.get(axis, 1)

    def at(self, axis):
        return self.coordinate.get(axis, 0)

    def add(self, axis, ranks):
        """This rank's group along the axis; several dimensions of one axis multiply."""
        if len(ranks) < 2:
            return
        where = ranks.index(self.rank)
        self.coordinate[axis] = self.at(axis) * len(ranks) + where
        self.size[axis] = self.extent(axis) * len(ranks)
        self.ranks[axis] = ranks if axis not in self.ranks else None

    def axis_of_group(self, ranks):
        """The axis that a group of these global ranks lies along, "" when none."""
        for axis, own in self.ranks.items():
            if own == ranks:
                return axis
        return ""


def axis_of_dimension(mesh, dimension, default):
    names = mesh.mesh_dim_names
    return _AXES.get(names[dimension], default) if names else default


def device_meshes(model):
    """The distinct device meshes of the model's parameters, those of most dimensions first.

    A slice of a mesh counts as that mesh. A root that does not have the dimensions' names is not
    it: torchtitan unflattens all its meshes from one of a single dimension.
    """
    meshes = []
    for parameter in model.parameters():
        mesh = getattr(parameter, "device_mesh", None)
        if mesh is None:
            continue
        root = getattr(mesh, "_get_root_mesh", lambda: mesh)() or mesh
        if not set(mesh.mesh_dim_names or ["unnamed"]) <= set(root.mesh_dim_names or ()):
            root = mesh
        if all(root is not known for known in meshes):
            meshes.append(root)
    return sorted(meshes, key=lambda found: -found.ndim)


def is_fsdp(model):
    return any(type(module).__name__.startswith("FSDP") for module in model.modules())


def sums_gradients(model):
    """FSDP2 was told to add the ranks' gradients up, not to take their mean: their losses are
    shares of the step's then.
    """
    for module in model.modules():
        state = getattr(module, "_get_fsdp_state", None)
        group = getattr(state(), "_fsdp_param_group", None) if state is not None else None
        if group is not None:
            return group.gradient_divide_factor == 1.0
    return False


def megatron_groups():
    """Megatron's groups, when it is there and set up: {axis: global ranks}."""
    import sys
    state = sys.modules.get("megatron.core.parallel_state")
    if state is None or not state.model_parallel_is_initialized():
        return {}
    groups = {"tp": state.get_tensor_model_parallel_group(), "dp": state.get_data_parallel_group()}
    return {axis: dist.get_process_group_ranks(group) for axis, group in groups.items()}


def mesh_of(model):
    """From DTensor parameters, else from Megatron, else all ranks are data parallel."""
    if not (dist.is_available() and dist.is_initialized()):
        return Mesh()
    mesh = Mesh(rank=dist.get_rank(), world_size=dist.get_world_size())
    unnamed = "dp" if is_fsdp(model) else "tp"
    for device_mesh in device_meshes(model):
        coordinate = device_mesh.get_coordinate()
        if coordinate is None:
            continue
        for dimension in range(device_mesh.ndim):
            here = [*coordinate]
            here[dimension] = slice(None)
            ranks = device_mesh.mesh[tuple(here)].tolist()
            axis = axis_of_dimension(device_mesh, dimension, unnamed)
            if axis not in mesh.size:
                mesh.add(axis, ranks)
        break
    if not mesh.size:
        for axis, ranks in megatron_groups().items():
            mesh.add(axis, ranks)
    covered = 1
    for size in mesh.size.values():
        covered *= size
    rest = mesh.world_size // covered
    if rest > 1 and "dp" not in mesh.size:
        # Ranks outside the model's mesh are copies of it, in blocks of it.
        block = mesh.rank // covered
        mesh.add("dp", [other * covered + mesh.rank % covered for other in range(rest)])
        assert mesh.at("dp") == block
    return mesh


def groups():
    """{name: global ranks} of the process groups that exist."""
    if not (dist.is_available() and dist.is_initialized()):
        return {}
    world = dist.distributed_c10d._world
    return {world.pg_names[group]: sorted(ranks, key=ranks.get)
            for group, ranks in world.pg_group_ranks.items() if group in world.pg_names}


def describe():
    """Facts of the environment that a reader wants beside the numbers."""
    facts = {"program": "python", "torch.version": torch.__version__,
             "threads": str(torch.get_num_threads()),
             "mkldnn": "on" if torch.backends.mkldnn.enabled else "off"}
    if dist.is_available() and dist.is_initialized():
        facts["backend"] = dist.get_backend()
    return facts
