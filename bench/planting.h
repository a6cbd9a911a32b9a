// SPDX-License-Identifier: Apache-2.0
// A fault in a copy of a trace: other values in one record, with the statistics and fingerprints
// that they have. Nothing downstream is changed.
#pragma once

#include <filesystem>

#include "bench/stored_values.h"
#include "trace/trace_reader.h"

namespace nanhunt::bench {

// The reader's trace again in folder `to`, which is emptied first, with these values (local order,
// as the record's type holds them) in that record of that step. Values are there where they were.
void plant(const trace::TraceReader& reader, const trace::Step& step, const trace::Record& target,
           const Values& values, const std::filesystem::path& to);

}  // namespace nanhunt::bench
