# SPDX-License-Identifier: Apache-2.0
"""Runs the jobs of cases/jobs under capture, as a user would, and reads their traces."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = ROOT / "cases" / "jobs"
BUILD = pathlib.Path(os.environ["NANHUNT_BUILD_DIR"])
PACKAGE = ROOT / "hooks" / "python"

Ended = collections.namedtuple("Ended", "status output errors trace")


def environment(plan=None, library=None):
    result = dict(os.environ, PYTHONPATH=str(PACKAGE), OMP_NUM_THREADS="1",
                  NANHUNT_LIBRARY=str(library or BUILD / "hooks/torch_ops/libnanhunt_torch.so"))
    result.pop("NANHUNT_CAPTURE", None)
    if plan is not None:
        result["NANHUNT_CAPTURE"] = json.dumps(plan)
    return result


def run(folder, words, ranks=1, level="stats", hooked=True, options=(), fault=None, variables=(),
        **more):
    """words: script and its arguments. level None: no capture. fault: fields of a side file.
    variables: more of the environment. more: fields of the plan.
    """
    trace = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "trace"
    variables = dict(variables)
    if fault is not None:
        side = trace.with_name("side.json")
        side.write_text(json.dumps(fault))
        variables["NANHUNT_FAULT_FILE"] = str(side)
    plan = None if level is None else {"out": str(trace), "level": level, **more}
    entry = ["-m", "nanhunt", *options] if hooked else []
    launcher = [] if ranks == 1 else ["-m", "torch.distributed.run", "--standalone",
                                      f"--nproc-per-node={ranks}"]
    if ranks > 1 and not hooked:
        launcher = [*launcher, "--no-python", sys.executable]
    done = subprocess.run([sys.executable, *launcher, *entry, *map(str, words)],
                          env=environment(plan) | variables, capture_output=True, text=True,
                          timeout=300)
    return Ended(done.returncode, done.stdout, done.stderr, trace)


def nanhunt(*words):
    done = subprocess.run([BUILD / "cli/nanhunt", *map(str, words)], capture_output=True, text=True,
                          timeout=120)
    return done.returncode, done.stdout


def verdict(*words):
    """The JSON of scan or compare."""
    return json.loads(nanhunt(*words, "--json")[1])


Row = collections.namedtuple(
    "Row", "step rank mb phase site role dtype shape nan inf absmax rms placement")


def records(trace, *more):
    """Rows of `nanhunt show`, without their sequence numbers."""
    rows = []
    for line in nanhunt("show", trace, *more)[1].splitlines()[1:]:
        words = line.split()
        if len(words) < 13:
            continue
        rows.append(Row(*words[:2], *words[3:13], " ".join(words[13:])))
    return rows
