// SPDX-License-Identifier: Apache-2.0
// What a run is asked to capture: the contract between the command line and the training process.
// The parent writes it as JSON and names it in the environment variable NANHUNT_CAPTURE; a process
// without the variable is not captured at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trace/dtype.h"
#include "trace/trigger.h"
#include "trace/vocabulary.h"

namespace nanhunt::trace {

// Noise at the taps that fit (calibration only). Each element x(i, j) but 0 becomes
//   x + max(relative |x|, absolute, operands s) xi + operands c
// rounded to the tensor's own type, xi uniform in [-1, 1]. Relative and absolute stand for one
// rounding of another type: its unit roundoff, half its smallest subnormal. Operands stands for the
// roundings of a product's operands, relative to their size. Those leave the error of large terms
// where the terms cancel, hence s = rms(row i) rms(column j) / rms(tensor) / sqrt(2), rows running
// along the last dimension; and a weight's are the same for all samples and tokens, hence
// c = +-x(i, p(j)) / sqrt(6), with one permutation p and one sign a column. A tensor of one row or
// one column has s = rms(tensor) and c = 0.
struct NoiseRule {
  std::string site;   // pattern as in rules_file.h, "**" = any
  std::string role;   // "" = any
  std::string phase;  // "" = any
  double relative = 0;
  double absolute = 0;
  double operands = 0;
};

struct Perturbation {
  uint64_t seed = 0;             // of the noise; runs with other seeds are independent draws
  bool ulp_parameters = true;    // move each initial parameter by one ulp of its type, up or down
  std::vector<NoiseRule> noise;  // first match wins
};

struct CapturePlan {
  std::filesystem::path out;  // trace folder
  Level level = Level::kStats;
  // Patterns captured at `full` whatever the level (level auto), and in which phases (empty = all).
  std::vector<std::string> full_sites, full_phases;
  std::vector<std::string> sites;   // patterns; empty = all
  std::vector<std::string> phases;  // names; empty = all
  std::vector<int64_t> steps;       // empty = all
  std::vector<int32_t> ranks;       // empty = all
  int64_t queue_bytes = 256 << 20;  // bound on rows and values waiting for the writer, per process
  int64_t trace_bytes = 0;          // bound on what a process writes; 0 = none
  // Watching: the last `ring` steps stay in memory and are written when a trigger fires; 0 = off,
  // every step is written. No triggers named: default_triggers().
  int32_t ring = 0;
  std::vector<Trigger> triggers;
  int64_t ring_bytes = 1 << 30;  // bound on the rows and values of the ring, per process
  // Memory that the training process takes is filled with bytes of all ones, which are NaN in every
  // floating type, so that what is read before it was written shows.
  bool poison = false;
  int32_t repeats = 1;           // calibration: the program runs this many times, one trace folder
                                 // each (out/000, out/001, ...), with seeds seed, seed + 1, ...;
                                 // repeat 0 is not perturbed
  std::optional<Perturbation> perturbation;
};

// JSON text. parse throws Error(kUsage) naming the field.
std::string to_json(const CapturePlan& plan);
CapturePlan parse_capture_plan(const std::string& json);
// From NANHUNT_CAPTURE (a file's path, or JSON that starts with a brace); nullopt when not set.
std::optional<CapturePlan> capture_plan_from_environment();

}  // namespace nanhunt::trace
