# SPDX-License-Identifier: Apache-2.0
"""Loss, gradients, clipping, scaler and optimizer, seen through torch's own doors: no line of
the job.

Patched functions call the original first or last and return what it returned.
"""

import functools
import json

import torch
from torch.optim.optimizer import (register_optimizer_step_post_hook,
                                   register_optimizer_step_pre_hook)

from . import norms, optimizers
from .norms import is_partial
from .session import local, recomputing


def quiet_method(method):
    """For methods of an object that has the session: what goes wrong ends the capture."""
    def guarded(self, *arguments, **keywords):
        if self.session.failed or self.session.job is None:
            return
        try:
            method(self, *arguments, **keywords)
        except Exception as error:
            self.session.fail(f"{method.__name__}: {type(error).__name__}: {error}")
    return guarded


def _around(owner, name, before=None, after=None):
    """Replaces owner.name by one that tells `before` its arguments, and `after` its result and
    those.
    """
    original = getattr(owner, name)

    @functools.wraps(original)
    def told(*arguments, **keywords):
        if before is not None:
            before(*arguments, **keywords)
        result = original(*arguments, **keywords)
        if after is not None:
            after(result, *arguments, **keywords)
        return result

    setattr(owner, name, told)


class UpdateHooks:
    def __init__(self, session):
        self.session = session
        self.in_scale = None  # the loss that GradScaler.scale was given
        self.hooked = set()
        self.asked = set()  # ids of optimizers whose parameters were looked at
        self.norms = norms.Norms(session)

    def install(self):
        register_optimizer_step_pre_hook(self.before_optimizer)
        register_optimizer_step_post_hook(self.after_optimizer)
        _around(torch.autograd, "backward", before=self.before_backward)  # Tensor.backward calls it
        # clip_grad_norm_ calls the first pair; programs that clip in two parts the second.
        for owner, prefix in ((torch.nn.utils.clip_grad, "_"), (torch.nn.utils, "")):
            _around(owner, prefix + "get_total_norm", after=self.after_norm)
            _around(owner, prefix + "clip_grads_with_norm_", before=self.before_clip)
        _around(torch.amp.GradScaler, "scale", before=self.before_scale)
        _around(torch.amp.GradScaler, "unscale_", after=self.after_unscale)
        _around(torch.amp.GradScaler, "update", before=self.before_scaler_update)
        _around(torch.cuda.CUDAGraph, "replay", before=self.before_replay)

    # --- loss ---------------------------------------------------------------------------------

    @quiet_method
    def before_scale(self, scaler, outputs, *_):
        if isinstance(outputs, torch.Tensor) and outputs.numel() == 1 and self.session.in_step:
            self.session.loss_scale = scaler.get_scale() if scaler.is_enabled() else 1.0
            self.in_scale = outputs.detach()

    @quiet_method
    def before_backward(self, tensors, *_, **__):
        session = self.session
        loss = tensors[0] if isinstance(tensors, (list, tuple)) and len(tensors) == 1 else tensors
        if not session.in_step or not isinstance(loss, torch.Tensor) or loss.numel() != 1 \
                or recomputing():
            return
        value = loss if self.in_scale is None else self.in_scale
        self.in_scale = None
        placed = session.of_loss()
        session.tap("loss", "loss", "output", value.detach().reshape(()), placed)
        self.watch_gradients()

    def watch_gradients(self):
        """Each microbatch's own gradient of each parameter: hooks on leaves, once."""
        session = self.session
        for site, parameter in session.parameters:
            if id(parameter) in self.hooked or not parameter.requires_grad:
                continue
            self.hooked.add(id(parameter))
            parameter.register_hook(self.gradient_hook(site, parameter))

    def gradient_hook(self, site, parameter):
        session = self.session

        def hook(gradient):
            if session.failed or not session.in_step:
                return None
            try:
                placed = session.unreduced(session.like_parameter(parameter, gradient))
                value = local(gradient)
                result = session.tap(site, "backward", "grad", value, placed)
                return None if result is value or hasattr(gradient, "_local_tensor") else result
            except Exception as error:
                session.fail(f"gradient of {site}: {type(error).__name__}: {error}")
                return None

        return hook

    # --- clipping and scaling -----------------------------------------------------------------

    @quiet_method
    def after_norm(self, norm, tensors, norm_type=2.0, *_, **__):
        """A job may take several a step: of parts, to clip them apart, or for its log. Each has a
        number, which the gradients that it is of have as well.
        """
        session = self.session
        if not session.in_step:
            return
        gradients = {id(tensor) for tensor in tensors}
        of_model = [(site, parameter) for site, parameter in session.parameters
                    if parameter.grad is not None and id(parameter.grad) in gradients]
        known = {id(parameter.grad) for _, parameter in of_model}
        number = self.norms.new(norm, float(norm_type), len(gradients - known))
        self.record("unscaled", of_model, number)
        session.clipped = True
        if not is_partial(norm):  # it would need a collective of ours
            session.scalar("optimizer", "clipped", "grad_norm", norm, self.norms.told(number))

    @quiet_method
    def before_clip(self, parameters, max_norm, total_norm, *_, **__):
        session = self.session
        if not session.in_step or is_partial(total_norm):
            return
        number = self.norms.number_of(total_norm)
        if number is None:  # the job has made it of what it took, a partial norm or several
            number = self.norms.whole_of_partial()
            if number is not None:
                session.scalar("optimizer", "clipped", "grad_norm", total_norm,
                               self.norms.told(number))
            else:
                number = self.norms.new(total_norm, 2.0)
        factor = min(1.0, float(max_norm) / (float(total_norm) + 1e-6))
        session.scalar("optimizer", "clipped", "clip_factor", factor,
                       {"max_norm": float(max_norm)} | self.norms.told(number))

    @quiet_method
    def after_unscale(self, _, scaler, optimizer):
        self.session.loss_scale = 1.0

    @quiet_method
    def before_scaler_update(self, scaler, *_, **__):
        """Found an Inf: the optimizer did not step, and its hooks did not fire."""
        session = self.session
        if not session.in_step or not scaler.is_enabled():
            return
        found = sum(float(value) for state in scaler._per_optimizer_states.values()
                    for value in state["found_inf_per_device"].values())
        session.scalar("optimizer", "unscaled", "loss_scale", scaler.get_scale())
        session.scalar("optimizer", "unscaled", "found_inf", float(found > 0))
        session.loss_scale = 1.0
        if found > 0:
            session.tap_each(
                (site, "update", "param", parameter, session.of_parameter(parameter), "", "")
                for site, parameter in session.parameters)
            session.end_step()

    @quiet_method
    def before_replay(self, *_):
        """No op of a graph passes by, and no hook."""
        self.session.job.fact("coverage.cuda_graph", "CUDA graphs were replayed: what is in them is "
                              "not captured")

    # --- optimizer ----------------------------------------------------------------------------

    def record(self, phase, parameters, norm=0):
        """The gradients of these (site, parameter). norm: number of the one that they make."""
        session = self.session
        attributes = json.dumps({"norm": norm}) if norm else ""
        session.tap_each((site, phase, "grad", parameter.grad,
                          session.like_parameter(parameter, parameter.grad), "", attributes)
                         for site, parameter in parameters)

    def each(self, optimizer):
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                site = self.session.site_of_parameter.get(id(parameter))
                if site is not None and parameter.grad is not None:
                    yield site, parameter, group

    @quiet_method
    def before_optimizer(self, optimizer, *_):
        session = self.session
        if not session.in_step or getattr(optimizer, "grad_scale", None) is not None:
            return  # a fused optimizer unscales by itself: what it is given is still scaled
        self.record("clipped" if session.clipped else "unscaled",
                    [(site, parameter) for site, parameter, _ in self.each(optimizer)])

    @quiet_method
    def after_optimizer(self, optimizer, *_):
        session = self.session
        if not session.in_step:
            return
        session.tap_each(self.updated(optimizer))
        session.has_stepped({id(parameter) for _, parameter, _ in self.each(optimizer)})
        self.tell_of_strangers(optimizer)
        if optimizer.param_groups:
            session.scalar("optimizer", "update", "learning_rate", optimizer.param_groups[0]["lr"])
        if session.all_stepped():
            session.end_step()

    def tell_of_strangers(self, optimizer):
        """Parameters of another model (a GAN's second, a loss's own), or copies in another type."""
        if id(optimizer) in self.asked:
            return
        self.asked.add(id(optimizer))
        strangers = sum(id(parameter) not in self.session.site_of_parameter
                        for group in optimizer.param_groups for parameter in group["params"])
        if strangers:
            self.session.job.fact(
                f"coverage.strangers.{len(self.asked)}",
                f"{type(optimizer).__name__} updates {strangers} tensors that are not parameters "
                "of the captured model: neither they nor what becomes of them is captured")

    def updated(self, optimizer):
        """The records of its parameters and states."""
        session, texts = self.session, {}
        for site, parameter, group in self.each(optimizer):
            state, op = optimizer.state.get(parameter, {}), optimizers.op_of(optimizer, group)
            step = state.get("step")
            told = (id(group), None if step is None else float(step))
            if told not in texts:  # the same for hundreds of parameters
                texts[told] = json.dumps(optimizers.described(group, told[1]))
            for role, name in _MOMENTS.items():
                moment = state.get(name)
                if isinstance(moment, torch.Tensor):
                    yield (site, "update", role, moment, session.like_parameter(parameter, moment),
                           op, texts[told])
            yield (site, "update", "param", parameter, session.of_parameter(parameter), op,
                   texts[told])


_MOMENTS = {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq", "max_exp_avg_sq": "max_exp_avg_sq",
            "momentum": "momentum_buffer"}
