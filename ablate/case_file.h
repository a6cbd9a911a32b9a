// SPDX-License-Identifier: Apache-2.0
// A case: a failing (or healthy) step that can be run again. Which subject, at what level, for how
// many steps, with which toggles on the failing side and on the reference side.
// Whatever a file says of a planted fault and of the verdict to expect is not read here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ablate/settings.h"
#include "ablate/subject.h"

namespace nanhunt::ablate {

// auto: statistics everywhere, then values around the first bad.
enum class CaseLevel { kStats, kFull, kAuto };

// Section [convergence]: runs of several seeds (docs/repro.md). What it does not say is empty.
struct ConvergenceKeys {
  std::optional<int64_t> seeds, same;      // pairs that are judged; A/A pairs
  std::optional<int64_t> steps;            // of each run
  std::vector<std::string> margin, metrics;  // words, read where the level is judged
  std::string loss;                        // site of the loss
};

// What `nanhunt repro` asks of the case where the command line does not say.
enum class Question { kResume, kLayouts, kAgain, kUpgrade };

struct Case {
  std::filesystem::path path;
  std::string name;  // of the file, without its ending
  Subject subject;
  CaseLevel level = CaseLevel::kAuto;
  int64_t steps = 1;
  bool poison = false;  // trace/capture_plan.h, on both sides
  double timeout_s = 60;
  Settings failing;
  Settings reference;
  std::map<std::string, double> thresholds;  // overrides
  std::vector<std::string> intended;         // keys of semantic changes that are meant
  Question repro = Question::kResume;
  CapsuleRequest capsule;                    // that all runs go on from, where the case has one
  ConvergenceKeys convergence;
};

// The file itself, or the same name with ".case" added; Error(kUsage) naming what was looked for.
std::filesystem::path find_case(const std::string& name);
// Throws Error(kUsage) with file and line.
Case read_case(const std::filesystem::path& path);
// One "NAME=VALUE" from the command line: toggles of the failing side, parameters of both sides.
void apply_setting(Case& the_case, const std::string& assignment);
// The same for a toggle of the reference side.
void apply_reference_setting(Case& the_case, const std::string& assignment);
Question question_from_name(const std::string& name);     // Error(kUsage)
CaseLevel case_level_from_name(const std::string& name);  // Error(kUsage)

}  // namespace nanhunt::ablate
