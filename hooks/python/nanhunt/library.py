# SPDX-License-Identifier: Apache-2.0
"""Finds and loads the recorder, libnanhunt_torch.so, and refuses one that was built for another
torch.

Loaded with local symbols: torch.ops.load_library would make those of HDF5 global, and an h5py
that the job imports later would be bound to them.
"""

import ctypes
import os
import pathlib
import re
import sys

import torch
import torch.distributed  # registers the classes of c10d that the library names

_NAME = "libnanhunt_torch.so"


class Job:
    """The library's Job. Each method is looked up once: that costs torch more than a call."""

    def __init__(self, facts):
        self._job = torch.classes.nanhunt.Job(facts)

    def __getattr__(self, name):
        method = getattr(self._job, name)
        setattr(self, name, method)
        return method


def complain(text):
    """One line on stderr; the job goes on."""
    print(f"nanhunt: {text}", file=sys.stderr, flush=True)


def find():
    """The library's path: NANHUNT_LIBRARY, else beside this package, else in the source tree's
    build.
    """
    named = os.environ.get("NANHUNT_LIBRARY")
    here = pathlib.Path(__file__).resolve().parent
    candidates = [pathlib.Path(named)] if named else [
        here / _NAME, *sorted(here.parents[2].glob(f"build/*/hooks/torch_ops/{_NAME}"))]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"no {_NAME}: looked for {', '.join(map(str, candidates))}")


def version_built_for(path):
    """The torch version inside the file, read without loading it."""
    found = re.search(rb"nanhunt built for torch ([0-9][0-9.]*)", path.read_bytes())
    return found.group(1).decode() if found else "unknown"


def load():
    """Loads the library. Raises RuntimeError with both versions when they differ."""
    path = find()
    have, needs = torch.__version__.split("+")[0], version_built_for(path)
    if have != needs:
        raise RuntimeError(f"{path} was built for torch {needs}, this is torch {have}; "
                           "install nanhunt again in this environment")
    ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
