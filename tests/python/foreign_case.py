# SPDX-License-Identifier: Apache-2.0
"""What the tests of checkpoints share: a small trained model, a pickle that would run code, and the
conversion as a user starts it."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import numpy
import torch
import torch.nn as nn
from safetensors.torch import save_file

import job


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.second = nn.Linear(16, 16)
        self.third = nn.Linear(16, 16)

    def forward(self, x):
        return self.third(self.second(self.norm(self.first(x))))


class Trained:
    """A model after some steps of AdamW, with all that a job saves."""

    def __init__(self, steps=3, groups=1):
        torch.manual_seed(1)
        self.model = Net()
        named = list(self.model.named_parameters())
        grouped = [[p for _, p in named]] if groups == 1 else [
            [p for _, p in named if p.dim() > 1], [p for _, p in named if p.dim() == 1]]
        self.optimizer = torch.optim.AdamW([{"params": group} for group in grouped], lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2)
        self.train(steps)

    def train(self, steps):
        generator = torch.Generator().manual_seed(5)
        for _ in range(steps):
            x = torch.randn(4, 8, generator=generator)
            (self.model(x) - x.repeat(1, 2)).square().mean().backward()
            self.optimizer.step()
            self.scheduler.step()
            self.optimizer.zero_grad()

    def everything(self, **more):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(), "global_step": 3, "epoch": 0.5,
                "rng_state": torch.get_rng_state(), **more}


class Malicious:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def convert(self, name, *options, out="out"):
        done = subprocess.run([sys.executable, "-m", "nanhunt.checkpoint", self.folder / name,
                               self.folder / out, *options], env=job.environment(),
                              capture_output=True, text=True, timeout=120)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, done.stdout, done.stderr

    def converted(self, name, *options, out="out"):
        status, output, errors = self.convert(name, *options, out=out)
        self.assertEqual(status, 0, errors)
        return output

    def refused(self, name, *words):
        status, output, errors = self.convert(name, out="refused")
        self.assertEqual(status, 3, output + errors)
        self.assertEqual(len(errors.splitlines()), 1, errors)
        for word in words:
            self.assertIn(word, errors)
        left = self.folder / "refused"
        self.assertFalse(left.exists() and any(left.iterdir()))

    def rows(self, out="out"):
        return {(row.site, row.role): row for row in job.records(self.folder / out)}

    def repro(self, a, b):
        done = subprocess.run([job.BUILD / "cli/nanhunt", "repro", "--state", self.folder / a,
                               self.folder / b], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def folder_of(self, name, trained, **changes):
        """As a Hugging Face Trainer leaves it; _4={...} changes the state of parameter 4."""
        folder = self.folder / name
        folder.mkdir()
        save_file(dict(trained.model.state_dict()), folder / "model.safetensors")
        optimizer = trained.optimizer.state_dict()
        for number, state in changes.items():
            optimizer["state"][int(number[1:])].update(state)
        torch.save(optimizer, folder / "optimizer.pt")
        torch.save(trained.scheduler.state_dict(), folder / "scheduler.pt")
        torch.save({"python": random.getstate(), "numpy": numpy.random.get_state(),
                    "cpu": torch.get_rng_state()}, folder / "rng_state.pth")
        torch.save(Malicious(self.folder / "victim"), folder / "training_args.bin")
        (folder / "trainer_state.json").write_text(json.dumps(
            {"global_step": 3, "epoch": 0.5, "log_history": [{"step": 3, "loss": 1.5}]}))
        return folder
