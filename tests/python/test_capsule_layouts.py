# SPDX-License-Identifier: Apache-2.0
"""Capsules of jobs in several layouts: each goes on bit by bit in its own, its capsule is the same
state in every other, and what cannot be the same there is named."""

import pathlib
import tempfile
import unittest

import job

SCRIPT = pathlib.Path(__file__).with_name("capsule_layout_job.py")
RANKS = {"one": 1, "ddp": 2, "fsdp": 4, "tp": 2, "fsdp_tp": 4}
BOUND = ("rng.cpu state", "rng.python state", "data.sampler state")


class Layouts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.straight = {}

    @classmethod
    def run_job(cls, layout, capsules, *words):
        return job.run(cls.folder, [SCRIPT, layout, cls.folder / capsules, *words],
                       ranks=RANKS[layout], level=None, hooked=False)

    def saved(self, layout):
        """The straight run of a layout, made once."""
        if layout not in self.straight:
            ended = self.run_job(layout, layout)
            self.assertEqual(ended.status, 0, ended.errors[-3000:])
            self.assertNotIn("capsule", ended.errors)
            self.straight[layout] = ended
        return self.straight[layout]

    @staticmethod
    def lines(ended, first=0):
        told = [line for line in ended.output.splitlines() if line.startswith("rank ")]
        return sorted(line for line in told
                      if " step " not in line or int(line.split(" step ")[1].split()[0]) >= first)

    def check_same_layout(self, layout):
        straight = self.saved(layout)
        before = {path: path.stat().st_ino
                  for path in (self.folder / layout / "step-000003").iterdir()}
        ended = self.run_job(layout, layout, "--resume=3", "--out", self.folder / f"{layout}.later")
        self.assertEqual(ended.status, 0, ended.output + ended.errors[-3000:])
        self.assertEqual(self.lines(ended), self.lines(straight, 3))
        self.assertEqual(len(self.lines(ended)), 4 * RANKS[layout])
        self.assertIn("next batch equal, data cursor consumed_samples=48, nothing lost",
                      ended.output)
        self.assertEqual(job.nanhunt("scan", self.folder / f"{layout}@3")[0], 0)
        for at in (3, 6):  # as loaded, and as it is after the steps
            status, output = job.nanhunt("repro", "--state", self.folder / f"{layout}@{at}",
                                         self.folder / f"{layout}.later@{at}")
            self.assertEqual(status, 0, output)
        after = {path: path.stat().st_ino for path in before}
        self.assertEqual(after, before)

    def check_other_layout(self, saving, loading):
        self.saved(saving)
        out = self.folder / f"{saving}.in.{loading}"
        ended = self.run_job(loading, saving, "--resume=3", "--steps=3", "--rebuild", "--out", out)
        self.assertEqual(ended.status, 0, ended.output + ended.errors[-3000:])
        self.assertIn("next batch equal, data cursor consumed_samples=48, 3 things rebuilt",
                      ended.output)
        status, output = job.nanhunt("repro", "--state", self.folder / f"{saving}@3", f"{out}@3")
        self.assertEqual(status, 0, output)
        self.assertIn("Level state: equal", output)
        for name in BOUND:
            self.assertIn(f"{name} is bound to its layout: not compared", output)

    def test_fsdp_goes_on_bit_by_bit(self):
        self.check_same_layout("fsdp")

    def test_tp_goes_on_bit_by_bit(self):
        self.check_same_layout("tp")

    def test_fsdp_and_tp_together_go_on_bit_by_bit(self):
        self.check_same_layout("fsdp_tp")

    def test_fsdp_is_the_same_state_in_one_process(self):
        self.check_other_layout("fsdp", "one")

    def test_fsdp_is_the_same_state_under_tp(self):
        self.check_other_layout("fsdp", "tp")

    def test_tp_is_the_same_state_under_fsdp(self):
        self.check_other_layout("tp", "fsdp")

    def test_fsdp_and_tp_are_the_same_state_under_ddp(self):
        self.check_other_layout("fsdp_tp", "ddp")

    def test_one_process_is_the_same_state_under_fsdp_and_tp(self):
        self.check_other_layout("one", "fsdp_tp")

    def test_what_is_bound_to_a_layout_is_refused_in_another_unless_told(self):
        self.saved("fsdp")
        told = self.run_job("one", "fsdp", "--resume=3", "--steps=3")
        self.assertEqual(told.status, 3, told.output + told.errors[-3000:])
        missing = {line for line in told.output.splitlines() if line.startswith("missing: ")}
        self.assertEqual({line.split(" is bound to the layout")[0] for line in missing},
                         {f"missing: {name}" for name in BOUND})

    def test_the_state_of_another_step_differs(self):
        """The twin: what is compared above can tell states apart."""
        self.saved("tp")
        status, output = job.nanhunt("repro", "--state", self.folder / "tp@3", self.folder / "tp@6")
        self.assertEqual(status, 1, output)
        self.assertIn("blocks.0.down.weight exp_avg differs", output)


if __name__ == "__main__":
    unittest.main()
