// SPDX-License-Identifier: Apache-2.0
// What clipping by the global norm consumes, by what its records are: the norm is of all unscaled
// gradients of its number, the clip factor is of the norm, and a factor other than 1 goes into
// every clipped gradient. Links seldom tell: the norm of a large model has thousands of inputs, and
// the scalars of a Python job are told by their values alone. A norm that is of further tensors,
// which were not captured (`strangers`), is left as it is: its inputs are not all known. One rank
// at a time; only from earlier to later records, as sequence numbers have it.
#pragma once

#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::compare {

// Adds indices to the inputs of each record, by record.
void add_clip_inputs(const trace::Step& step, std::vector<std::vector<int>>& inputs);

}  // namespace nanhunt::compare
