// SPDX-License-Identifier: Apache-2.0
// Settings: a value for every toggle and parameter of a subject, and the command line they make.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ablate/subject.h"

namespace nanhunt::ablate {

using Settings = std::map<std::string, std::string>;

// Every toggle at its reference value, every parameter at its default.
Settings default_settings(const Subject& subject);
// Throws Error(kUsage): unknown name (nearest suggested), value that the toggle does not have.
void set_value(const Subject& subject, Settings& settings, const std::string& name,
               const std::string& value);
// Whether all that this value of the toggle needs is there.
bool needs_met(const Toggle& toggle, const std::string& value, const Settings& settings);
// What takes effect: a value whose needs are not met counts as the toggle's reference value.
Settings effective_settings(const Subject& subject, const Settings& settings);
// Names of the toggles that differ, in the order of the subject file.
std::vector<std::string> differing_toggles(const Subject& subject, const Settings& a,
                                           const Settings& b);
// "parallel.tp=2 layout.sp=on": the toggles that are not at their reference value.
std::string describe(const Subject& subject, const Settings& settings);

struct CommandLine {
  std::vector<std::string> words;
  std::map<std::string, std::string> environment;
};

// The number of ranks: product of the values of the toggles that the subject names for it; 1
// without any.
int64_t rank_count(const Subject& subject, const Settings& settings);

// How a run with these settings is repeated. A command that is told {ranks} starts that many
// processes, which would have to meet anew in each repeat: several of them are run once per repeat.
Calibrate calibration_of(const Subject& subject, const Settings& settings);

// Capsules of one run (docs/capsule.md).
struct CapsuleRequest {
  int64_t every = 0;             // steps from one to the next; 0: none is written
  std::filesystem::path resume;  // folder to go on from; empty: from the start
  int64_t resume_step = 0;
  bool parameters_alone = false;  // of what it goes on from

  bool operator==(const CapsuleRequest&) const = default;
};

// What the placeholders of one run stand for, as far as subject and settings do not tell.
struct Placeholders {
  std::filesystem::path build;
  int64_t steps = 1;
  std::filesystem::path trace;
  // Of the run; holds stdout.txt, stderr.txt and the folder `capsules`.
  std::filesystem::path folder = {};
  CapsuleRequest capsules = {};
};

// The subject's command and its check, filled in. The word {toggles} becomes the arguments of all
// toggles and parameters. Within words: {NAME} of a toggle or parameter, {build}, {steps}, {trace},
// {folder}, {stdout}, {stderr}, {ranks}, {here} (folder of the subject file), {python}
// (NANHUNT_PYTHON, else python3), {capsules} (a folder), {capsule_every}, {resume}, {resume_step}.
// Other braces stay as they are. The subject's words for capsules follow where the run asks for
// them; Error(kUsage) where it has none.
CommandLine command_line(const Subject& subject, const Settings& settings,
                         const Placeholders& placeholders);
std::vector<std::string> check_words(const Subject& subject, const Settings& settings,
                                     const Placeholders& placeholders);

}  // namespace nanhunt::ablate
