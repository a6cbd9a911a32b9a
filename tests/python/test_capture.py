# SPDX-License-Identifier: Apache-2.0
"""What a job's trace holds, with and without an edit, and what is said when it cannot be."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

import job

sys.path.insert(0, str(job.PACKAGE))

from nanhunt import optimizers  # noqa: E402

ATTACHED = """
import torch, nanhunt
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters())
{attach}
for step in range(2):
    x = torch.randn(6, 8)
    {broken}
    loss = model(x).square().mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
{end}
"""


class OpOfAnOptimizer(unittest.TestCase):
    """It goes by the step that is made, not by the name of the class."""

    def test_goes_by_its_step(self):
        class Mine(torch.optim.AdamW):
            pass

        class AdamW(torch.optim.AdamW):
            def step(self, closure=None):
                pass

        weights = [torch.nn.Parameter(torch.zeros(2))]
        for kind, op in ((torch.optim.AdamW, "adamw"), (torch.optim.Adam, "adam"), (Mine, "adamw"),
                         (torch.optim.SGD, "sgd"), (AdamW, "AdamW")):
            optimizer = kind(weights, lr=0.1)
            self.assertEqual(optimizers.op_of(optimizer, optimizer.param_groups[0]), op)


class Capture(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def script(self, attach="", broken="", end="", text=ATTACHED):
        path = pathlib.Path(self.folder.name) / "train.py"
        path.write_text(text.format(attach=attach, broken=broken, end=end))
        return path

    def test_no_edit_and_attach_give_the_same_records(self):
        edited = job.run(self.folder.name, [self.script("nanhunt.attach(model)")], hooked=False)
        unedited = job.run(self.folder.name, [self.script()])
        rows = job.records(edited.trace)
        self.assertEqual(rows, job.records(unedited.trace))
        self.assertEqual({row.phase for row in rows},
                         {"forward", "loss", "backward", "unscaled", "clipped", "update"})
        self.assertIn("exp_avg_sq", {row.role for row in rows})
        self.assertIn("clip_factor", {row.role for row in rows})

    def test_an_optimizer_may_have_any_number_of_betas(self):
        for betas in ("(0.9, 0.95)", "(0.9, 0.95, 0.999)", "(None, 0.999)", "None"):
            made = f"from torch.optim import SGD; optimizer = SGD(model.parameters()); " \
                   f"optimizer.param_groups[0]['betas'] = {betas}"
            ended = job.run(self.folder.name, [self.script(made)])
            self.assertEqual(ended.status, 0, ended.errors)
            self.assertNotIn("capture stopped", ended.errors)
            self.assertIn("update", {row.phase for row in job.records(ended.trace)})

    def test_so_do_they_on_a_tensor_parallel_job(self):
        made = "    optimizer = common.make_optimizer(args, model)\n"
        source = (job.JOBS / "parallel.py").read_text()
        self.assertEqual(source.count(made), 1)
        line = "    import nanhunt; nanhunt.attach(model, optimizer, order='by_rank')\n"
        script = pathlib.Path(self.folder.name) / "edited.py"
        script.write_text(f"import sys; sys.path.insert(0, {str(job.JOBS)!r})\n"
                          + source.replace(made, made + line))
        arguments = ["--steps=1", "--tp=2", "--sp=on"]
        edited = job.run(self.folder.name, [script, *arguments], 2, hooked=False)
        unedited = job.run(self.folder.name, [job.JOBS / "parallel.py", *arguments], 2,
                           options=["--sample-order", "by_rank"])
        rows = job.records(edited.trace)
        self.assertGreater(len(rows), 600, edited.errors)
        self.assertEqual(rows, job.records(unedited.trace))

    def test_healthy_is_clean_and_nan_is_found(self):
        healthy = job.run(self.folder.name, [self.script()])
        self.assertEqual(job.verdict("scan", healthy.trace)["verdict"], "clean")
        broken = job.run(self.folder.name, [self.script(
            broken="model[2].weight.data[1, 2] = float('nan') if step == 0 else 0")])
        found = job.verdict("scan", broken.trace)
        self.assertEqual(found["verdict"], "non-finite")
        self.assertEqual(found["origins"][0]["finding"]["site"], "2.weight")

    def test_without_capture_nothing_is_written(self):
        ended = job.run(self.folder.name, [self.script("nanhunt.attach(model)")], level=None)
        self.assertEqual((ended.status, ended.trace.exists()), (0, False))

    def test_os_exit_loses_no_step(self):
        ended = job.run(self.folder.name, [self.script(end="import os; os._exit(7)")])
        self.assertEqual(ended.status, 7)
        self.assertEqual(len({row.step for row in job.records(ended.trace)}), 2)

    def test_another_torch_is_refused_and_the_job_goes_on(self):
        wrong = pathlib.Path(self.folder.name) / "libnanhunt_torch.so"
        wrong.write_bytes(b"\0nanhunt built for torch 1.2.3\0")
        plan = {"out": self.folder.name + "/t", "level": "stats"}
        done = subprocess.run([sys.executable, "-m", "nanhunt", str(self.script())],
                              env=job.environment(plan, wrong), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("built for torch 1.2.3, this is torch", done.stderr)

    def test_a_hook_that_fails_is_said_once_and_the_job_goes_on(self):
        script = self.script("import nanhunt.activations; nanhunt.activations.batch_of = None\n"
                             "nanhunt.attach(model)")
        ended = job.run(self.folder.name, [script])
        self.assertEqual(ended.status, 0, ended.errors)
        self.assertEqual(ended.errors.count("nanhunt: capture stopped"), 1)

    def test_several_optimizers(self):
        text = ATTACHED.replace("optimizer = torch.optim.AdamW(model.parameters())", """
