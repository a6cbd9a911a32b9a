# SPDX-License-Identifier: Apache-2.0
"""What each way to capture costs a training step.

    steps.py --library LIBNANHUNT_TORCH [OPTIONS]

One process a tool, all alive at once; in each round each of them runs a few steps, one process
after the other, while the rest wait. The first round is not counted.

best     shortest step over the shortest of `nothing`
median   median over the rounds of: median step over the median step of `nothing` in that round
range    smallest and largest of these
written  best with the time until the files of a turn are whole, spread over its steps
cpu      processor time of all threads, smallest step over the smallest of `nothing`: what other
         programs on the machine disturb least
aim      nanhunt stats of modules: 1.15; all else of stats: 1.05 + bytes read / (5 GB/s) / step
"""

import argparse
import multiprocessing
import os
import pathlib
import shutil
import signal
import statistics
import sys
import tempfile
import time

import gpt
import tools

READ_RATE = 5e9  # bytes a second, of the aim


def main():
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="nanhunt-bench-") as folder:
        chosen = {name: tool for name, (tool, usual) in tools.all_of(options.library).items()
                  if (usual or options.all) and chosen_by(options.only, name)}
        workers = {name: Worker(name, tool, pathlib.Path(folder) / str(number), options.threads)
                   for number, (name, tool) in enumerate(chosen.items())}
        try:
            measure(workers, options)
        finally:
            for worker in workers.values():
                worker.end()
    print_table(workers, options)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=4, help="of a turn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="tools whose names hold one of these")
    parser.add_argument("--all", action="store_true", help="msProbe mix too: seconds a step")
    return parser.parse_args()


def chosen_by(only, name):
    return not only or name == "nothing" or any(word in name for word in only.split(","))


def measure(workers, options):
    """Interrupted after a whole round, it has a table too."""
    try:
        for number in range(options.rounds + 1):
            one_round(workers, options, number)
    except KeyboardInterrupt:
        if number < 2:
            raise


def one_round(workers, options, number):
    for worker in workers.values():
        worker.turn(options.steps, number)
    print(f"round {number} of {options.rounds}", file=sys.stderr, flush=True)


# --- one tool's process -------------------------------------------------------------------------

class Worker:
    """Seen from the process that measures."""

    def __init__(self, name, tool, folder, threads):
        self.name, self.tool, self.folder, self.turns = name, tool, folder, []
        folder.mkdir()
        self.log = folder.with_name(folder.name + ".log")
        spawn = multiprocessing.get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=serve, daemon=True,
                                     args=(tool, folder, self.log, threads, theirs))
        # Set here, since they are read when torch is imported. Threads that spin while they wait
        # would measure who else uses the machine.
        openmp = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
        with variables(openmp | tool.environment):
            self.process.start()
        theirs.close()

    def turn(self, steps, number):
        """Turn 0 is not counted; the files of turn 1 are looked into."""
        try:
            self.pipe.send(steps)
            said = self.pipe.recv()
        except (EOFError, BrokenPipeError):
            sys.exit(f"{self.name} failed:\n{self.log.read_text()[-2000:]}")
        if number > 0:
            self.turns.append(said)
        if number == 1:
            self.contents = self.tool.contents(self.folder, steps)
            self.files, self.disk = on_disk(self.folder, steps)
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def end(self):
        self.pipe.close()
        self.process.join(timeout=30)

    def walls(self):
        return [wall for turn in self.turns for wall in turn["wall"]]

    def best_cpu(self):
        return min(cpu for turn in self.turns for cpu in turn["cpu"])


class variables:
    """Environment variables for a while."""

    def __init__(self, more):
        self.more = more

    def __enter__(self):
        self.before = dict(os.environ)
        os.environ.update(self.more)

    def __exit__(self, *_):
        os.environ.clear()
        os.environ.update(self.before)


def on_disk(folder, steps):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return len(files) / steps, sum(path.stat().st_size for path in files) / steps


def serve(tool, folder, log, threads, pipe):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the one that measures
    with open(log, "w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    job = gpt.Job(threads)
    tool.install(job, folder)
    step = 0
    while True:
        try:
            steps = pipe.recv()
        except EOFError:
            break
        pipe.send(timed_turn(tool, job, folder, step, steps))
        step += steps
    tool.close()


def timed_turn(tool, job, folder, first, steps):
    walls, cpus = [], []
    began = time.time()
    for step in range(first, first + steps):
        wall, cpu = time.perf_counter(), time.process_time()
        tool.begin(step)
        job.run()
        tool.end(step)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    ended = time.time()
    late = max(0.0, last_write(folder) - ended)
    return {"wall": walls, "cpu": cpus, "written": (ended - began + late) / steps}


def last_write(folder):
    """When the last file was written, once nothing has changed for half a second."""
    while True:
        files = [path.stat() for path in settled(folder)]
        latest = max((file.st_mtime for file in files), default=0.0)
        if time.time() - latest > 0.5:
            return latest
        time.sleep(0.1)


def settled(folder):
    """The files under the folder; asked again when one got its final name meanwhile."""
    while True:
        files = [path for path in folder.rglob("*") if not path.is_dir()]
        if all(path.exists() for path in files):
            return files


# --- the table ----------------------------------------------------------------------------------

def print_table(workers, options):
    nothing = workers["nothing"]
    walls = nothing.walls()
    print(f"{gpt.SHAPE}\n{options.threads} thread(s), {len(nothing.turns)} rounds of "
          f"{options.steps} steps, load {os.getloadavg()[1]:.0f}, nice {os.nice(0)}")
    print(f"step of nothing: best {1e3 * min(walls):.1f} ms, median "
          f"{1e3 * statistics.median(walls):.1f} ms, processor time "
          f"{1e3 * nothing.best_cpu():.1f} ms")
    print(f"{'tool':25} {'best':>6} {'median':>7} {'range':>13} {'written':>8} {'cpu':>6} "
          f"{'aim':>6} {'tensors':>8} {'MB_read':>8} {'MB_disk':>8} {'files':>6}")
    for worker in workers.values():
        print_row(worker, nothing)


def print_row(worker, nothing):
    factors = [statistics.median(mine["wall"]) / statistics.median(theirs["wall"])
               for mine, theirs in zip(worker.turns, nothing.turns)]
    best = min(worker.walls()) / min(nothing.walls())
    written = min(turn["written"] for turn in worker.turns) / \
        min(turn["written"] for turn in nothing.turns)
    cpu = worker.best_cpu() / nothing.best_cpu()
    tensors, size = worker.contents
    spread = f"{min(factors):.2f}-{max(factors):.2f}"
    allowed = aim(worker.name, size, min(nothing.walls()))
    print(f"{worker.name:25} {best:6.2f} {statistics.median(factors):7.2f} {spread:>13} "
          f"{written:8.2f} {cpu:6.2f} {allowed:>6} {tensors:8} "
          f"{size / 1e6:8.1f} {worker.disk / 1e6:8.1f} {worker.files:6.0f}")


def aim(name, size, step):
    if name == "nanhunt stats, modules":
        return "1.15"
    if name == "nanhunt stats":
        return f"{1.05 + size / READ_RATE / step:.2f}"
    return ""


if __name__ == "__main__":
    main()
