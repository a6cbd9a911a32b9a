// SPDX-License-Identifier: Apache-2.0
// Which elements of a collective's operand a result consists of, as their placements tell: a slice
// along any dimension, several pieces, a range of a flat buffer, in whatever order of dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/record.h"

namespace nanhunt::oracle {

// Elements [result, result + length) of the result are [operand, operand + length) of the operand,
// both in local order.
struct Part {
  int64_t result, operand, length;
};

// Sorted by `result`; what no region of the result covers, its padding, is in no part. Records of
// one shape are taken to lie alike, as those of an all-reduce do. nullopt when nothing tells: a
// placement is unknown or of another tensor, an element of the result is not in the operand, or is
// there twice.
std::optional<std::vector<Part>> parts_of_result(const trace::Record& operand,
                                                 const trace::Record& result);

}  // namespace nanhunt::oracle
