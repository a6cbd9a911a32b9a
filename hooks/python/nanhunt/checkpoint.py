# SPDX-License-Identifier: Apache-2.0
"""python -m nanhunt.checkpoint CHECKPOINT OUT: a checkpoint of another program as a capsule
(docs/checkpoints.md). CHECKPOINT: a file of torch.save or safetensors, or a folder of such files, of
a Hugging Face Trainer, or of torch.distributed.checkpoint. OUT: a new folder.

Nothing that can run code is opened (foreign_files.py). Exit status: 0 written, 2 usage, 3 a file
that cannot be read. OUT/conversion.json says what was read, what was not, and what nobody could map.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import shutil
import sys

import torch

from . import capsule, library, mesh as meshes, placement
from .foreign_files import METADATA, PICKLES, Refused, read_dcp, read_safetensors, read_torch
from .foreign_state import State, Stored, number_of

MANIFEST = "conversion.json"


def convert(checkpoint, out, replicated=False, pickles_only=False):
    """Writes OUT and returns what OUT/conversion.json says:
      capsules: [{"folder", "files", "by_rank", "tensors"}]: the first in OUT itself. Files that hold the same
        names (by rank, or a second copy) are a capsule each, as nothing says whether those are
        copies or slices
      not_read: what no capsule holds, with the reason; notes: what could not be mapped, or has no
        known kind
    replicated: files by rank are copies (DDP): one capsule of as many ranks.
    pickles_only: safetensors serve to map moments, and are not written.
    Raises Refused; then OUT holds nothing.
    """
    checkpoint, out = pathlib.Path(checkpoint), pathlib.Path(out)
    if not checkpoint.exists():
        raise Refused(f"{checkpoint}: no such file or folder")
    if out.exists() and any(out.iterdir()):
        raise Refused(f"{out}: is not empty")
    library.load()
    report = {"checkpoint": str(checkpoint), "capsules": [], "not_read": [], "notes": []}
    parts = gather(checkpoint, report)
    if pickles_only:
        parts = [part for part in parts if part.of_pickles]
    if not parts and not pickles_only:
        raise Refused(f"{checkpoint}: nothing that can be read"
                      + "".join(f"; {line}" for line in report["not_read"][:1]))
    step = max((part.step() for part in parts), default=0)
    ranks = [part for part in parts if part.by_rank] if replicated else []
    if replicated and len(ranks) < 2:
        raise Refused(f"{checkpoint}: --replicated: no files by rank")
    above = checkpoint.parent if checkpoint.is_file() else checkpoint
    try:
        for part in parts:
            folder = "" if part in ranks else part.folder
            count = write(part, out / folder, step, ranks.index(part) if part in ranks else 0,
                          len(ranks) if part in ranks else 1, pickles_only)
            report["notes"] += [note.replace(f"{above}{os.sep}", "", 1) for note in part.state.notes]
            if count:
                report["capsules"].append({
                    "folder": folder, "tensors": count,
                    "by_rank": part.by_rank and name_below(checkpoint, part.by_rank),
                    "files": [name_below(checkpoint, file) for file in part.files
                              if not (pickles_only and file.suffix == ".safetensors")]})
        out.mkdir(parents=True, exist_ok=True)
        (out / MANIFEST).write_text(json.dumps(report, indent=1) + "\n")
    except BaseException:
        for made in out.glob("*"):
            shutil.rmtree(made, ignore_errors=True)
        raise
    return report


class Part:
    """Files that together hold each thing once."""

    def __init__(self, folder):
        self.folder, self.state, self.files = folder, State(), []
        self.of_pickles, self.by_rank = False, ""

    def step(self):
        said = [number_of(value).item() for name, (value, _) in self.state.cursor.items()
                if name in ("global_step", "step", "iteration")]
        return int(max([value for value in said if value >= 0], default=0))


# --- reading --------------------------------------------------------------------------------------


def gather(checkpoint, report):
    parts = [Part("")]
    files = [checkpoint] if checkpoint.is_file() else sorted(
        (path for path in checkpoint.rglob("*") if path.is_file()), key=natural)
    dcp = {path.parent for path in files if path.name == METADATA}
    if not checkpoint.is_file():
        check_indices(files)
        check_counted(files)
    for folder in sorted(dcp):
        tree, refused = read_dcp(folder)
        report["not_read"] += [f"{name_below(checkpoint, folder)}: {key}: {why}"
                               for key, why in refused]
        take(parts, tree, folder, True, False, False)
    several = {shape for shape in map(shape_of, files)
               if sum(shape == shape_of(other) for other in files) > 1}
    for file in files:
        if file.parent in dcp:
            continue
        try:
            if file.suffix == ".safetensors":
                take(parts, read_safetensors(file), file, False, False, shape_of(file) in several)
            elif file.suffix in PICKLES:
                take(parts, read_torch(file), file, True, shape_of(file) not in several,
                     shape_of(file) in several)
            elif file.name == "trainer_state.json":
                read_trainer(parts[0].state, file)
        except Refused as error:
            if file.suffix not in PICKLES or file == checkpoint or "more than numbers" not in str(error):
                raise
            report["not_read"].append(str(error).replace(str(file), name_below(checkpoint, file), 1))
    return [part for part in parts if part.files]


def take(parts, tree, file, pickled, ordered, by_rank):
    state = State()
    state.add(tree, file, ordered)
    part = parts[0]
    others = by_rank and any(shape_of(other) == shape_of(file) and not is_counted(file)
                             for other in part.files)
    if part.state.names() & state.names() or (others and (state.models or state.optimizers)):
        part = Part(f"parts/{len(parts):03d}")
        parts.append(part)
    elif others:  # streams of each rank
        state.documents = {(f"{site}.{'.'.join(re.findall('[0-9]+', file.stem))}", role): value
                           for (site, role), value in state.documents.items()}
    if by_rank and not is_counted(file) and (state.models or state.optimizers):
        part.by_rank = file
    merge_models(part.state, state)
    part.files.append(file)
    part.of_pickles |= pickled


def merge_models(state, other):
    """A model in several files is one model, whose order nothing says."""
    for path in set(state.models) & set(other.models):
        other.models[path] = {**state.models[path], **other.models[path]}
        other.ordered[path] = False
    state.merge(other)


def read_trainer(state, file):
    try:
        said = json.loads(file.read_text())
        for name in ("global_step", "epoch"):
            if isinstance(said.get(name), (int, float)):
                state.cursor[name] = (said[name], file)
    except (ValueError, AttributeError):
        raise Refused(f"{file}: is no JSON of a Trainer") from None


def check_indices(files):
    """Each index names files that are there and hold what it says, no less and no more."""
    for index in files:
        if not index.name.endswith(".bin.index.json"):
            continue
        try:
            named = json.loads(index.read_text())["weight_map"]
            by_file = {file: {name for name in named if named[name] == file}
                       for file in set(named.values())}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Refused(f"{index}: is no index") from None
        for name, wanted in sorted(by_file.items()):
            file = index.parent / name
            if file not in files:
                raise Refused(f"{file}: is missing, the index {index.name} names it")
            held = set(read_torch(file))
            for odd in sorted(wanted ^ held):
                raise Refused(f"{file}: tensor {odd}: " + (
                    f"is not in this file, and the index {index.name} says so" if odd in wanted
                    else f"the index {index.name} does not name it"))


def check_counted(files):
    sets = {}
    for file in files:
        if file.suffix in PICKLES and is_counted(file):
            sets.setdefault(re.sub(r"[0-9]+(?=-of-)", "*", str(file)), []).append(file)
    for name, found in sets.items():
        count = int(re.search(r"-of-([0-9]+)", name).group(1))
        if len(found) != count:
            raise Refused(f"{name}: {len(found)} files are there of {count}")


def is_counted(file):
    return re.search(r"[0-9]+-of-[0-9]+", file.name) is not None


def shape_of(path):
    return re.sub("[0-9]+", "#", str(path))


def natural(path):
    return [int(part) if part.isdigit() else part for part in re.split("([0-9]+)", str(path))]


def name_below(root, path):
    return path.name if path == root else str(path.relative_to(root))


# --- writing --------------------------------------------------------------------------------------


def write(part, folder, step, rank, ranks, pickles_only):
    """The number of tensors written. A capsule that is not whole afterwards is an error."""
    mesh = {"dp": [ranks, rank]} if ranks > 1 else {}
    facts = json.dumps({"rank": rank, "world_size": ranks, "mesh": mesh, "facts": {
        **meshes.describe(), "converted": ", ".join(file.name for file in part.files)}})
    kinds, rows = {axis: "replicated" for axis in mesh}, rows_of(part, pickles_only)
    first = next(rows, None)
    if first is None:
        return 0
    writer = torch.classes.nanhunt.Capsules(json.dumps({"folder": str(folder), "run": RUN}), facts)
    try:
        writer.begin(step)
        count = 0
        for row in itertools.chain([first], rows):
            put(writer, row, kinds)
            count += 1
        writer.end()
    finally:  # what it still writes comes before anybody removes the folder
        writer.close()
    if ranks == 1:
        torch.classes.nanhunt.Capsule(str(folder), step, facts)  # raises where it is not whole
    return count


def rows_of(part, pickles_only):
    seen = {}
    for row in part.state.rows():
        if pickles_only and row.file.suffix in (".safetensors", ".json"):
            continue
        if (row.site, row.role) in seen:
            raise Refused(f"{row.file}: tensor {row.site} {row.role}: is also in "
                          f"{seen[row.site, row.role]}")
        seen[row.site, row.role] = row.file
        yield row


def put(writer, row, kinds):
    tensor = row.tensor.load() if isinstance(row.tensor, Stored) else row.tensor
    name = f"{row.file}: tensor {row.site} {row.role}"
    if hasattr(tensor, "_local_tensor"):
        raise Refused(f"{name}: one rank's part of a distributed tensor; save with "
                      "torch.distributed.checkpoint")
    tensor = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()
    said = capsule.point(row.site, row.role, placement.whole(tensor.shape, kinds))
    if not writer.add(said, tensor):
        raise Refused(f"{name}: {tensor.dtype} is no type that a capsule holds")


RUN = capsule.run_number()


def main():
    parser = argparse.ArgumentParser(prog="python -m nanhunt.checkpoint",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("checkpoint")
    parser.add_argument("out", help="a new folder")
    parser.add_argument("--replicated", action="store_true",
                        help="files by rank are copies: one capsule of as many ranks")
    parser.add_argument("--pickles-only", action="store_true",
                        help="do not write what lies in safetensors")
    options = parser.parse_args()
    try:
        report = convert(options.checkpoint, options.out, options.replicated, options.pickles_only)
    except Refused as error:
        print(f"nanhunt: {error}", file=sys.stderr)
        return 3
    for part in report["capsules"]:
        folder = pathlib.Path(options.out) / part["folder"]
        print(f"{folder}: {part['tensors']} tensors of {', '.join(part['files'])}")
    for line in report["not_read"]:
        print(f"not read: {line}")
    for line in report["notes"]:
        print(f"note: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
