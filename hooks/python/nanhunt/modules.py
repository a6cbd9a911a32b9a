# SPDX-License-Identifier: Apache-2.0
"""Hooks on modules: outputs, inputs that no other module gave, and the gradients of both.

Tensor hooks, not full backward hooks: those change results and break in-place code. A hook that
is registered last sees what the job goes on with, after the parallel styles have redistributed
it; one that is registered first sees the DTensor with its placements.
"""

import json
import os

import torch
from torch.utils import _pytree as pytree

from . import activations, ops, styles
from .names import site_of, unwrapped
from .session import local, recomputing


def is_compiled(module):
    """By torch.compile(module), or in place by module.compile()."""
    if os.environ.get("NANHUNT_FORCE_EAGER") == "1":
        return False
    return type(module).__name__ == "OptimizedModule" or is_compiled_in_place(module)


def is_compiled_in_place(module):
    return getattr(module, "_compiled_call_impl", None) is not None


class ModuleHooks:
    def __init__(self, session):
        self.session = session
        self.sites = {}  # id(module) -> site
        self.ops = {}  # id(module) -> op, attributes, and those of a recomputation
        self.waiting = {}  # id(module) -> site, of those that were not called yet
        self.entry = None  # the module whose call begins a microbatch
        self.styles = styles.Styles(session)
        self.sample_first = True
        self.stay_out_of_copies()

    def wait_for_model(self):
        """The first module with trainable parameters that is called with gradients enabled is
        the model.

        Module.__call__ is replaced until then only: what is registered inside a call is not
        looked at by it.
        """
        original = torch.nn.Module.__call__

        def first_call(module, *arguments, **keywords):
            if torch.is_grad_enabled() and any(p.requires_grad for p in module.parameters()):
                torch.nn.Module.__call__ = original
                if self.entry is None and not self.session.failed:  # nothing was attached
                    self.watch(module)
            return original(module, *arguments, **keywords)

        torch.nn.Module.__call__ = first_call

    def watch(self, root):
        """Hooks on every module of the model, once. Inside compiled regions hooks would be traced
        into the graph and change it: only the region's own inputs and outputs are seen.
        """
        model = unwrapped(root)
        self.entry = root if is_compiled(root) and root is not model else model
        hidden = set()
        for module in [self.entry, *model.modules()]:
            if is_compiled(module):
                hidden.update(map(id, inner_modules(module)))
        named = [("", self.entry)] + [(name, module) for name, module in model.named_modules()
                                      if module is not self.entry]
        unseen = []
        for name, module in named:
            if id(module) in hidden:
                unseen.append(site_of(name))
                continue
            self.sites[id(module)] = site_of(name)
            self.ops[id(module)] = op_of(module)
            if not is_container(module):
                self.waiting[id(module)] = site_of(name)
            if is_compiled(module) and is_compiled_in_place(module):
                module._compiled_call_impl = self.around(module, module._compiled_call_impl)
                continue
            module.register_forward_pre_hook(self.before, prepend=True, with_kwargs=True)
            module.register_forward_hook(self.first, prepend=True, with_kwargs=True)
            module.register_forward_hook(self.after, with_kwargs=True, always_call=True)
        self.sample_first = activations.is_sample_first(model)
        self.session.model = model
        edges = set(self.sites.values())  # a compiled module's own site is seen
        self.session.unseen = [site for site in unseen if site not in edges]

    def stay_out_of_copies(self):
        """What the job makes of its model, by copy.deepcopy (EMA) or torch.save, has no hooks."""
        original = torch.nn.Module.__getstate__

        def without_hooks(module):
            state = original(module)
            for kind in ("_forward_hooks", "_forward_pre_hooks"):
                ours = {number for number, hook in state.get(kind, {}).items()
                        if getattr(hook, "__self__", None) is self}
                for name in (kind, kind + "_with_kwargs", kind + "_always_called"):
                    if ours and name in state:
                        state[name] = type(state[name])(
                            (number, hook) for number, hook in state[name].items()
                            if number not in ours)
            return state

        torch.nn.Module.__getstate__ = without_hooks

    def around(self, module, compiled):
        """The call of a module that is compiled in place, whose own hooks are in its graph."""
        def called(*arguments, **keywords):
            self.before(module, arguments, keywords)
            output = None
            try:
                output = compiled(*arguments, **keywords)
                self.first(module, arguments, keywords, output)
            finally:
                changed = self.after(module, arguments, keywords, output)
            return output if changed is None else changed

        return called

    # --- one module's call --------------------------------------------------------------------

    def before(self, module, arguments, keywords):
        session = self.session
        if session.failed:
            return
        try:
            if module is self.entry and torch.is_grad_enabled() and not recomputing():
                self.begin_microbatch(arguments, keywords)
            if not session.in_step:
                return
            site = self.sites[id(module)]
            self.waiting.pop(id(module), None)
            session.job.enter(site)
            if torch.is_grad_enabled() or recomputing():
                self.inputs(module, site or "model", arguments, keywords)
        except Exception as error:
            session.fail(f"before {self.sites.get(id(module))}: {type(error).__name__}: {error}")

    def begin_microbatch(self, arguments, keywords):
        self.styles.clear()
        leaves = [leaf for _, leaf in named_leaves(arguments, keywords)]
        self.session.begin_microbatch(activations.batch_of(leaves, self.sample_first))
        if not self.session.in_step:
            return
        integers = [leaf for leaf in leaves if not leaf.is_floating_point() and leaf.dim() > 0]
        for index, leaf in enumerate(integers):
            role = "tokens" if index == 0 else f"input.{index}"
            self.session.tap("batch", "forward", role, leaf,
                             self.session.of_activation(leaf.shape, None))

    def first(self, module, arguments, keywords, output):
        """Before the styles: what a DTensor says of itself."""
        for leaf in leaves_of(output):
            if hasattr(leaf, "placements"):
                self.styles.show(module, leaf)
                return

    def after(self, module, arguments, keywords, output):
        session = self.session
        if session.failed or not session.in_step:
            return None
        try:
            session.job.leave()
            if output is None or not (torch.is_grad_enabled() or recomputing()):
                return None
            return self.outputs(module, self.sites[id(module)] or "model", output)
        except Exception as error:
            session.fail(f"after {self.sites.get(id(module))}: {type(error).__name__}: {error}")
            return None

    # --- records ------------------------------------------------------------------------------

    def inputs(self, module, site, arguments, keywords):
        """Tensors that no module gave, and those whose place only this module knows."""
        for index, (_, leaf) in enumerate(named_leaves(arguments, keywords)):
            if leaf.dim() == 0:
                continue
            if not leaf.is_floating_point():
                if hasattr(module, "num_embeddings"):
                    self.ids(site, leaf)
                continue
            value = local(leaf)
            known = self.styles.known(value)
            if known is not None and known.style is not None:
                continue
            style = self.styles.said(module, value, given=True)
            if known is not None and style is None:
                continue
            role = "input" if index == 0 else f"input.{index}"
            style = style or self.styles.by_flow(value)
            placed = self.session.of_activation(value.shape, style)
            self.session.tap(site, "forward", role, value, placed)
            self.styles.remember(site, value, style)

    def ids(self, site, leaf):
        """As the look-up sees them: a job may have shifted or clamped those of its batch."""
        value = local(leaf)
        self.session.tap(site, "forward", "ids", value,
                         self.session.of_activation(value.shape, None))

    def outputs(self, module, site, output):
        if type(output) is torch.Tensor:  # as nearly all are
            if not output.is_floating_point():
                return None
            result = self.output(module, site, "output", output)
            return None if result is output else result
        leaves, structure = pytree.tree_flatten(output)
        changed = False
        number = 0
        for index, leaf in enumerate(leaves):
            if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
                continue
            if isinstance(leaf, torch.nn.Parameter):
                continue  # a bias that Megatron adds later: it has records of its own
            role = "output" if number == 0 else f"output.{number}"
            number += 1
            result = self.output(module, site, role, leaf)
            if result is not leaf:
                leaves[index] = result
                changed = True
        return pytree.tree_unflatten(leaves, structure) if changed else None

    def output(self, module, site, role, leaf):
        session = self.session
        value = local(leaf)
        op, attributes, recomputed = self.ops[id(module)]
        if recomputing():
            attributes = recomputed
        known = self.styles.known(value)
        if known is not None:  # a container that hands on its child's output, or an identity
            if module is not self.entry:
                placed = session.of_activation(value.shape, known.style)
                session.tap(site, "forward", role, value, placed, op, attributes, copied=True)
                self.styles.remember(site, value, known.style)
            return leaf
        style = self.styles.of_output(module, value)
        placed = session.of_activation(value.shape, style)
        result = session.tap(site, "forward", role, value, placed, op, attributes)
        if result is not value and hasattr(leaf, "_local_tensor"):
            result = leaf  # a DTensor keeps its own value: noise goes on plain tensors alone
        self.styles.remember(site, local(result), style)
        goes_on = leaf if result is value else result
        if goes_on.requires_grad:
            self.gradient(site, role, goes_on, style)
        return goes_on

    def gradient(self, site, role, tensor, style):
        session = self.session
        name = "grad_output" + role[len("output"):]
        shape, microbatch, step = local(tensor).shape, session.microbatch, session.step

        def hook(gradient):
            if session.failed or session.step != step or not session.in_step:
                return None
            value = local(gradient)
            if value.shape != shape:
                return None
            here, session.microbatch = session.microbatch, microbatch
            scale = session.mean_of() * session.loss_scale
            placed = session.of_activation(shape, style, scale)
            result = session.tap(site, "backward", name, value, placed)
            session.microbatch = here
            return None if result is value or hasattr(gradient, "_local_tensor") else result

        tensor.register_hook(quietly(session, hook))


