// SPDX-License-Identifier: Apache-2.0
// The traces that docs/golden.md looks into: eight runs of a small model on two ranks whose sums
// come out a little other each time, and two that are not healthy.
//
//   write_example_traces FOLDER [FACTOR]     FACTOR (default 1) scales a tensor of every run from
//                                            run-6 on
#include <cstdlib>
#include <limits>
#include <string>

#include "tests/compare/small_model.h"

namespace {

using namespace nanhunt::compare::test;

SmallModel model_of(int run) {
  return {.tp = 2, .steps = 2, .noise = 1e-6, .noise_seed = static_cast<uint64_t>(run)};
}

bool is_fc1(const Tap& tap) {
  return tap.site == "fc1" && tap.role == "output" && tap.step == 1 && tap.rank == 1;
}

void write(const SmallModel& model, const std::filesystem::path& folder, const char* version) {
  TraceBuilder builder = build(model);
  for (auto& rank : builder.facts()) rank.facts["torch.version"] = version;
  builder.write(folder, false);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const std::filesystem::path folder = arguments[1];
  const double factor = count > 2 ? std::atof(arguments[2]) : 1;
  for (int run = 1; run <= 6; ++run) {
    SmallModel model = model_of(run);
    model.edit = [&](const Tap& tap, Values& values) {
      if (run >= 6 && is_fc1(tap)) values = times(values, factor);
    };
    write(model, folder / ("run-" + std::to_string(run)), "2.11.0");
  }
  SmallModel scaled = model_of(7);
  scaled.edit = [](const Tap& tap, Values& values) {
    if (is_fc1(tap)) values = times(values, 1.01);
  };
  write(scaled, folder / "scaled", "2.11.0");
  SmallModel library = model_of(8);
  library.edit = [](const Tap& tap, Values& values) {
    if (tap.site == "fc2.bias") values = times(values, 1 + 1e-6);
  };
  write(library, folder / "new-library", "2.12.0");
}
