# SPDX-License-Identifier: Apache-2.0
"""The ways to capture a training step that are measured, each as a class with the same doors:

    install(job, folder)    sets up its hooks; folder is where it may write
    begin(step), end(step)  around one step, inside the measured time
    close()                 when no more steps come

and, in the process that measures, `contents(folder, steps)`: (tensors, bytes of their elements) of
one step, as the tool's own files say, None where they do not.
"""

import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Nothing:
    environment = {}

    def __init__(self, *_, **__):
        pass

    def install(self, job, folder):
        pass

    def begin(self, step):
        pass

    def end(self, step):
        pass

    def close(self):
        pass

    def contents(self, folder, steps):
        return 0, 0


class Nanhunt(Nothing):
    """level: stats or full; what: all, none, or modules (outputs of modules and their gradients,
    and the inputs that no module gave).
    """

    def __init__(self, library, level, what="all"):
        self.level, self.what = level, what
        self.environment = {"NANHUNT_LIBRARY": str(library)}

    def install(self, job, folder):
        import sys
        sys.path.insert(0, str(ROOT / "hooks/python"))
        plan = {"out": str(folder), "level": self.level}
        if self.what == "modules":
            names = [name for name, _ in job.model.named_modules() if name]
            plan |= {"sites": ["model", *names], "phases": ["forward", "backward"]}
        elif self.what == "none":
            plan["sites"] = ["no site of this name"]
        os.environ["NANHUNT_CAPTURE"] = json.dumps(plan)
        import nanhunt
        session = nanhunt.attach(job.model)
        if session is None:
            raise RuntimeError("the hooks do not load")
        self.session = session

    def end(self, step):
        if self.session.failed:
            raise RuntimeError("the capture stopped")

    def close(self):
        self.session.close()

    def contents(self, folder, steps):
        import h5py
        count = size = 0
        for path in folder.glob("step-*/rank-*.h5"):
            with h5py.File(path) as file:
                rows = file["records"][:]
                names = {code: name for name, code in
                         h5py.check_enum_dtype(rows.dtype["storage"]).items()}
            count += len(rows)
            size += sum(int(row["count"]) * _WIDTH[names[row["storage"]]] for row in rows)
        return count // steps, size // steps


_WIDTH = {"fp64": 8, "int64": 8, "fp32": 4, "int32": 4, "fp16": 2, "bf16": 2, "int16": 2,
          "fp8_e4m3": 1, "fp8_e5m2": 1, "int8": 1, "uint8": 1, "bool": 1}


class Own(Nothing):
    """Hooks as one writes them by hand: values of the outputs of all modules and their gradients;
    with `everything` also parameters, their gradients and the optimizer's states.
    """

    def __init__(self, everything=False):
        self.everything = everything

    def install(self, job, folder):
        self.job, self.folder = job, folder
        for name, module in job.model.named_modules():
            module.register_forward_hook(self.hook(name or "model"))

    def hook(self, name):
        def after(module, arguments, output):
            self.save("forward/" + name, output)
            if output.requires_grad:
                output.register_hook(lambda gradient: self.save("backward/" + name, gradient))
        return after

    def begin(self, step):
        self.open(step)
        if self.everything:
            for name, parameter in self.job.model.named_parameters():
                self.save("weight/" + name, parameter)

    def end(self, step):
        if self.everything:
            for name, parameter in self.job.model.named_parameters():
                self.save("param/" + name, parameter)
                state = self.job.optimizer.state[parameter]
                for moment in ("exp_avg", "exp_avg_sq"):
                    self.save(f"{moment}/{name}", state[moment])
        self.shut()

    def watch_gradients(self):
        """Of parameters, as the optimizer gets them."""
        if self.everything:
            for name, parameter in self.job.model.named_parameters():
                self.job.optimizer.register_step_pre_hook(
                    lambda *_, n=name, p=parameter: self.save("grad/" + n, p.grad))


