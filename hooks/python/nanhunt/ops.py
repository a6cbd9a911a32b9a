# SPDX-License-Identifier: Apache-2.0
"""The op that a module computes, in the words of the trace, and its attributes.

Said only where the module's `forward` is one of those listed here: a subclass that overrides it
computes something else, and keeps its class name. To know another module, add it to FORWARDS.
"""

import json

LLAMA_LIKE = ("llama.modeling_llama.Llama", "mistral.modeling_mistral.Mistral",
              "qwen2.modeling_qwen2.Qwen2", "qwen3.modeling_qwen3.Qwen3")

FORWARDS = {
    "torch.nn.modules.linear.Linear": "linear",
    "torch.nn.modules.sparse.Embedding": "embedding",
    "torch.nn.modules.normalization.LayerNorm": "layer_norm",
    "torch.nn.modules.normalization.RMSNorm": "rms_norm",
    "torch.nn.modules.activation.GELU": "gelu",
    "torch.nn.modules.activation.SiLU": "silu",
    "transformers.activations.GELUActivation": "gelu",
    "transformers.activations.SiLUActivation": "silu",
} | {f"transformers.models.{name}RMSNorm": "rms_norm" for name in LLAMA_LIKE}


def describe(module):
    """(op, JSON of its attributes or "")."""
    kind = type(module)
    forward = kind.forward
    name = f"{forward.__module__}.{forward.__qualname__.rpartition('.')[0]}"
    op = FORWARDS.get(name)
    if op is None or "forward" in module.__dict__ or not is_plain(module, op):
        return kind.__name__, ""
    attributes = attributes_of(module, op)
    return op, json.dumps(attributes) if attributes else ""


def is_plain(module, op):
    """Without what the op's formula does not know."""
    if op == "embedding":
        return module.max_norm is None and not module.scale_grad_by_freq
    if op == "rms_norm" and eps_of(module) is None:
        return False  # it depends on the type of its input
    if op in ("layer_norm", "rms_norm"):
        return len(getattr(module, "normalized_shape", (1,))) == 1
    return True


def attributes_of(module, op):
    if op == "gelu" and getattr(module, "approximate", "none") == "tanh":
        return {"tanh": True}
    if op == "layer_norm":
        return {"eps": module.eps}
    if op == "rms_norm":
        return {"eps": eps_of(module)}
    if op == "embedding" and module.padding_idx is not None:
        return {"padding_idx": module.padding_idx}
    return {}


def eps_of(module):
    return getattr(module, "variance_epsilon", getattr(module, "eps", None))
