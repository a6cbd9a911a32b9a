// SPDX-License-Identifier: Apache-2.0
#include "compare/trace_source.h"

namespace nanhunt::compare {

TraceSource source_of(const trace::TraceReader& reader) {
  TraceSource source;
  source.name = reader.folder().string();
  source.world_size = reader.world_size();
  source.steps = reader.steps();
  source.facts = reader.facts();
  source.read_step = [&reader](int64_t step) { return reader.read_step(step); };
  source.reader = &reader;
  return source;
}

const trace::RunFacts* facts_of(const TraceSource& source, int32_t rank) {
  for (const auto& facts : source.facts) {
    if (facts.rank == rank) return &facts;
  }
  return nullptr;
}

}  // namespace nanhunt::compare
