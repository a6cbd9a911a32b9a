// SPDX-License-Identifier: Apache-2.0
// Which elements two records with equal shapes do not share, by their values.
#pragma once

#include <string>

#include "trace/trace_reader.h"

namespace nanhunt::compare {

// "1 of 8192 elements differ, first [3, 14] (element 777): 0.25 against 0.5"; "" when values or
// equal shapes are missing. Elements are equal when their values are, -0 and +0 too, and NaN equals
// NaN: what then differs is in the bits alone, and "" is said as well. Reads both tensors whole.
std::string element_difference(const trace::TraceReader& reader, const trace::Record& record,
                               const trace::TraceReader& other_reader, const trace::Record& other);

}  // namespace nanhunt::compare
