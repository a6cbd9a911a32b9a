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

struct Placeholders {
  std::filesystem::path build;
  int64_t steps = 1;
  std::filesystem::path trace;
};

CommandLine command_line(const Subject& subject, const Settings& settings,
                         const Placeholders& placeholders);

}  // namespace nanhunt::ablate
