# SPDX-License-Identifier: Apache-2.0
"""Jobs that end badly: what was captured is read, how far each rank came is said, and the job ends
as it would have without capture."""

import pathlib
import tempfile
import unittest

import job

SCRIPT = """
import os, resource, signal, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters())
{before}
for step in range({steps}):
    loss = model(torch.ones(6, 8)).square().mean()
    {inside}
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("trained", flush=True)
dist.barrier()
dist.destroy_process_group()
"""


class BadJobs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_job(self, before="", steps="3", inside="", **more):
        path = pathlib.Path(self.folder.name) / "train.py"
        path.write_text(SCRIPT.format(before=before, steps=steps, inside=inside))
        return job.run(self.folder.name, [path], 2, **more)

    def incomplete(self, ended):
        found = job.verdict("scan", ended.trace)
        return found["verdict"], " ".join(found["coverage"]["incomplete"])

    def test_the_twin_is_whole(self):
        ended = self.run_job()
        self.assertEqual(ended.status, 0, ended.errors)
        self.assertEqual(self.incomplete(ended), ("clean", ""))

    def test_a_rank_that_is_killed(self):
        # Behind a barrier: the launcher ends the other rank, which is to have come as far.
        kill = "step == 1 and (dist.barrier(), rank == 1 and os.kill(os.getpid(), signal.SIGKILL))"
        ended, plain = self.run_job(inside=kill), self.run_job(inside=kill, level=None)
        self.assertEqual(ended.status, plain.status)
        self.assertNotEqual(ended.status, 0)
        verdict, text = self.incomplete(ended)
        self.assertEqual(verdict, "incomplete")
        self.assertIn("step 1: rank 1 ", text)

    def test_a_rank_that_raises(self):
        broken = "step == 1 and rank == 1 and {}['no such key']"
        ended, plain = self.run_job(inside=broken), self.run_job(inside=broken, level=None)
        self.assertEqual(ended.status, plain.status)
        self.assertIn("KeyError", ended.errors)
        verdict, text = self.incomplete(ended)
        self.assertEqual(verdict, "incomplete")
        self.assertRegex(text, r"step 1: rank 1 ends at sequence \d+, no further segments "
                               r"\(exception: KeyError: 'no such key'\)")

    def test_a_rank_that_leaves_by_os_exit(self):
        ended = self.run_job(inside="step == 1 and rank == 1 and os._exit(5)")
        self.assertNotEqual(ended.status, 0)
        self.assertIn("(exception: os._exit(5))", self.incomplete(ended)[1])

    def test_ranks_that_disagree_on_the_number_of_steps(self):
        ended = self.run_job(steps="3 - rank")
        self.assertEqual(ended.status, 0, ended.errors)
        verdict, text = self.incomplete(ended)
        self.assertEqual(verdict, "incomplete")
        self.assertIn("step 2: rank 1 wrote nothing", text)

    def test_a_disk_without_room(self):
        # No file may grow beyond this: what a full disk does, for one process alone.
        limit = "rank == 1 and resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
        ended = self.run_job(before=limit, level="full")
        self.assertEqual(ended.status, 0, ended.errors)
        self.assertEqual(ended.errors.count("nanhunt: capture stopped"), 1, ended.errors)
        verdict, text = self.incomplete(ended)
        self.assertEqual(verdict, "incomplete")
        self.assertIn("rank 1 wrote nothing", text)


if __name__ == "__main__":
    unittest.main()
