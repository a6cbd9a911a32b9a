# SPDX-License-Identifier: Apache-2.0
"""nanhunt's hooks for PyTorch jobs. Two ways in:

    torchrun ... -m nanhunt train.py ARGS      no edit of the job
    nanhunt.attach(model)                      one line in the job

Without NANHUNT_CAPTURE in the environment both do nothing. docs/python.md is the guide.
"""

import atexit
import os

__all__ = ["attach", "install"]

_session = None


def install(microbatches=None, order=None, loss=None):
    """Sets up the hooks; the first model that is called with gradients enabled is captured.

    microbatches: forward passes a step (default: what accelerate or the job's own command line
    says, else 1). order: how the samples of the global batch lie on data-parallel ranks
    (placement.py). loss: whether the step's is the "mean" or the "sum" of the data-parallel ranks'
    losses (default: what FSDP2 does with their gradients, else mean). Returns the session, or None
    when nothing is to be captured. Never raises for what is wrong with the capture itself.
    """
    global _session
    if "NANHUNT_CAPTURE" not in os.environ or _session is not None:
        return _session
    from . import library
    try:
        library.load()
        _session = _hooked(microbatches, order, loss)
    except Exception as error:
        library.complain(f"capture is off: {type(error).__name__}: {error}")
        return None
    _close_at_exit(_session)
    return _session


def _close_at_exit(session):
    """os._exit runs no atexit function, and jobs that fear destroy_process_group use it."""
    atexit.register(session.close)
    original = os._exit

    def exit_now(status):
        session.close(status)
        original(status)

    os._exit = exit_now


def _hooked(microbatches, order, loss):
    import torch

    from . import collectives, modules, session, updates
    if os.environ.get("NANHUNT_FORCE_EAGER") == "1":
        torch.compiler.set_stance("force_eager")
    made = session.Session(microbatches, order, loss)
    made.modules = modules.ModuleHooks(made)
    updates.UpdateHooks(made).install()
    collectives.install(made)
    made.modules.wait_for_model()
    return made


def attach(model, optimizer=None, *, microbatches=None, order=None, loss=None):
    """Captures this model; `optimizer` may be given and is found by itself. Call it when the
    model is complete (sharded, wrapped, compiled).
    """
    session = install(microbatches, order, loss)
    if session is not None and not session.failed and session.model is None:
        session.modules.watch(model)
    return session
