// SPDX-License-Identifier: Apache-2.0
// Runs the bundled subject as a program and reads what it recorded.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::mini {

struct MiniRun {
  std::string arguments;
  std::string fault = {};  // JSON; "" none
  trace::Level level = trace::Level::kFull;
  std::string perturbation = {};  // JSON; "" none
  int repeats = 1;
};

struct MiniResult {
  int status = -1;
  std::string output;  // stdout and stderr
};

// The trace goes into `folder`.
MiniResult run_mini(const MiniRun& run, const std::filesystem::path& folder);

// Site, phase and role.
using Place = std::tuple<std::string, trace::Phase, std::string>;
using LogicalTensors = std::map<Place, std::vector<double>>;

// All tensors of a step as TP1 would hold them: pieces laid together, partial sums and microbatches
// added, copies taken once. Needs a trace with values.
LogicalTensors logical_tensors(const trace::TraceReader& reader, int64_t step);

// Places of `reference` outside collectives and update whose tensor is missing in `other` or
// differs by more than `tolerance` times the largest |element|.
std::vector<Place> differing_places(const LogicalTensors& reference, const LogicalTensors& other,
                                    double tolerance);
std::string describe(const std::vector<Place>& places);

}  // namespace nanhunt::mini