class H5pyHook(Own):
    """One file a step."""

    def install(self, job, folder):
        super().install(job, folder)
        self.watch_gradients()

    def open(self, step):
        import h5py
        self.file = h5py.File(self.folder / f"step-{step:06d}.h5", "w")

    def save(self, name, tensor):
        # A module that is called twice in a step would need a number here; none is.
        self.file.create_dataset(name.replace(".", "/") + "/value", data=tensor.detach().numpy())

    def shut(self):
        self.file.close()

    def contents(self, folder, steps):
        import h5py
        sizes = []
        for path in folder.glob("step-*.h5"):
            with h5py.File(path) as file:
                file.visititems(lambda _, item: sizes.append(item.nbytes)
                                if isinstance(item, h5py.Dataset) else None)
        return len(sizes) // steps, sum(sizes) // steps


class TorchSaveHook(Own):
    """One file a tensor."""

    def install(self, job, folder):
        super().install(job, folder)
        self.watch_gradients()

    def open(self, step):
        self.into = self.folder / f"step-{step:06d}"
        self.into.mkdir()

    def save(self, name, tensor):
        import torch
        torch.save(tensor.detach(), self.into / (name.replace("/", ".") + ".pt"))

    def shut(self):
        pass

    def contents(self, folder, steps):
        import torch
        count = size = 0
        for path in folder.glob("step-*/*.pt"):
            tensor = torch.load(path)
            count, size = count + 1, size + tensor.numel() * tensor.element_size()
        return count // steps, size // steps


class MsProbe(Nothing):
    """task: statistics or tensor; level: L0 (modules) or mix (modules and API)."""

    def __init__(self, task, level):
        self.task, self.level = task, level

    def install(self, job, folder):
        config = {"task": self.task, "dump_path": str(folder), "rank": [], "step": [],
                  "level": self.level, "async_dump": False,
                  self.task: {"scope": [], "list": [], "data_mode": ["all"]}}
        if self.task == "statistics":
            config[self.task]["summary_mode"] = "statistics"
        written = folder.with_name(folder.name + ".json")
        written.write_text(json.dumps(config))
        from msprobe.pytorch import PrecisionDebugger
        self.job, self.debugger = job, PrecisionDebugger(config_path=str(written))

    def begin(self, step):
        self.debugger.start(model=self.job.model)

    def end(self, step):
        self.debugger.stop()
        self.debugger.step()

    def contents(self, folder, steps):
        found = []
        for path in folder.glob("step*/**/dump.json"):
            found += list(_tensors_in(json.loads(path.read_text())["data"]))
        return len(found) // steps, sum(found) // steps


def _tensors_in(entry):
    """Bytes of each tensor that a dump.json tells of."""
    if isinstance(entry, list):
        for part in entry:
            yield from _tensors_in(part)
    elif isinstance(entry, dict) and entry.get("type") == "torch.Tensor":
        size = 8 if entry["dtype"].endswith("64") else 4
        for extent in entry["shape"]:
            size *= extent
        yield size
    elif isinstance(entry, dict):
        for part in entry.values():
            yield from _tensors_in(part)


def all_of(library):
    """{name in the table: (tool, whether it is measured without --all)}"""
    return {
        "nothing": (Nothing(), True),
        "nanhunt, no site": (Nanhunt(library, "stats", "none"), True),
        "nanhunt stats, modules": (Nanhunt(library, "stats", "modules"), True),
        "nanhunt stats": (Nanhunt(library, "stats"), True),
        "nanhunt full, modules": (Nanhunt(library, "full", "modules"), True),
        "nanhunt full": (Nanhunt(library, "full"), True),
        "h5py hook, modules": (H5pyHook(), True),
        "h5py hook, everything": (H5pyHook(everything=True), True),
        "torch.save hook, modules": (TorchSaveHook(), True),
        "msProbe statistics L0": (MsProbe("statistics", "L0"), True),
        "msProbe tensor L0": (MsProbe("tensor", "L0"), True),
        "msProbe statistics mix": (MsProbe("statistics", "mix"), False),
        "msProbe tensor mix": (MsProbe("tensor", "mix"), False),
    }
