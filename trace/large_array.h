// SPDX-License-Identifier: Apache-2.0
// Room for many numbers. Where the system gives memory in small pages, an array of some MiB costs
// more in page faults than in the arithmetic on it; huge pages are asked for, and taken where there
// are some.
#pragma once

#include <cstddef>
#include <vector>

namespace nanhunt::trace {

// Makes `array` one of `count` elements, with any values: those it had may be lost. Memory that it
// has already is used again.
void resize_for_overwrite(std::vector<double>& array, size_t count);

}  // namespace nanhunt::trace
