# SPDX-License-Identifier: Apache-2.0
"""The op that an optimizer computes, in the words of the trace, and its hyper-parameters.

Said only where the optimizer's `step` is one of those listed here: another class, or one that
overrides it, computes something else, whatever it is called and however like its states are
named. To know another optimizer, add its step to STEPS.
"""

STEPS = {
    "torch.optim.adam.Adam": "adam",
    "torch.optim.adamw.AdamW": "adamw",  # of torch before 2.6; since then it is Adam's own
    "torch.optim.sgd.SGD": "sgd",
}


def op_of(optimizer, group):
    step = type(optimizer).step
    op = STEPS.get(f"{step.__module__}.{step.__qualname__.rpartition('.')[0]}")
    if op is None:
        return type(optimizer).__name__
    return "adamw" if op == "adam" and group.get("decoupled_weight_decay") else op


def betas_of(group):
    """beta1, beta2, and as many more as there are; one that is no number is left out."""
    return {f"beta{i}": float(beta) for i, beta in enumerate(group.get("betas") or (), 1)
            if isinstance(beta, (int, float)) or getattr(beta, "ndim", None) == 0}


def described(group, step):
    """Attributes as the rules of the optimizer read them."""
    attributes = {name: float(group[name]) for name in ("lr", "eps", "weight_decay", "momentum",
                                                       "dampening")
                  if isinstance(group.get(name), (int, float))}
    if hasattr(group.get("lr"), "item"):
        attributes["lr"] = float(group["lr"])
    attributes |= betas_of(group)
    for name in ("amsgrad", "nesterov", "maximize"):
        if name in group:
            attributes[name] = bool(group[name])
    if step is not None:
        attributes["step"] = step
    return attributes
