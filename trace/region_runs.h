// SPDX-License-Identifier: Apache-2.0
// The part of a region that falls into a window of the logical tensor, as runs that lie packed in
// the local one: the order in which its values are read from a file.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trace/placement.h"

namespace nanhunt::trace {

// Local elements [local, local + length); element i is logical element logical + i * stride, in
// row-major order.
struct Run {
  int64_t local = 0, logical = 0, stride = 1, length = 0;
};

// Calls visit for the runs whose logical elements are in [begin, end), local starts ascending. A
// run never leaves the window; parts of the region outside cost next to nothing.
void for_each_run(const Placement& placement, const std::vector<int64_t>& local_shape,
                  const Region& region, int64_t begin, int64_t end,
                  const std::function<void(const Run&)>& visit);

}  // namespace nanhunt::trace
