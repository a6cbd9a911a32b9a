# SPDX-License-Identifier: Apache-2.0
"""How tensor parallelism cuts the channels of the activations of a microbatch.

Told, in this order, by a DTensor that the module gives, by the module's own weight, and for a
tensor that no weight tells of by the records whose values are in it. A style is (kind, start,
logical size) of what is neither sample nor token; None: not known. Asked on one rank as well, where
all is whole: which inputs are recorded must not depend on the layout.
"""

import collections
import weakref

from . import activations

Known = collections.namedtuple("Known", "tensor version style")  # tensor: weak, or it lived on


class Styles:
    def __init__(self, session):
        self.session = session
        self.shown = {}  # id(module) -> DTensor that it gave, from the hook that comes first
        self.recorded = {}  # id(tensor) -> Known
        self.widths = {}  # site -> (width, style) of its tensors

    def clear(self):
        for each in (self.shown, self.recorded, self.widths):
            each.clear()

    def show(self, module, tensor):
        self.shown[id(module)] = tensor

    def remember(self, site, value, style):
        self.recorded[id(value)] = Known(weakref.ref(value), value._version, style)
        if style is not None:
            self.widths.setdefault(site, []).append((self.width(value), style))

    def known(self, value):
        """What was remembered of that very tensor, unless it was changed since."""
        known = self.recorded.get(id(value))
        if known is None or known.tensor() is not value or known.version != value._version:
            return None
        return known

    def of_output(self, module, value):
        shown = self.by_placements(module, value)
        if shown is not None:
            return shown
        said = self.said(module, value, given=False)
        if said is not None or getattr(module, "weight", None) is not None:
            return said
        return self.by_flow(value)

    def by_placements(self, module, value):
        shown = self.shown.get(id(module))
        if shown is None or tuple(shown._local_tensor.shape) != tuple(value.shape):
            return None
        for dimension, place in enumerate(shown.placements):
            if self.session.axis_of(shown.device_mesh, dimension) != "tp":
                continue
            if place.is_shard() and place.dim % shown.dim() == shown.dim() - 1:
                return ("shard", value.shape[-1] * self.session.mesh.at("tp"), shown.shape[-1])
        return None

    def said(self, module, value, given):
        """By the module's weight; given: of its input, not of its output."""
        if value.dim() == 0:
            return None
        return activations.style_of(module, value.shape[-1], self.session.mesh,
                                    self.session.axis_of, given)

    def by_flow(self, value):
        """When all records in the tensor that are as wide are cut alike: samples and tokens may
        have been moved since, heads taken apart.
        """
        width = self.width(value)
        found = {style for site in self.session.job.sources(value)
                 for known, style in self.widths.get(site, ()) if known == width}
        return found.pop() if len(found) == 1 else None

    def width(self, value):
        return activations.width_of(value.shape, self.session.batch, self.session.mesh.extent("tp"))
