# SPDX-License-Identifier: Apache-2.0
"""Capsules of a job: a run that goes on from one is the straight run, bit by bit; what is missing
is named."""

import pathlib
import tempfile
import unittest

import job

SCRIPT = pathlib.Path(__file__).with_name("capsule_job.py")


def run(folder, capsules, *words, ranks=1):
    return job.run(folder, [SCRIPT, pathlib.Path(folder) / capsules, *words], ranks=ranks,
                   level=None, hooked=False)


def lines(ended, first=0):
    """What the ranks printed of steps from `first` on, and at the end."""
    told = [line for line in ended.output.splitlines() if line.startswith("rank ")]
    return sorted(line for line in told
                  if " step " not in line or int(line.split(" step ")[1].split()[0]) >= first)


class Capsules(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name

    def saved(self, *words, ranks=1):
        ended = run(self.folder, "saved", *words, ranks=ranks)
        self.assertEqual(ended.status, 0, ended.errors[-3000:])
        self.assertNotIn("capsule", ended.errors)
        return ended

    def resumed(self, *words, ranks=1):
        return run(self.folder, "saved", "--resume=3", *words, ranks=ranks)

    def check_equal(self, ranks):
        straight = self.saved(ranks=ranks)
        ended = self.resumed(ranks=ranks)
        self.assertEqual(ended.status, 0, ended.errors[-3000:])
        self.assertEqual(lines(ended), lines(straight, 3))
        self.assertEqual(len(lines(ended)), 4 * ranks)

    def test_resume_is_the_straight_run(self):
        self.check_equal(1)

    def test_resume_is_the_straight_run_ddp(self):
        self.check_equal(2)

    def test_scan_finds_it_whole(self):
        self.saved(ranks=2)
        status, output = job.nanhunt("scan", pathlib.Path(self.folder) / "saved@3")
        self.assertEqual(status, 0, output)
        for kind in ("moments", "optimizer step", "schedule", "scaler", "RNG streams", "buffers",
                     "next batch", "data cursor"):
            self.assertIn(kind, output.split("none of")[0])

    def test_a_scaler_that_is_not_loaded_shows(self):
        straight = self.saved()
        refused = self.resumed("--fault=scaler_not_loaded")
        self.assertEqual(refused.status, 3, refused.output)
        self.assertIn("scaler state is in the capsule, and this program", refused.output)
        ended = self.resumed("--fault=scaler_not_loaded", "--rebuild")
        self.assertEqual(ended.status, 0, ended.errors[-3000:])
        self.assertNotEqual(lines(ended), lines(straight, 3))

    def test_what_the_capsule_lacks_is_named(self):
        for part, words in (("optimizer", "exp_avg is not in"), ("scaler", "scaler state is not in"),
                            ("scheduler", "schedule state is not in")):
            with self.subTest(part), tempfile.TemporaryDirectory() as self.folder:
                self.saved(f"--without={part}")
                ended = self.resumed()
                if part == "optimizer":  # it makes no empty moments for what is not there
                    words = "optimizer.groups.0 lr is not in"
                self.assertEqual(ended.status, 3, ended.output + ended.errors[-3000:])
                self.assertIn(words, ended.output)
                self.assertIn("level state", ended.output)
                self.assertEqual(self.resumed("--rebuild").status, 0)

    def test_another_batch_is_refused(self):
        self.saved()
        ended = self.resumed("--fault=other_batch")
        self.assertEqual(ended.status, 3)
        self.assertIn("another batch", ended.output)

    def test_half_a_capsule_is_refused(self):
        self.saved(ranks=2)
        (pathlib.Path(self.folder) / "saved/step-000003/rank-00001.000.h5").unlink()
        ended = self.resumed(ranks=2)
        self.assertNotEqual(ended.status, 0)
        self.assertIn("rank 1 has no file", ended.errors + ended.output)


if __name__ == "__main__":
    unittest.main()
