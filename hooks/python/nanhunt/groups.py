# SPDX-License-Identifier: Apache-2.0
"""What a parameter group of an optimizer holds by more than one number."""


def betas_of(group):
    """beta1, beta2, and as many more as there are; one that is no number is left out."""
    betas = group.get("betas", ())
    return {f"beta{i}": float(beta) for i, beta in enumerate(betas, 1)
            if isinstance(beta, (int, float)) or getattr(beta, "ndim", None) == 0}