def quietly(session, hook):
    def guarded(gradient):
        try:
            return hook(gradient)
        except Exception as error:
            session.fail(f"gradient hook: {type(error).__name__}: {error}")
            return None
    return guarded


def op_of(module):
    """(op, attributes, attributes of a recomputation under checkpointing)."""
    op, attributes = ops.describe(module)
    return op, attributes, json.dumps(json.loads(attributes or "{}") | {"recompute": True})


def is_container(module):
    """ModuleList and the like: nobody calls them."""
    return type(module).forward is torch.nn.Module.forward


def inner_modules(module):
    inner = module._orig_mod if hasattr(module, "_orig_mod") else module
    modules = list(inner.modules())
    return modules if hasattr(module, "_orig_mod") else modules[1:]


def named_leaves(arguments, keywords):
    """(name, tensor) of a call's arguments; positional ones are called arg0, arg1, ..."""
    for index, argument in enumerate(arguments):
        for leaf in leaves_of(argument):
            if isinstance(leaf, torch.Tensor):
                yield f"arg{index}", leaf
    for name, argument in keywords.items():
        for leaf in leaves_of(argument):
            if isinstance(leaf, torch.Tensor):
                yield name, leaf


def leaves_of(value):
    return (value,) if type(value) is torch.Tensor else pytree.tree_leaves(value)