class Both:
    def __init__(self, *parts): self.parts = parts
    def step(self): [part.step() for part in self.parts]
    def zero_grad(self): [part.zero_grad() for part in self.parts]
optimizer = Both(torch.optim.AdamW(model[0].parameters()),
                 torch.optim.SGD(model[2].parameters(), lr=0.1, momentum=0.9))""")
        ended = job.run(self.folder.name, [self.script(text=text)])
        updates = {(row.step, row.site) for row in job.records(ended.trace)
                   if (row.phase, row.role) == ("update", "param")}
        self.assertEqual(len(updates), 8)

    def test_without_an_optimizer(self):
        """The job updates its parameters by hand: a step is what it says of its microbatches."""
        text = ATTACHED.replace("optimizer = torch.optim.AdamW(model.parameters())", "") \
            .replace("optimizer.step()", "[p.data.sub_(p.grad) for p in model.parameters()]") \
            .replace("optimizer.zero_grad()", "model.zero_grad()")
        for microbatches, steps in (("1", 2), ("2", 1)):
            ended = job.run(self.folder.name, [self.script(text=text)],
                            options=["--microbatches", microbatches])
            self.assertEqual(ended.status, 0, ended.errors)
            outputs = {row.step for row in job.records(ended.trace) if row.role == "output"}
            self.assertEqual(len(outputs), steps)

    def test_what_no_optimizer_holds_ends_no_step(self):
        """A parameter left out of the optimizer keeps its gradient; one that copies are updated of
        has none: neither makes one step of all passes."""
        left_out = ATTACHED.replace("AdamW(model.parameters())", "AdamW(model[2].parameters())")
        copies = ATTACHED.replace("AdamW(model.parameters())", "AdamW(copies)").replace(
            "optimizer =", "copies = [p.detach().clone() for p in model.parameters()]\noptimizer =")
        for text in (left_out, copies):
            ended = job.run(self.folder.name, [self.script(text=text)])
            self.assertEqual(ended.status, 0, ended.errors)
            self.assertEqual({row.step for row in job.records(ended.trace)}, {"0", "1"})

    def test_norms_of_parts_and_of_another_kind(self):
        """Healthy ones are clean; one that clips by less than it says is found."""
        clip, whole = "torch.nn.utils.clip_grad_norm_", "(model.parameters(), 1.0)"
        apart = f"{clip}(model[0].parameters(), 0.1); {clip}(model[2].parameters(), 0.1)"
        largest = f"{clip}(model.parameters(), 0.1, norm_type=float('inf'))"
        for said, verdict in ((apart, "clean"), (largest, "clean"),
                              (apart + "; model[2].weight.grad.mul_(1.5)", "divergence")):
            text = ATTACHED.replace(clip + whole, said)
            ended = job.run(self.folder.name, [self.script(text=text)])
            self.assertEqual(job.verdict("scan", ended.trace)["verdict"], verdict)

    def test_a_norm_that_is_of_more_than_the_model(self):
        """A scale of the loss is no parameter of the model, and is clipped with it."""
        strange = ATTACHED.replace("{attach}", "scale = torch.nn.Parameter(torch.tensor(2.0))") \
            .replace("model(x)", "(model(x) * scale)") \
            .replace("(model.parameters(), 1.0)", "([*model.parameters(), scale], 0.1)")
        for text, verdict in (
                (strange, "clean"),
                (strange.replace("optimizer.step()", "model[2].weight.grad.mul_(1.5); "
                                 "optimizer.step()"), "divergence")):
            ended = job.run(self.folder.name, [self.script(text=text)])
            self.assertEqual(ended.status, 0, ended.errors)
            self.assertEqual(job.verdict("scan", ended.trace)["verdict"], verdict)

    def test_an_optimizer_that_waits_makes_one_step_of_all_passes(self):
        text = ATTACHED.replace("optimizer.step()", "step == 1 and optimizer.step()")
        ended = job.run(self.folder.name, [self.script(text=text)])
        self.assertEqual({row.step for row in job.records(ended.trace)}, {"0"})

    def test_fewer_passes_than_said_are_told_and_accuse_nobody(self):
        told = "fewer forward passes in a step than 2"
        for microbatches in ("1", "2"):
            ended = job.run(self.folder.name, [self.script()],
                            options=["--microbatches", microbatches])
            status, said = job.nanhunt("scan", ended.trace)
            self.assertEqual(status, 0, said)
            self.assertEqual(told in said, microbatches == "2", said)
        wrong = ATTACHED.replace("optimizer.step()", "model[2].weight.grad.mul_(1.5); "
                                 "optimizer.step()")
        ended = job.run(self.folder.name, [self.script(text=wrong)],
                        options=["--microbatches", "2"])
        self.assertEqual(job.verdict("scan", ended.trace)["verdict"], "divergence")

    def test_a_pass_more_than_said_has_no_part_in_the_loss(self):
        """Neither is the first pass alone the step's loss."""
        text = ATTACHED.replace("optimizer.step()", "step == 1 and optimizer.step()")
        for microbatches, unknown in (("1", 1), ("2", 0)):
            ended = job.run(self.folder.name, [self.script(text=text)],
                            options=["--microbatches", microbatches])
            losses = [row.placement for row in job.records(ended.trace) if row.phase == "loss"]
            self.assertEqual(len(losses), 2)
            self.assertEqual(losses.count("unknown"), unknown, losses)

    def test_copies_of_the_model_have_no_hooks(self):
        """An average of the weights is a deep copy, and a checkpoint may hold the whole module."""
        plain = job.run(self.folder.name, [self.script()])
        saved = pathlib.Path(self.folder.name) / "model.pt"
        text = ATTACHED.replace("optimizer.zero_grad()", "optimizer.zero_grad(); import copy; "
                                "average = copy.deepcopy(model); average(x)")
        ended = job.run(self.folder.name, [self.script(
            text=text, end=f"torch.save(model, {str(saved)!r})")])
        self.assertEqual(ended.status, 0, ended.errors)
        self.assertEqual(job.records(ended.trace), job.records(plain.trace))
        load = f"import torch; torch.load({str(saved)!r}, weights_only=False)(torch.ones(6, 8))"
        subprocess.run([sys.executable, "-c", load], check=True)

    def test_backward_by_another_door(self):
        text = ATTACHED.replace("loss.backward()", "torch.autograd.backward([loss])")
        ended = job.run(self.folder.name, [self.script(text=text)])
        plain = job.run(self.folder.name, [self.script()])
        self.assertIn("loss", {row.phase for row in job.records(plain.trace)})
        self.assertEqual(job.records(ended.trace), job.records(plain.trace))

    def test_what_never_ran_or_cannot_be_seen_is_told(self):
        text = ATTACHED.replace("{attach}", "{attach}\nmodel.spare = torch.nn.Linear(2, 2)\n"
                                "model.forward = lambda x: model[2](model[1](model[0](x)))")
        never = "modules that the first step never called: spare"
        graph = "CUDA graphs were replayed"
        said = job.nanhunt("scan", job.run(self.folder.name, [self.script(text=text)]).trace)[1]
        self.assertIn(never, said)
        self.assertNotIn(graph, said)
        replay = "\ntry: torch.cuda.CUDAGraph.replay(None)\nexcept Exception: pass\n"
        ended = job.run(self.folder.name, [self.script(broken=f"exec({replay!r})")])
        said = job.nanhunt("scan", ended.trace)[1]
        self.assertNotIn(never, said)
        self.assertIn(graph, said)

    def test_a_compiled_layer_is_seen_at_its_edge(self):
        """Its own output and gradient, all parameters and updates; what is inside is said, and
        is there when the job is told to run eagerly.
        """
        text = ATTACHED.replace("Sequential(", "Sequential("
                                "torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()), ")
        whole = job.records(job.run(self.folder.name, [self.script(text=text)]).trace)
        inside = {row for row in whole if row.site in ("0.0", "0.1")
                  and row.phase in ("forward", "backward") and row.role != "grad"}
        self.assertEqual(len(inside), 10)
        # What the Tanh inside would have shown, and what goes from there into the next layer.
        edge = {row._replace(site="0") for row in inside if row.site == "0.1"}
        edge |= {row._replace(site="1", role="input") for row in edge if row.role == "output"}
        for how in ("model[0].compile(backend='aot_eager')",
                    "model[0] = torch.compile(model[0], backend='aot_eager')"):
            script = self.script(text=text, attach=how)
            seen = job.run(self.folder.name, [script])
            forced = job.run(self.folder.name, [script], variables={"NANHUNT_FORCE_EAGER": "1"})
            self.assertEqual(set(job.records(seen.trace)), set(whole) - inside | edge, seen.errors)
            self.assertEqual(set(job.records(forced.trace)), set(whole), forced.errors)
            self.assertIn("2 modules are in compiled regions", job.nanhunt("scan", seen.trace)[1])


if __name__ == "__main__":
    unittest.main()
