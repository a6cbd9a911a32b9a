# SPDX-License-Identifier: Apache-2.0
"""How fast two dumps of one job are compared.

    compare.py --build BUILD [--repeats N] [--steps N] [--mix]

Each tool dumps the job three times: `equal` compares two runs with one seed, `differing` one of
them with a run whose weights began a millionth larger, so that nearly every value differs. nanhunt
compares its traces captured in full, msProbe its dumps of level L0 (and mix), h5diff the files of
a h5py hook that writes modules, gradients, parameters and states. All lie in the page cache.

s         shortest wall time of the interleaved repeats; median beside it
cpu_s     shortest processor time, of the program and its children
tensors/s, MB/s  of one side, by the shortest wall time; `net` less the start-up of the program
"""

import argparse
import dataclasses
import multiprocessing
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import gpt
import tools

SCALES = {"first": 1.0, "again": 1.0, "other": 1.0 + 1e-6}
PAIRS = {"equal": "again", "differing": "other"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--mix", action="store_true", help="msProbe mix too: tens of seconds each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nanhunt-bench-") as folder:
        rows = programs(options, dumps(options, pathlib.Path(folder)))
        for number in range(options.repeats):
            for row in rows:
                row.run()
            print(f"repeat {number + 1} of {options.repeats}", file=sys.stderr, flush=True)
    print_table(rows, options)


# --- dumps --------------------------------------------------------------------------------------

@dataclasses.dataclass
class Dumps:
    folder: pathlib.Path  # holds first, again, other
    tensors: int
    bytes: int


def dumps(options, folder):
    """{tool: Dumps}"""
    library = options.build / "hooks/torch_ops/libnanhunt_torch.so"
    chosen = {"nanhunt": (tools.Nanhunt(library, "full"), options.steps),
              "h5py": (tools.H5pyHook(everything=True), options.steps),
              "L0": (tools.MsProbe("tensor", "L0"), options.steps)}
    if options.mix:
        chosen["mix"] = (tools.MsProbe("tensor", "mix"), 1)
    made = {}
    for name, (tool, steps) in chosen.items():
        for run, scale in SCALES.items():
            capture(tool, folder / name / run, steps, scale)
        tensors, size = tool.contents(folder / name / "first", 1)
        made[name] = Dumps(folder / name, tensors, size)
    return made


def capture(tool, folder, steps, scale):
    folder.mkdir(parents=True)
    os.environ.update({"OMP_NUM_THREADS": "1", **tool.environment})
    process = multiprocessing.get_context("spawn").Process(
        target=captured, args=(tool, folder, steps, scale))
    process.start()
    process.join()
    if process.exitcode != 0:
        sys.exit(f"no dump in {folder}")


def captured(tool, folder, steps, scale):
    os.dup2(2, 1)  # what tools say is no result
    job = gpt.Job(1, scale)
    tool.install(job, folder)
    for step in range(steps):
        tool.begin(step)
        job.run()
        tool.end(step)
    tool.close()


# --- programs -----------------------------------------------------------------------------------

class Row:
    """One program on one pair. commands: as a list, run one after the other; allowed: exit
    statuses that are no failure.
    """

    def __init__(self, name, pair, dump, commands, allowed, result=None):
        self.name, self.pair, self.dump, self.commands = name, pair, dump, commands
        self.allowed, self.result = allowed, result
        self.walls, self.cpus = [], []

    def run(self):
        if self.result is not None:
            shutil.rmtree(self.result, ignore_errors=True)
        before, began = children_cpu(), time.perf_counter()
        for command in self.commands:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if done.returncode not in self.allowed:
                sys.exit(f"{command} ended with {done.returncode}: {done.stderr[-1000:]}")
        self.walls.append(time.perf_counter() - began)
        self.cpus.append(children_cpu() - before)
        if self.result is not None and not any(self.result.rglob("compare_result*")):
            sys.exit(f"{self.commands} left no result")


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def programs(options, dumped):
    rows = []
    for pair, second in PAIRS.items():
        nanhunt, h5py = dumped["nanhunt"], dumped["h5py"]
        traces = [nanhunt.folder / second, nanhunt.folder / "first"]
        command = [options.build / "cli/nanhunt", "compare", "--no-replay", *traces]
        # 1: they differ; 125: they differ, and nothing says how far is healthy.
        rows.append(Row("nanhunt compare --same-layout", pair, nanhunt,
                        [[*command, "--same-layout"]], {0, 1, 125}))
        rows.append(Row("nanhunt compare", pair, nanhunt, [command], {0, 1, 125}))
        rows.append(Row("h5diff", pair, h5py, h5diffs(h5py.folder, second, []), {0, 1}))
        rows.append(Row("h5diff --relative=1e-3", pair, h5py,
                        h5diffs(h5py.folder, second, ["--relative=1e-3"]), {0, 1}))
        rows += [msprobe(level, pair, dumped[level], second) for level in ("L0", "mix")
                 if level in dumped]
    nothing = Dumps(None, 0, 0)
    rows.append(Row("nanhunt, start-up", "", nothing,
                    [[options.build / "cli/nanhunt", "compare", "--help"]], {0}))
    rows.append(Row("msProbe, start-up", "", nothing,
                    [[command_of_msprobe(), "compare", "-h"]], {0}))
    return rows


def h5diffs(folder, second, more):
    files = sorted(path.name for path in (folder / "first").glob("*.h5"))
    return [["h5diff", *more, folder / second / file, folder / "first" / file] for file in files]


def command_of_msprobe():
    return pathlib.Path(sys.executable).with_name("msprobe")


def msprobe(level, pair, dump, second):
    """It takes the folder of one step."""
    result = dump.folder / "result"
    commands = [[command_of_msprobe(), "compare", "-tp", dump.folder / second / step.name,
                 "-gp", step, "-o", result]
                for step in sorted((dump.folder / "first").glob("step*"))]
    return Row(f"msProbe compare {level}", pair, dump, commands, {0}, result)


# --- the table ----------------------------------------------------------------------------------

def print_table(rows, options):
    start = {row.name.split(",")[0]: min(row.walls) for row in rows if not row.pair}
    print(f"{gpt.SHAPE}\ntwo dumps of {options.steps} steps (mix: 1), best of {options.repeats}, "
          f"load {os.getloadavg()[1]:.0f}, nice {os.nice(0)}")
    print(f"{'program':30} {'pair':10} {'s':>7} {'median':>7} {'cpu_s':>7} {'tensors':>8} "
          f"{'MB':>7} {'tensors/s':>10} {'MB/s':>8} {'net MB/s':>9}")
    for row in rows:
        best = min(row.walls)
        net = max(1e-3, best - start.get(row.name.split()[0].rstrip(","), 0.0))
        print(f"{row.name:30} {row.pair:10} {best:7.2f} {statistics.median(row.walls):7.2f} "
              f"{min(row.cpus):7.2f} {row.dump.tensors:8} {row.dump.bytes / 1e6:7.0f} "
              f"{row.dump.tensors / best:10.0f} {row.dump.bytes / 1e6 / best:8.0f} "
              f"{row.dump.bytes / 1e6 / net:9.0f}")


if __name__ == "__main__":
    main()
