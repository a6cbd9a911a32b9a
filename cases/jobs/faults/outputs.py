# SPDX-License-Identifier: Apache-2.0
"""Faults in what modules give. A module's forward is replaced, so that whoever looks at its output
sees the faulty one."""

import sys

import torch

import common
import fp8


def replace_forward(run, within_layer, around):
    """The module of the fault's layer gives around(its own forward, *inputs)."""

    def act():
        module = run.module(within_layer)
        forward = module.forward
        patched = lambda *args, **kwargs: around(forward, *args, **kwargs)
        module.forward = torch.compiler.disable(patched) if compiled(run) else patched

    run.on_model.append(act)


def compiled(run):
    return getattr(run.args, "compile", False)


def with_element(run, output, change):
    output = output.clone()
    flat = output.view(-1)
    index = run.fault.element % flat.numel()
    flat[index] = change(flat[index])
    return output


def not_a_number(value):
    return torch.full_like(value, float("nan"))


def one_element(run):
    """1e-3 is added to one element of the MLP's output."""

    def around(forward, *args, **kwargs):
        output = forward(*args, **kwargs)
        if not (run.on_microbatch() and run.on_rank()):
            return output
        return with_element(run, output, lambda value: value + 1e-3)

    replace_forward(run, "mlp", around)


def nan_one(run):
    """One element of the MLP's output is NaN."""

    def around(forward, *args, **kwargs):
        output = forward(*args, **kwargs)
        if not (run.on_microbatch() and run.on_rank()):
            return output
        return with_element(run, output, not_a_number)

    replace_forward(run, "mlp", around)


def scaled_output(run):
    """The MLP's output is 0.1 % too large."""

    def around(forward, *args, **kwargs):
        output = forward(*args, **kwargs)
        return output * 1.001 if run.on() else output

    replace_forward(run, "mlp", around)


def fp8_scale(run):
    """The FP8 product of down_proj is scaled back with half of the scale: it is twice as large."""

    def around(forward, *args, **kwargs):
        output = forward(*args, **kwargs)
        return output * 2 if run.on() else output

    def act():
        if isinstance(run.module("mlp.down_proj"), fp8.Fp8Linear):
            replace_forward(run, "mlp.down_proj", around)

    run.on_model.append(act)


class GradientTwice(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        return gradient * 2


def backward_twice(run):
    """The MLP's output is right; what it sends back is twice its gradient."""

    def around(forward, *args, **kwargs):
        output = forward(*args, **kwargs)
        return GradientTwice.apply(output) if run.on() else output

    replace_forward(run, "mlp", around)


def nan_masked_away(run):
    """One activation of the MLP is NaN on one rank, and replaced by 0 before it is used."""

    def spoil(forward, x):
        output = forward(x)
        if not (run.on_microbatch() and run.on_rank()):
            return output
        return with_element(run, output, not_a_number)

    def mask(forward, x):
        mlp = run.module("mlp")
        return mlp.down_proj(torch.nan_to_num(mlp.act_fn(mlp.gate_proj(x))) * mlp.up_proj(x))

    replace_forward(run, "mlp.act_fn", spoil)
    replace_forward(run, "mlp", mask)


def fp16_overflow(run):
    """A row of up_proj is so large that its product leaves FP16: the MLP gives Inf, the next norm
    NaN. In wider types it is an ordinary number."""

    def act():
        weight = run.parameter("mlp.up_proj.weight")
        with torch.no_grad():
            row = common.local(weight)[run.fault.element % weight.shape[0]]
            row.mul_(2.0**20)

    run.on_model.append(act)


def heads_split_wrong_dimension(run):
    """With tensor parallelism a row of q, k, v is taken as channel by head, not head by channel."""
    if not run.has("tp"):
        return

    def act():
        attention = run.module("self_attn")
        split = attention.split_heads

        def split_heads(x):
            if not run.on():
                return split(x)
            return x.view(*x.shape[:-1], attention.head_dim, -1).permute(0, 3, 1, 2)

        attention.split_heads = split_heads

    run.on_model.append(act)


def mask_of_late_rows(length):
    """Causal, but the last quarter of the queries sees everything."""
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    mask[length - length // 4 :] = True
    return mask


def wrong_mask_fused(run):
    """The fused attention lets the last quarter of the queries see the future."""
    if "transformers.modeling_utils" in sys.modules:
        return wrong_mask_of_transformers(run)

    def act():
        core = run.module("self_attn.core_attention")
        fused = core.fused

        def attend(q, k, v):
            if not run.on():
                return fused(q, k, v)
            mask = mask_of_late_rows(q.shape[2])
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

        core.fused = attend

    run.on_model.append(act)


def wrong_mask_of_transformers(run):
    functions = sys.modules["transformers.modeling_utils"].ALL_ATTENTION_FUNCTIONS
    fused = functions["sdpa"]

    def attend(module, query, key, value, attention_mask, **kwargs):
        if module.layer_idx == run.fault.layer and run.on():
            attention_mask = mask_of_late_rows(query.shape[2])[None, None]
        return fused(module, query, key, value, attention_mask, **kwargs)

    functions["sdpa"] = attend
