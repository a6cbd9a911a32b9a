# SPDX-License-Identifier: Apache-2.0
"""Small faults of one rank, each in the MLP of block 2 from step 1 on, held against the same run
without it: what comes first must be named, to the element where values were captured."""

import tempfile
import unittest

import job

WORDS = [job.JOBS / "parallel.py", "--steps=2", "--optimizer=foreach"]
LAYER, STEP, ELEMENT = 2, 1, 777


class KnownFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.healthy = cls.trace(None)

    @classmethod
    def trace(cls, name):
        fault = name and {"name": name, "layer": LAYER, "step": STEP, "element": ELEMENT}
        ended = job.run(cls.folder.name, WORDS, level="full", fault=fault)
        assert ended.status == 0, ended.errors
        return ended.trace

    def first(self, found):
        finding = found["origins"][0]["finding"]
        return tuple(finding[key] for key in ("step", "site", "phase", "role"))

    def held_against_healthy(self, name):
        return job.verdict("compare", "--same-layout", self.trace(name), self.healthy)

    def test_the_twin_is_clean(self):
        self.assertEqual(self.held_against_healthy(None)["verdict"], "clean")
        self.assertEqual(job.verdict("scan", self.healthy)["verdict"], "clean")

    def test_one_element(self):
        found = self.held_against_healthy("one_element")
        self.assertEqual(found["verdict"], "divergence")
        self.assertEqual(self.first(found), (1, "layers.2.mlp", "forward", "output"))
        self.assertIn(f"1 of 16384 elements differ, first [0, 12, 9] (element {ELEMENT}): ",
                      found["origins"][0]["finding"]["evidence"])

    def test_scaled_output(self):
        found = self.held_against_healthy("scaled_output")
        self.assertEqual(found["verdict"], "divergence")
        self.assertEqual(self.first(found), (1, "layers.2.mlp", "forward", "output"))

    def test_nan_in_one_run(self):
        found = self.held_against_healthy("nan_one")
        self.assertEqual(found["verdict"], "non-finite")
        self.assertEqual(self.first(found), (1, "layers.2.mlp", "forward", "output"))

    def test_nan_in_both_runs(self):
        broken = self.trace("nan_one")
        found = job.verdict("compare", "--same-layout", broken, self.trace("nan_one"))
        self.assertEqual(found["verdict"], "non-finite")
        self.assertEqual(self.first(found), (1, "layers.2.mlp", "forward", "output"))

    def test_backward_twice(self):
        found = self.held_against_healthy("backward_twice")
        self.assertEqual(found["verdict"], "divergence")
        # The MLP gets the right gradient; what arrives at its last product is twice that.
        self.assertEqual(self.first(found),
                         (1, "layers.2.mlp.down_proj", "backward", "grad_output"))

    def test_weight_that_is_never_updated(self):
        found = job.verdict("scan", self.trace("weight_not_updated"))
        self.assertEqual(found["verdict"], "divergence")
        self.assertEqual(self.first(found),
                         (1, "layers.2.mlp.down_proj.weight", "update", "param"))


if __name__ == "__main__":
    unittest.main()
