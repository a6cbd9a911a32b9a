// SPDX-License-Identifier: Apache-2.0
// Values that nothing wrote: in a run with poison (trace/capture_plan.h) they hold the bits that
// memory was filled with.
#pragma once

#include <cstdint>
#include <optional>

#include "trace/trace_reader.h"

namespace nanhunt::oracle {

// Whether the rank of that record ran with poison.
bool is_poisoned(const trace::TraceReader& reader, const trace::Record& record);

// The first element whose bits are those of the poison: all ones; in FP32 also what a BF16 or FP16
// value of all ones widens to. nullopt: none, no floating type, no values, no poison.
std::optional<int64_t> first_unwritten(const trace::TraceReader& reader,
                                       const trace::Record& record);

}  // namespace nanhunt::oracle
