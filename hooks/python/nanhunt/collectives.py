# SPDX-License-Identifier: Apache-2.0
"""What C++ cannot see of collectives: that a Python program issued one, and that it waited for
it.
"""

import functools

import torch.distributed as dist

_FUNCTIONS = ("all_reduce", "reduce", "broadcast", "all_gather", "all_gather_into_tensor",
              "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single",
              "gather", "scatter", "send", "recv", "isend", "irecv")


def install(session):
    if not dist.is_available():
        return
    _watch_waits(session)
    for name in _FUNCTIONS:
        original = getattr(dist, name, None)
        if original is None:
            continue
        told = _issued_by_program(session, original)
        setattr(dist, name, told)
        setattr(dist.distributed_c10d, name, told)


def _watch_waits(session):
    work = __import__("torch")._C._distributed_c10d.Work
    original = work.wait

    @functools.wraps(original)
    def wait(self, *arguments, **keywords):
        result = original(self, *arguments, **keywords)
        if session.in_step and not session.failed:
            session.job.waited(self.boxed())
        return result

    work.wait = wait


def _issued_by_program(session, original):
    @functools.wraps(original)
    def told(*arguments, **keywords):
        if not session.in_step or session.failed:
            return original(*arguments, **keywords)
        session.job.issuing(True)
        try:
            return original(*arguments, **keywords)
        finally:
            session.job.issuing(False)

    return told
