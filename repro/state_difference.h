// SPDX-License-Identifier: Apache-2.0
// How two tensors of state differ, in words.
#pragma once

#include <string>

#include "oracle/logical.h"

namespace nanhunt::repro {

// One side; refers to what it is made of.
struct StateSide {
  const trace::Step& step;
  const trace::TraceReader& reader;
  const oracle::Logical& logical;
};

// Of equal shapes and types. Reads both sides' values.
std::string describe_values(const StateSide& a, const StateSide& b);

}  // namespace nanhunt::repro
