# SPDX-License-Identifier: Apache-2.0
"""Which parameter a number of an optimizer's state means. torch.optim numbers parameters in the order
of its groups and saves no names; so names come from the model, and only where one assignment is
possible at all:

  the groups say them (`param_names`), or the state is by name already
  the order of the model's parameters is known (a state_dict that torch.save wrote): each group takes
  some of them in that order, shapes agree for each, and no second way does
  no order is known (safetensors sorts by name): a shape that exactly one parameter and exactly one
  state has

Everything else stays a number.
"""

_BUFFERS = ("running_mean", "running_var", "num_batches_tracked")
_MOST_STATES = 20000


def names_by_order(groups, shapes, model):
    """groups: lists of numbers. shapes: number -> shape. model: [(name, shape)] in the order of its
    parameters. {number: name}, or None when no way or several ways fit.

    A walk over the model's parameters; a state of the walk is how far each group has come. Of each
    only one predecessor is kept, and whether there are several.
    """
    if any(number not in shapes for group in groups for number in group):
        return None
    if sum(map(len, groups)) != len(model):
        return None
    layers = [{(0,) * len(groups): (False, None, None)}]
    for name, shape in model:
        reached = {}
        for place, (several, _, _) in layers[-1].items():
            for index, group in enumerate(groups):
                if place[index] == len(group) or shapes[group[place[index]]] != shape:
                    continue
                after = place[:index] + (place[index] + 1,) + place[index + 1:]
                known = after in reached
                reached[after] = (several or known, place, index)
        if not reached or len(reached) > _MOST_STATES:
            return None
        layers.append(reached)
    place = tuple(map(len, groups))
    if place not in layers[-1] or layers[-1][place][0]:
        return None
    names = {}
    for (name, _), layer in zip(reversed(model), reversed(layers[1:])):
        _, before, index = layer[place]
        names[groups[index][before[index]]] = name
        place = before
    return names


def names_by_shape(groups, shapes, model):
    """{number: name} of shapes that one parameter and one state have."""
    numbers = [number for group in groups for number in group]
    if any(number not in shapes for number in numbers):
        return {}  # any of the model's could be the one without a state
    names = {}
    for number in numbers:
        alike = [other for other in numbers if shapes[other] == shapes[number]]
        fits = [name for name, shape in model if shape == shapes[number]]
        if len(alike) == len(fits) == 1:
            names[number] = fits[0]
    return names


def names_of(optimizer, model, ordered):
    """{number: name} of an optimizer's state_dict. model: {name: tensor}; `ordered`: its order is
    that of the parameters."""
    groups = [list(group["params"]) for group in optimizer["param_groups"]]
    said = {}
    for group, numbers in zip(optimizer["param_groups"], groups):
        names = group.get("param_names")
        if names is not None and len(names) == len(numbers):
            said.update(zip(numbers, names))
    if len(said) == sum(map(len, groups)):
        return said
    shapes = {number: shape for number, state in optimizer["state"].items()
              if (shape := shape_of(state)) is not None}
    parameters = [(name, tuple(tensor.shape)) for name, tensor in model.items()
                  if tensor.dtype.is_floating_point and name.split(".")[-1] not in _BUFFERS]
    if ordered:
        return names_by_order(groups, shapes, without_ties(parameters, model)) or {}
    return names_by_shape(groups, shapes, parameters)


def shape_of(state):
    """Of the moments: what is no counter. None without one, and where they disagree."""
    shapes = {tuple(value.shape) for role, value in state.items()
              if hasattr(value, "shape") and role != "step"}
    return shapes.pop() if len(shapes) == 1 else None


def without_ties(parameters, model):
    """A tied parameter is in a state_dict under each of its names, and one in the optimizer."""
    seen, kept = set(), []
    for name, shape in parameters:
        tensor = model[name]
        if hasattr(tensor, "data_ptr") and tensor.numel() > 0:
            place = (tensor.data_ptr(), shape, tensor.stride())
            if place in seen:
                continue
            seen.add(place)
        kept.append((name, shape))
    return kept
