# SPDX-License-Identifier: Apache-2.0
"""Capture changes nothing: parameters are equal to the bit with hooks off, stats and full."""

import re
import tempfile
import unittest

import job


def digest(ended):
    found = re.search(r"^digest ([0-9a-f]{64})$", ended.output, re.MULTILINE)
    assert found, ended.errors[-2000:]
    return found.group(1)


class Neutral(unittest.TestCase):
    def check(self, ranks, *words):
        with tempfile.TemporaryDirectory() as folder:
            command = [job.JOBS / "parallel.py", "--steps=3", "--digest", *words]
            runs = {level: job.run(folder, command, ranks, level)
                    for level in (None, "stats", "full")}
            plain = job.run(folder, command, ranks, None, hooked=False)
            for level in ("stats", "full"):
                self.assertTrue(runs[level].trace.is_dir(), runs[level].errors[-2000:])
                self.assertNotIn("nanhunt:", runs[level].errors)
        self.assertEqual({digest(ended) for ended in runs.values()}, {digest(plain)})

    def test_tensor_parallel(self):
        self.check(2, "--tp=2", "--sp=on", "--async-collectives=on")

    def test_fsdp(self):
        self.check(2, "--dp=2", "--data=fsdp")

    def test_ddp(self):
        self.check(2, "--dp=2", "--data=ddp", "--microbatches=2")

    def test_checkpointing(self):
        self.check(1, "--checkpoint=on", "--autocast=bf16")

    def test_another_seed_is_another_digest(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = (job.run(folder, [job.JOBS / "parallel.py", "--steps=1", "--digest",
                                              f"--seed={seed}"]) for seed in (1, 2))
        self.assertNotEqual(digest(first), digest(second))


if __name__ == "__main__":
    unittest.main()
