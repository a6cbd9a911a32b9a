# SPDX-License-Identifier: Apache-2.0
"""Calibration: a plan that asks for repeats runs the script so many times, one trace folder each.

Each repeat is a child that is forked before anything has been computed, so that the imports are
paid for once. Only for jobs of one rank: ranks would have to meet anew in each repeat.
"""

import ast
import importlib
import json
import os
import pathlib
import sys

_SLOW_TO_IMPORT = frozenset({"torch", "transformers", "accelerate", "datasets", "numpy"})


def run_each(script):
    """Returns in each repeat's child, with its own plan in the environment; the parent ends here.

    Without repeats in the plan it just returns.
    """
    plan = _plan()
    repeats = plan.get("repeats", 1)
    if repeats <= 1:
        return
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        sys.exit("nanhunt: repeats need a job of one rank; say calibrate = runs")
    _import_what_is_slow(script)
    for repeat in range(repeats):
        child = os.fork()
        if child == 0:
            os.environ["NANHUNT_CAPTURE"] = json.dumps(plan_of_repeat(plan, repeat))
            return
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != 0:
            sys.exit(status if status > 0 else 128 - status)
    sys.exit(0)


def plan_of_repeat(plan, repeat):
    """Repeat 0 is not perturbed; the others draw with seeds of their own."""
    result = {**plan, "repeats": 1, "out": os.path.join(plan["out"], f"{repeat:03d}")}
    perturbation = plan.get("perturbation")
    if repeat == 0:
        result.pop("perturbation", None)
    elif perturbation is not None:
        result["perturbation"] = {**perturbation, "seed": perturbation["seed"] + repeat}
    return result


def _plan():
    said = os.environ.get("NANHUNT_CAPTURE", "")
    try:
        return json.loads(said if said.startswith("{") else pathlib.Path(said).read_text())
    except (OSError, ValueError):
        return {}  # what is wrong with it is told by the recorder


def _import_what_is_slow(script):
    """The script's own import statements of the packages that take seconds to load."""
    try:
        tree = ast.parse(pathlib.Path(script).read_text())
    except (OSError, SyntaxError):
        return
    for node in tree.body:
        if isinstance(node, ast.Import):
            wanted = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            wanted = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in wanted:
            if module.split(".")[0] not in _SLOW_TO_IMPORT:
                continue
            try:
                getattr(importlib.import_module(module), name or "__name__", None)
            except ImportError:
                pass  # the script will say so itself
