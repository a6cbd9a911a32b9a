# SPDX-License-Identifier: Apache-2.0
"""Loading a capsule into a job of one process: each kind of state that is gone is named with the
level that is lost, what the job has no place for is named, and a load that fails changes nothing."""

import contextlib
import io
import os
import pathlib
import random
import sys
import tempfile
import unittest

import job

sys.path.insert(0, str(job.PACKAGE))
os.environ["NANHUNT_LIBRARY"] = str(job.BUILD / "hooks/torch_ops/libnanhunt_torch.so")

import torch  # noqa: E402
from nanhunt import capsule  # noqa: E402
from capsule_layout_job import Cursor, Net, without  # noqa: E402

# Kind: what is named, the level that is lost, how many things.
KINDS = {
    "parameters": ("blocks.0.norm.weight param is not in the capsule: another model", "state", 14),
    "buffers": ("blocks.0.scale buffer is not in the capsule: rebuilt", "state", 2),
    "moments": ("blocks.0.norm.weight exp_avg is not in the capsule: rebuilt as zeros", "state",
                28),
    "optimizer step": ("blocks.0.norm.weight step is not in the capsule: rebuilt as 0", "state",
                       14),
    "parameter groups": ("optimizer.groups.0 lr is not in the capsule: taken from", "state", None),
    "schedule": ("schedule state is not in the capsule: rebuilt at its start", "state", 1),
    "scaler": ("scaler state is not in the capsule: rebuilt at its start", "state", 1),
    "RNG streams": ("rng.cpu state is not in the capsule: seeded anew", "replay", 2),
    "data cursor": ("data consumed_samples is not in the capsule: data from the start", "state", 1),
    "sampler": ("data.sampler state is not in the capsule: data from the start", "state", 1),
    "next batch": ("data.batch inputs is not in the capsule: nothing to check", "replay", 2),
}


