# SPDX-License-Identifier: Apache-2.0
"""What the nested dicts of a checkpoint mean, and the rows of a capsule that say the same.

Told by form, not by the name of the key: a model is a mapping from names to tensors, an optimizer
has `state` and `param_groups`, a schedule `last_epoch`, a scaler `growth_tracker`. Random streams and
cursors are told by name. What is none of these is carried as a setting, and listed.
"""

import collections
import json

import torch

from . import capsule
from .foreign_files import Refused, Stored
from .names import site_of
from .parameter_order import _BUFFERS, names_of

_MODELS = ("model", "model_state_dict", "state_dict", "module", "net")
_CURSORS = ("epoch", "step", "global_step", "steps", "iteration", "iter", "consumed_samples",
            "consumed_train_samples", "tokens_seen")
_OF_PARAMETER_SHAPE = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer", "master_param")

Row = collections.namedtuple("Row", "site role tensor file")


def is_tensor(value):
    return isinstance(value, (torch.Tensor, Stored))


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def leaves(tree, path=()):
    """(path, value) of a tree of dicts."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from leaves(value, (*path, str(key)))
    else:
        yield path, tree


def is_model(tree):
    values = [value for _, value in leaves(tree)] if isinstance(tree, dict) else []
    return bool(values) and all(map(is_tensor, values)) and any(
        value.dtype.is_floating_point and len(value.shape) > 0 for value in values)


def as_optimizer(tree):
    """{"state", "param_groups"} of an optimizer's state, also of one that DCP has flattened into
    "state.NAME.ROLE" and "param_groups.NAME.SETTING"; None of anything else."""
    if not isinstance(tree, dict) or not tree:
        return None
    if isinstance(tree.get("state"), dict) and "param_groups" in tree:
        groups = tree["param_groups"]
        groups = list(groups.values()) if isinstance(groups, dict) else groups
        whole = isinstance(groups, list) and all(
            isinstance(group, dict) and "params" in group for group in groups)
        return {"state": tree["state"], "param_groups": groups} if whole else None
    if not all(isinstance(key, str) and key.split(".")[0] in ("state", "param_groups")
               for key in tree):
        return None
    state, groups = {}, {}
    for key, value in tree.items():
        first, _, rest = key.partition(".")
        name, _, role = rest.rpartition(".")
        if not name:
            return None
        (state if first == "state" else groups).setdefault(name, {})[role] = value
    return {"state": state, "param_groups": [
        {**settings, "params": [name], "name": name} for name, settings in groups.items()]}


def is_scaler(tree):
    return isinstance(tree, dict) and "scale" in tree and "growth_tracker" in tree


def is_schedule(tree):
    return isinstance(tree, dict) and "last_epoch" in tree


def is_streams(tree):
    """Random streams in a file of their own, as the Trainer writes them."""
    return isinstance(tree, dict) and "python" in tree and "cpu" in tree


def is_one_thing(tree):
    """Of the whole of a file; {"model": {...}} is a dict with a model in it."""
    flat = is_model(tree) and any(map(is_tensor, tree.values()))
    return (flat or as_optimizer(tree) is not None or is_scaler(tree) or is_schedule(tree)
            or is_streams(tree))


class State:
    """Of one or several files that together hold each thing once."""

    def __init__(self):
        self.models = {}  # path -> {name: tensor}
        self.ordered = {}  # path -> its order is that of the parameters
        self.optimizers = {}  # path -> {"state", "param_groups"}
        self.file_of = {}  # path -> file
        self.documents = {}  # (site, role) -> (value, file)
        self.cursor = {}
        self.settings = {}
        self.notes = []

    # --- reading ------------------------------------------------------------------------------

    def add(self, tree, file, ordered=False):
        """ordered: tensors come in the order in which a state_dict had them."""
        if not isinstance(tree, dict) or is_one_thing(tree):
            self._one((), tree, file, ordered)
            return
        own = {key: value for key, value in tree.items() if is_tensor(value)
               and value.dtype.is_floating_point and len(value.shape) > 0 and not is_random(key)}
        if own:
            self._model((), own, file, ordered)
        for key, value in tree.items():
            if key not in own:
                self._one((str(key),), value, file, ordered)

    def _one(self, path, value, file, ordered):
        name = path[-1] if path else ""
        optimizer = as_optimizer(value)
        if optimizer is not None:
            self.optimizers[path] = optimizer
            self.file_of[("optimizer", path)] = file
        elif is_random(name) or is_streams(value):
            self._random(value if isinstance(value, dict) else {"cpu": value}, file)
        elif is_model(value):
            self._model(path, value, file, ordered)
        elif is_scaler(value):
            self.documents["scaler", "state"] = (value, file)
        elif is_schedule(value):
            self.documents["schedule", "state"] = (value, file)
        elif name in _CURSORS and (is_number(value) or is_scalar(value)):
            self.cursor[name] = (value, file)
        elif isinstance(value, dict) and value:
            for key, inner in value.items():
                self._one((*path, str(key)), inner, file, ordered)
        elif not isinstance(value, dict) and value is not None:
            self.settings[".".join(path) or "value"] = (value, file)

    def _model(self, path, tree, file, ordered):
        self.models[path] = {".".join(names): value for names, value in leaves(tree)}
        self.ordered[path] = ordered
        self.file_of["model", path] = file

    def _random(self, streams, file):
        for name, value in streams.items():
            site = f"rng.{name}"
            if isinstance(value, list) and value and all(map(is_tensor, value)):  # one a device
                for index, stream in enumerate(value):
                    self.documents[site if index == 0 else f"{site}.{index}", "state"] = (stream, file)
            else:
                self.documents[site, "state"] = (value, file)

    def merge(self, other):
        for mine, its in zip(self._parts(), other._parts()):
            mine.update(its)
        self.notes += other.notes

    def _parts(self):
        return (self.models, self.ordered, self.optimizers, self.file_of, self.documents,
                self.cursor, self.settings)

    def names(self):
        """What two files must not both hold, to be of one state."""
        return {(path, name) for path, model in self.models.items() for name in model} | {
            ("optimizer", path) for path in self.optimizers}

    # --- rows ---------------------------------------------------------------------------------

    def main(self):
        """Path of the model whose names need no prefix; None where none is that one."""
        for wanted in ((), *((name,) for name in _MODELS)):
            if wanted in self.models:
                return wanted
        return next(iter(self.models)) if len(self.models) == 1 else None

    def site(self, path, name):
        names = self.models.get(path, {})
        if names and all(key.startswith("module.") for key in names):
            name = name.removeprefix("module.")
        return ".".join((*(() if path == self.main() else path), site_of(name)))

    def rows(self):
        for path, model in self.models.items():
            for name, tensor in model.items():
                number = tensor.dtype.is_floating_point or tensor.dtype.is_complex
                buffer = name.split(".")[-1] in _BUFFERS or not number
                yield Row(self.site(path, name), "buffer" if buffer else "param", tensor,
                          self.file_of["model", path])
        for number, (path, optimizer) in enumerate(self.optimizers.items()):
            yield from self._moments(path, optimizer)
            yield from self._groups("optimizer" if number == 0 else f"optimizer.{number}", path,
                                    optimizer)
        for (site, role), (value, file) in self.documents.items():
            yield Row(site, role, value if is_tensor(value) else as_json_bytes(value), file)
        for name, (value, file) in self.cursor.items():
            yield Row("data", name, number_of(value), file)
        for name, (value, file) in self.settings.items():
            scalar = is_number(value) or is_scalar(value)
            yield Row("settings", name, value if is_tensor(value) and not scalar else
                      number_of(value) if scalar else as_json_bytes(value), file)
            self.notes.append(f"{file}: {name}: of no known kind, carried as a setting")

    def _mapping(self, path, optimizer):
        """{number or name of the state: (path of the model, name)}."""
        state = optimizer["state"]
        if state and all(isinstance(key, str) and not key.isdigit() for key in state):
            main = self.main()
            owners = {name: at for at, model in self.models.items() for name in model}
            return {key: (owners.get(key, main), key) for key in state
                    if key in owners or not self.models}
        optimizer["state"] = state = {int(key): value for key, value in state.items()}
        fits = [(at, found) for at, model in self.models.items()
                if (found := names_of(optimizer, model, self.ordered[at]))]
        if len(fits) != 1:
            return {}
        return {number: (fits[0][0], name) for number, name in fits[0][1].items()}

    def _moments(self, path, optimizer):
        file = self.file_of["optimizer", path]
        mapping = self._mapping(path, optimizer)
        unmapped = [key for key in optimizer["state"] if key not in mapping]
        if unmapped:
            self.notes.append(
                f"{file}: state of {len(unmapped)} of {len(optimizer['state'])} parameters is "
                f"unmapped ({', '.join(map(str, unmapped[:4]))}{', ...' if unmapped[4:] else ''}): "
                "nothing says which parameter it belongs to; carried as unmapped.NUMBER")
        for key, state in optimizer["state"].items():
            at, name = mapping.get(key, (None, None))
            site = self.site(at, name) if name is not None else ".".join(
                ("unmapped", *(part for part in path if len(self.optimizers) > 1), str(key)))
            parameter = self.models.get(at, {}).get(name)
            for role, value in state.items():
                if is_number(value) or is_scalar(value):
                    yield Row(site, role, number_of(value), file)
                elif is_tensor(value):
                    check_shape(file, site, role, value, parameter)
                    yield Row(site, role, value, file)
                elif value is not None:
                    self.settings[f"{site}.{role}"] = (value, file)

    def _groups(self, prefix, path, optimizer):
        file = self.file_of["optimizer", path]
        for index, group in enumerate(optimizer["param_groups"]):
            loaded = {name: number_of(value).item() if is_scalar(value) else value
                      for name, value in group.items()}
            for role, value in capsule.group_numbers(loaded).items():
                yield Row(f"{prefix}.groups.{group.get('name', index)}", role,
                          capsule.number(value), file)


def is_random(name):
    return "rng" in name or "random_state" in name


def is_scalar(value):
    return is_tensor(value) and len(value.shape) == 0


def number_of(value):
    return capsule.number(value.load() if isinstance(value, Stored) else value)


def check_shape(file, site, role, value, parameter):
    if parameter is None or role not in _OF_PARAMETER_SHAPE:
        return
    if tuple(value.shape) != tuple(parameter.shape):
        raise Refused(f"{file}: tensor {site} {role}: shape {list(value.shape)}, and the parameter "
                      f"has {list(parameter.shape)}")


def as_json_bytes(value):
    return capsule.as_bytes(json_of(value))


def json_of(value):
    """As lists and numbers; NaN and Inf as Python's JSON writes them."""
    if isinstance(value, Stored):
        value = value.load()
    if hasattr(value, "tolist"):  # torch and numpy
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): json_of(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [json_of(inner) for inner in value]
    try:
        json.dumps(value)
        return value
    except TypeError:
        return str(value)
