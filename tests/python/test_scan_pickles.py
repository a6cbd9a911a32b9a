# SPDX-License-Identifier: Apache-2.0
"""`nanhunt scan` of checkpoints that only Python reads: the same rules, and nothing in them is run."""

import os
import pathlib
import subprocess
import sys
import unittest

import torch

import job
from foreign_case import Case, Malicious, Trained

HERE = pathlib.Path(__file__).parent


class Scan(Case):
    def test_a_zeroed_moment_is_found_and_its_twin_is_clean(self):
        self.folder_of("healthy", Trained())
        self.folder_of("reset", Trained(), _4={"exp_avg_sq": torch.zeros(16, 16)})
        self.assertEqual(self.scan("healthy")[0], 0, self.scan("healthy")[1])
        status, output = self.scan("reset")
        self.assertEqual(status, 1, output)
        self.assertIn("zero_moment", output)
        self.assertIn("unmapped.4.exp_avg_sq", output)

    def scan(self, name, *options, python=sys.executable):
        environment = dict(os.environ, NANHUNT_PYTHON=python)
        if not python:
            del environment["NANHUNT_PYTHON"]
        done = subprocess.run([job.BUILD / "cli/nanhunt", "scan", self.folder / name, *options],
                              env=environment, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    def test_scan_without_python_says_what_to_run(self):
        self.folder_of("reset", Trained(), _4={"exp_avg_sq": torch.zeros(16, 16)})
        status, output = self.scan("reset", python="")
        self.assertEqual(status, 0, output)
        self.assertIn("optimizer.pt", output.split("not read")[1])
        torch.save(Trained().everything(), self.folder / "all.pt")
        status, output = self.scan("all.pt", python="")
        self.assertEqual(status, 2, output)
        self.assertIn("NANHUNT_PYTHON", output)

    def test_scan_reads_pickles_by_python(self):
        everything = Trained().everything()
        torch.save(everything, self.folder / "all.pt")
        self.assertEqual(self.scan("all.pt")[0], 0, self.scan("all.pt")[1])
        everything["model"]["second.weight"][3, 5] = float("nan")
        torch.save(everything, self.folder / "nan.pt")
        status, output = self.scan("nan.pt")
        self.assertEqual(status, 1, output)
        self.assertIn("first at [3, 5]", output)
        status, output = self.scan("all.pt", "--before", str(self.folder / "all.pt"))
        self.assertEqual(status, 1, output)
        self.assertIn("nothing_moved", output)

    def test_scan_of_a_file_that_runs_code_is_refused(self):
        torch.save(Malicious(self.folder / "victim"), self.folder / "bad.pt")
        status, output = self.scan("bad.pt")
        self.assertEqual(status, 3, output)
        self.assertIn("bad.pt: holds more than numbers", output)
        self.assertFalse((self.folder / "victim").exists())

    def test_copies_by_rank_that_differ_are_found(self):
        folder = self.folder / "by_rank"
        folder.mkdir()
        for rank in range(3):
            everything = Trained().everything()
            if rank == 1:
                everything["model"]["second.weight"][3] += 1
            torch.save(everything, folder / f"rank-{rank}.pt")
        status, output = self.scan("by_rank")
        self.assertEqual(status, 1, output)
        self.assertIn("replica_mismatch", output)
        self.assertIn("rank-1.pt", output)

    def test_the_document_is_true(self):
        done = subprocess.run(
            [sys.executable, job.ROOT / "tests/trace/run_document.py",
             job.ROOT / "docs/conversion.md", HERE / "write_conversion_example.sh"],
            env=dict(job.environment(), NANHUNT_PYTHON=sys.executable,
                     PATH=f"{job.BUILD / 'cli'}:{os.environ['PATH']}"),
            capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