def plain(value):
    """Comparable to the bit, whatever the order of its names."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, torch.Tensor) else value


class Job:
    def __init__(self, folder, blocks=2, **changed):
        torch.manual_seed(5)
        random.seed(5)
        self.model = Net(blocks)
        self.cursor = Cursor()
        self.optimizer = changed.pop("optimizer", torch.optim.AdamW)(self.model.parameters(),
                                                                    lr=1e-2)
        self.parts = {"optimizer": self.optimizer, "sampler": self.cursor,
                      "scheduler": torch.optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5),
                      "scaler": torch.amp.GradScaler("cpu", init_scale=4.0)} | changed
        self.capsules = capsule.Capsules(folder, self.model, **self.parts)

    def step(self):
        batch = self.cursor.samples(0, 1)
        self.optimizer.zero_grad()
        torch.nn.functional.mse_loss(self.model(batch["inputs"]), batch["targets"]).backward()
        self.optimizer.step()
        self.cursor.next += 16

    def save(self, step, **words):
        self.capsules.save(step, data={"consumed_samples": self.cursor.next},
                           batch=self.cursor.samples(0, 1), **words)
        self.capsules.close()

    def load(self, **words):
        at = Cursor()
        at.next = 32
        return self.capsules.load(**({"batch": at.samples(0, 1), "data": ("consumed_samples",)}
                                     | words))

    def state(self):
        """All of it, comparable."""
        kept = self.optimizer.state_dict()
        return (plain(self.model.state_dict()), plain(kept["state"]), plain(kept["param_groups"]),
                self.cursor.next, torch.get_rng_state().tolist(), random.getstate(),
                self.parts["scheduler"].state_dict())


class Load(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name) / "capsules"

    def saved(self, leave_out=None, **changed):
        """A job that saved before its third step."""
        made = Job(self.folder, **changed)
        if leave_out:
            made.capsules.rows = without(leave_out, made.capsules.rows)
        made.step()
        made.step()
        with contextlib.redirect_stderr(io.StringIO()) as said:
            made.save(2)
        self.assertEqual(said.getvalue(), "")
        return made

    def missing(self, made, **words):
        with self.assertRaises(capsule.Missing) as caught:
            made.load(**words)
        return caught.exception.reasons

    def test_nothing_is_missing_of_a_whole_one(self):
        made, other = self.saved(), Job(self.folder)
        loaded = other.load()
        self.assertEqual((loaded, loaded.lost, loaded.data), (2, [], {"consumed_samples": 32}))
        self.assertEqual(other.state(), made.state())
        self.assertRegex(loaded.summary, r"^capsule of step 2: \d+ tensors, numbers and texts "
                                         r"loaded, next batch equal, data cursor "
                                         r"consumed_samples=32, nothing lost$")

    def test_each_kind_that_is_gone_is_named_with_the_level_lost(self):
        for kind, (words, level, count) in KINDS.items():
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                self.folder = folder
                self.saved(leave_out=kind)
                other = Job(folder)
                before = other.state()
                reasons = self.missing(other)
                self.assertEqual(other.state(), before)
                self.assertTrue(any(reason.startswith(words) for reason in reasons), reasons)
                for reason in reasons:
                    self.assertTrue(reason.endswith(f"broken from level {level} on"), reason)
                if count is not None:
                    self.assertEqual(len(reasons), count, reasons)
                with contextlib.redirect_stderr(io.StringIO()) as said:
                    loaded = other.load(rebuild=True)
                self.assertEqual(loaded.lost, reasons)
                self.assertEqual(said.getvalue().count("goes on without: "), len(reasons))
                other.step()  # and trains

    def test_what_is_not_passed_is_not_compared_and_said(self):
        self.saved()
        loaded = Job(self.folder).load(batch=None, data=())
        self.assertEqual(loaded.batch_compared, ())
        self.assertIn("next batch not compared: the job did not pass inputs targets",
                      loaded.summary)
        half = Job(self.folder).load(batch={"inputs": self.batch_of_step_two()["inputs"]})
        self.assertIn("next batch not compared: the job did not pass targets", half.summary)

    def test_a_batch_may_be_a_function_of_the_step(self):
        self.saved()
        asked = []
        loaded = Job(self.folder).load(batch=lambda step: asked.append(step)
                                       or self.batch_of_step_two())
        self.assertEqual((asked, loaded.batch_compared), ([2], ("inputs", "targets")))

    @staticmethod
    def batch_of_step_two():
        at = Cursor()
        at.next = 32
        return at.samples(0, 1)

    def test_another_batch_or_shape_of_it_is_named(self):
        self.saved()
        other = Cursor().samples(0, 1)
        self.assertEqual(self.missing(Job(self.folder), batch=other),
                         [f"data.batch {name}: the job would read another batch than the capsule's "
                          "next one" for name in ("inputs", "targets")])
        short = {name: tensor[:8] for name, tensor in self.batch_of_step_two().items()}
        self.assertIn("data.batch inputs is fp32 [16, 12] in the capsule, here fp32 [8, 12]",
                      self.missing(Job(self.folder), batch=short))

    def test_what_the_job_has_no_place_for_is_named(self):
        self.saved()
        gone = "is in the capsule, and this program has no such tensor: it would be dropped; "
        for changed, names in (({"blocks": 1}, ("blocks.1.up.weight param ",
                                                "blocks.1.up.weight exp_avg ")),
                               ({"sampler": None}, ("data.sampler state ",)),
                               ({"scaler": None}, ("scaler state ",)),
                               ({"optimizer": torch.optim.SGD}, ("optimizer.groups.0 beta1 ",))):
            with self.subTest(changed):
                other = Job(self.folder, **changed)
                before = other.state()
                reasons = self.missing(other)
                for name in names:
                    self.assertTrue(any(reason.startswith(name + gone) for reason in reasons),
                                    reasons)
                self.assertEqual(other.state(), before)

    def test_another_shape_and_type_are_named(self):
        self.saved()
        other = Job(self.folder)
        other.model.head = torch.nn.Linear(12, 5)
        other.model.blocks[0].norm.double()
        other.capsules = capsule.Capsules(self.folder, other.model, **other.parts)
        reasons = self.missing(other)
        self.assertIn("head.weight param is fp32 [3, 12] in the capsule, here fp32 [5, 12]",
                      reasons)
        self.assertIn("blocks.0.norm.weight param is fp32 [12] in the capsule, here fp64 [12]",
                      reasons)

    def damaged(self, change):
        self.saved()
        file = self.folder / "step-000002/rank-00000.000.h5"
        change(file)
        other = Job(self.folder)
        before = other.state()
        with self.assertRaises(RuntimeError) as caught:
            other.load(rebuild=True)  # which is not for this
        self.assertNotIsInstance(caught.exception, capsule.Missing)
        self.assertEqual(other.state(), before)
        return str(caught.exception)

    def test_a_flipped_byte_of_the_last_tensor_changes_nothing_of_the_job(self):
        def flip(file):
            content = bytearray(file.read_bytes())
            weight = self.batch_of_step_two()["targets"].numpy().tobytes()
            at = content.find(weight)
            self.assertGreater(at, 0)
            content[at + 7] ^= 8
            file.write_bytes(content)
        said = self.damaged(flip)
        self.assertIn("data.batch targets (rank 0, step 2) in ", said)
        self.assertIn("rank-00000.000.h5: the values are not those that were written", said)

    def test_half_a_file_is_named(self):
        self.assertIn("rank-00000.000.h5 (rank 0, step 2): truncated: ",
                      self.damaged(lambda file: os.truncate(file, file.stat().st_size // 2)))

    def test_a_capsule_that_left_values_out_is_refused(self):
        made = Job(self.folder)
        made.step()
        made.capsules = capsule.Capsules(self.folder, made.model, made.optimizer, queue_bytes=4096,
                                         wait=False)
        made.save(1)
        with self.assertRaisesRegex(RuntimeError, "not whole: the writer left out"):
            Job(self.folder).load()

    def test_a_rank_larger_than_the_bound_is_whole(self):
        made = Job(self.folder)
        made.capsules = capsule.Capsules(self.folder, made.model, **made.parts, queue_bytes=4096)
        made.step()
        made.step()
        made.save(2)
        other = Job(self.folder)
        self.assertEqual(other.load().lost, [])
        self.assertEqual(other.state(), made.state())

    def test_the_capsule_that_a_job_goes_on_from_stays_as_it_is(self):
        self.saved()
        file = self.folder / "step-000002/rank-00000.000.h5"
        before = file.stat().st_ino
        other = Job(self.folder)
        other.load()
        other.save(2)
        self.assertEqual(file.stat().st_ino, before)
        fresh = Job(self.folder)  # the twin: one that was not loaded from it writes
        fresh.save(2)
        self.assertNotEqual(file.stat().st_ino, before)


if __name__ == "__main__":
    unittest.main()
