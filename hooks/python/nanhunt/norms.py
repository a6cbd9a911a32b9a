# SPDX-License-Identifier: Apache-2.0
"""The gradient norms that a job takes in a step, told apart by numbers: 0, 1, ..."""


def is_partial(norm):
    """A DTensor: its ranks have parts of it, or copies."""
    return hasattr(norm, "placements")


class Norms:
    def __init__(self, session):
        self.session = session
        self.step = -1
        # (norm, norm_type, strangers) of this step; keeps norms alive, as identity tells.
        self.taken = []

    def new(self, norm, norm_type, strangers=0):
        """strangers: tensors that it is of and that are no gradients of the captured model."""
        if self.step != self.session.step:
            self.step, self.taken = self.session.step, []
        self.taken.append((norm, norm_type, strangers))
        return len(self.taken) - 1

    def number_of(self, norm):
        """None: it is not one that was taken in this step."""
        if self.step != self.session.step:
            return None
        found = [number for number, (taken, *_) in enumerate(self.taken) if taken is norm]
        return found[-1] if found else None

    def whole_of_partial(self):
        """The number of this step's only norm, when that was partial: what the job clips by is
        that one, reduced.
        """
        alone = self.step == self.session.step and len(self.taken) == 1
        return 0 if alone and is_partial(self.taken[0][0]) else None

    def told(self, number):
        """Attributes. Those of a step's first norm by the sum of squares are left out."""
        _, norm_type, strangers = self.taken[number]
        return ({"norm": number} if number else {}) | \
            ({"norm_type": str(norm_type)} if norm_type != 2.0 else {}) | \
            ({"strangers": strangers} if strangers else {})
