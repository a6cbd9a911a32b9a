// SPDX-License-Identifier: Apache-2.0
// What judging needs of a trace: its steps one at a time, its ranks, and values on demand. Made
// from a TraceReader, or from steps in memory (adapters, tests), which have no values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::compare {

struct TraceSource {
  std::string name;  // folder
  int32_t world_size = 1;
  std::vector<int64_t> steps;          // sorted
  std::vector<trace::RunFacts> facts;  // sorted by rank
  std::function<trace::Step(int64_t)> read_step;
  const trace::TraceReader* reader = nullptr;  // for values; nullptr: none
};

// Refers to the reader, which must outlive it.
TraceSource source_of(const trace::TraceReader& reader);

const trace::RunFacts* facts_of(const TraceSource& source, int32_t rank);

}  // namespace nanhunt::compare
