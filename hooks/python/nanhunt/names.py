# SPDX-License-Identifier: Apache-2.0
"""Site names: the job's module names without those that wrappers put in.

TP1 and TPn, DDP, FSDP2, checkpointed and compiled runs of one model have the same names.
"""

_WRAPPER_PARTS = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})


def site_of(name):
    """`layers.0._checkpoint_wrapped_module.mlp` -> `layers.0.mlp`."""
    return ".".join(part for part in name.split(".") if part not in _WRAPPER_PARTS)


def unwrapped(module):
    """The model inside DDP, DataParallel and torch.compile."""
    while True:
        kind = type(module).__name__
        if kind in ("DistributedDataParallel", "DataParallel"):
            module = module.module
        elif kind == "OptimizedModule":
            module = module._orig_mod
        else:
            return module
