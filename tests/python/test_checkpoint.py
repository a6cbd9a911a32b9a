# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of other programs as capsules: what they hold arrives under its names, what is not
known is named, and nothing in them is run."""

import os
import pathlib
import pickle
import shutil
import sys
import unittest

import torch

import job
from foreign_case import Case, Malicious, Net, Trained

sys.path.insert(0, str(job.PACKAGE))

from nanhunt import parameter_order  # noqa: E402

DCP_JOB = pathlib.Path(__file__).with_name("dcp_job.py")


class TorchFiles(Case):
    def test_everything_arrives_under_its_name(self):
        torch.save(Trained().everything(), self.folder / "all.pt")
        self.assertNotIn("note", self.converted("all.pt"))
        rows = self.rows()
        for name in ("first.weight", "third.bias"):
            for role in ("param", "exp_avg", "exp_avg_sq", "step"):
                self.assertIn((name, role), rows)
        self.assertEqual(rows["norm.running_mean", "buffer"].shape, "16")
        for row in (("optimizer.groups.0", "lr"), ("schedule", "state"), ("rng.cpu", "state"),
                    ("data", "global_step")):
            self.assertIn(row, rows)
        status, output = job.nanhunt("scan", self.folder / "out")
        self.assertEqual(status, 0, output)

    def test_it_is_the_state_that_the_job_saves_itself(self):
        """Against a capsule of the same job: parameters, moments and counters are equal."""
        trained = Trained()
        torch.save(trained.everything(), self.folder / "all.pt")
        self.converted("all.pt")
        self.native(trained, "native")
        status, output = self.repro("native", "out")
        self.assertEqual(status, 0, output)
        self.assertIn("equal (of the parameters, moments, optimizer step", output)

    def test_it_is_another_state_after_another_step(self):
        trained = Trained()
        torch.save(trained.everything(), self.folder / "all.pt")
        self.converted("all.pt")
        trained.train(1)
        self.native(trained, "native")
        status, output = self.repro("native", "out")
        self.assertEqual(status, 1, output)
        self.assertIn("first.weight exp_avg differs in", output)

    def native(self, trained, name):
        from nanhunt import capsule
        os.environ["NANHUNT_LIBRARY"] = job.environment()["NANHUNT_LIBRARY"]
        capsules = capsule.Capsules(self.folder / name, trained.model, trained.optimizer,
                                    trained.scheduler)
        capsules.save(3)
        capsules.close()

    def test_a_file_that_runs_code_is_refused_and_does_not_run(self):
        victim = self.folder / "victim"
        torch.save({"model": Trained().model.state_dict(), "extra": Malicious(victim)},
                   self.folder / "bad.pt")
        (self.folder / "raw.pkl").write_bytes(pickle.dumps(Malicious(victim)))
        self.refused("bad.pt", "bad.pt", "holds more than numbers")
        self.refused("raw.pkl", "raw.pkl")
        self.assertFalse(victim.exists())
        pickle.loads((self.folder / "raw.pkl").read_bytes())  # the trap works
        self.assertTrue(victim.exists())

    def test_a_truncated_file_is_named(self):
        torch.save(Trained().everything(), self.folder / "all.pt")
        whole = (self.folder / "all.pt").read_bytes()
        (self.folder / "all.pt").write_bytes(whole[:len(whole) // 2])
        self.refused("all.pt", "all.pt: cannot be read")

    def test_unknown_keys_are_carried_and_listed(self):
        torch.save(Trained().everything(best_metric=0.25, tags={"run": "x"}), self.folder / "a.pt")
        output = self.converted("a.pt")
        self.assertIn("best_metric: of no known kind, carried as a setting", output)
        self.assertIn("tags.run: of no known kind", output)
        self.assertIn(("settings", "best_metric"), self.rows())

    def test_a_moment_of_another_shape_is_named(self):
        everything = Trained().everything()
        optimizer = everything["optimizer"]
        optimizer["param_groups"][0]["param_names"] = [
            name for name, _ in Net().named_parameters()]
        optimizer["state"][0]["exp_avg"] = torch.zeros(3, 8)
        torch.save(everything, self.folder / "a.pt")
        self.refused("a.pt", "a.pt", "first.weight exp_avg", "[3, 8]", "[16, 8]")

    def test_a_type_that_no_capsule_holds_is_named(self):
        torch.save({"model": {"w": torch.zeros(2, 2, dtype=torch.complex64),
                              "v": torch.ones(2, 2)}}, self.folder / "a.pt")
        self.refused("a.pt", "a.pt", "tensor w param", "complex64")

    def test_two_groups_are_mapped_by_their_shapes(self):
        trained = Trained(groups=2)
        torch.save(trained.everything(), self.folder / "all.pt")
        self.assertNotIn("unmapped", self.converted("all.pt"))
        self.native(trained, "native")
        status, output = self.repro("native", "out")
        self.assertEqual(status, 0, output)

    def test_files_by_rank_are_kept_apart_or_copies_as_told(self):
        for rank in range(2):
            everything = Trained().everything()
            if rank == 1:
                everything["model"]["first.bias"][3] += 1
            torch.save(everything, self.folder / f"rank-{rank}.pt")
        (self.folder / "by_rank").mkdir()
        for rank in range(2):
            shutil.move(self.folder / f"rank-{rank}.pt", self.folder / "by_rank")
        manifest = self.converted("by_rank")
        self.assertIn("parts/001", manifest)
        self.converted("by_rank", "--replicated", out="copies")
        status, output = job.nanhunt("scan", self.folder / "copies")
        self.assertNotEqual(status, 0, output)
        self.assertIn("ranks 0 and 1 have copies of it that differ", output)


class Distributed(Case):
    def saved(self, name, *words, ranks):
        ended = job.run(self.folder, [DCP_JOB, self.folder / name, *words], ranks=ranks, level=None,
                        hooked=False,
                        variables={} if ranks > 1 else {
                            "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0",
                            "MASTER_ADDR": "localhost", "MASTER_PORT": "0"})
        self.assertEqual(ended.status, 0, ended.errors[-2000:])

    def test_one_and_two_ranks_save_one_state(self):
        self.saved("one", ranks=1)
        self.saved("two", "--flat", ranks=2)
        for name in ("one", "two"):
            self.assertNotIn("unmapped", self.converted(name, out=f"{name}.capsule"))
        rows = self.rows("two.capsule")
        for role in ("param", "exp_avg", "exp_avg_sq", "step"):
            self.assertIn(("3.weight", role), rows)
        self.assertEqual(rows["3.weight", "exp_avg"].shape, "7x16")
        status, output = job.nanhunt("scan", self.folder / "two.capsule")
        self.assertEqual(status, 0, output)
        status, output = self.repro("one.capsule", "two.capsule")  # same batch on each rank
        self.assertEqual(status, 0, output)
        self.assertIn("equal (of the parameters, moments, optimizer step, data cursor)", output)

    def test_what_is_cut_off_is_named(self):
        self.saved("two", ranks=2)
        piece = self.folder / "two/__1_0.distcp"
        whole = piece.read_bytes()
        piece.write_bytes(whole[:-700])
        self.refused("two", "__1_0.distcp: tensor ", "truncated")
        piece.unlink()
        self.refused("two", "__1_0.distcp: tensor ")

    def test_metadata_that_run_code_are_refused_and_do_not_run(self):
        self.saved("one", ranks=1)
        victim = self.folder / "victim"
        (self.folder / "one/.metadata").write_bytes(pickle.dumps(Malicious(victim)))
        self.refused("one", ".metadata: names posix.mkdir")
        self.assertFalse(victim.exists())

    def test_metadata_that_point_outside_are_refused(self):
        self.saved("one", ranks=1)
        path = self.folder / "one/.metadata"
        metadata = pickle.loads(path.read_bytes())
        for info in metadata.storage_data.values():
            info.relative_path = "../" + info.relative_path
        path.write_bytes(pickle.dumps(metadata))
        self.refused("one", "outside the folder")


class Trainer(Case):
    def test_all_its_files_arrive_and_what_is_refused_is_named(self):
        self.folder_of("checkpoint-3", Trained())
        output = self.converted("checkpoint-3")
        self.assertIn("not read: training_args.bin: holds more than numbers", output)
        self.assertFalse((self.folder / "victim").exists())
        rows = self.rows()
        for row in (("first.weight", "param"), ("schedule", "state"), ("rng.cpu", "state"),
                    ("rng.python", "state"), ("rng.numpy", "state"), ("data", "global_step"),
                    ("optimizer.groups.0", "lr")):
            self.assertIn(row, rows)
        self.assertTrue((self.folder / "out/step-000003").is_dir())

    def test_moments_are_mapped_where_one_way_fits_and_else_named(self):
        """safetensors does not keep the order of parameters; only single shapes tell."""
        self.folder_of("checkpoint-3", Trained())
        output = self.converted("checkpoint-3")
        self.assertIn("optimizer.pt: state of 7 of 8 parameters is unmapped", output)
        rows = self.rows()
        self.assertIn(("first.weight", "exp_avg"), rows)
        self.assertNotIn(("second.weight", "exp_avg"), rows)
        self.assertIn(("unmapped.4", "exp_avg"), rows)


class Order(unittest.TestCase):
    def test_one_way_is_taken_and_two_are_not(self):
        model = [("a", (4, 4)), ("b", (4,)), ("c", (2, 2))]
        shapes = {0: (4, 4), 1: (2, 2), 2: (4,)}
        self.assertEqual(parameter_order.names_by_order([[0, 1], [2]], shapes, model),
                         {0: "a", 1: "c", 2: "b"})
        alike = [("a", (4,)), ("b", (4,))]
        self.assertEqual(parameter_order.names_by_order([[0, 1]], {0: (4,), 1: (4,)}, alike),
                         {0: "a", 1: "b"})
        self.assertIsNone(parameter_order.names_by_order([[0], [1]], {0: (4,), 1: (4,)}, alike))
        self.assertIsNone(parameter_order.names_by_order([[0]], {0: (4,)}, alike))
        self.assertIsNone(parameter_order.names_by_order([[0, 1]], {0: (4,), 1: (3,)}, alike))

    def test_without_an_order_only_single_shapes_are_told(self):
        model = [("a", (4,)), ("b", (4,)), ("c", (2, 2))]
        shapes = {0: (4,), 1: (2, 2), 2: (4,)}
        self.assertEqual(parameter_order.names_by_shape([[0, 1, 2]], shapes, model), {1: "c"})


if __name__ == "__main__":
    unittest.main()
