// SPDX-License-Identifier: Apache-2.0
// The subject: the program under test, always a command. A template that is split like a shell's
// words (no shell runs it), and a table of toggles, as data. Read from an options file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nanhunt::ablate {

// A value of a toggle has an effect only where another toggle has one of these values:
// `needs = on: parallel.tp = 2 4`, `needs = storage: parallel.tp = 2 4 | parallel.dp = 2`.
// The alternatives are joined by or; several `needs` of one value by and.
struct Need {
  std::string value;  // of this toggle
  std::vector<std::pair<std::string, std::vector<std::string>>> alternatives;
};

struct Toggle {
  std::string name;
  std::vector<std::string> values;
  std::string reference;
  std::string argument;     // word of the command line with {value}; "" when `environment` is used
  std::string environment;  // name of an environment variable
  std::string environment_value;  // with {value}
  std::string effective;  // reader expression (effective.h); "" = cannot be read from a trace
  // What the expression yields for each value; a value without an entry is yielded as itself, or as
  // yes and no for on and off.
  std::map<std::string, std::vector<std::string>> effective_values;
  std::vector<std::string> moves;  // toggles whose effect goes with it
  std::vector<Need> needs;
};

// A setting that both sides share: it is no candidate for the cause.
struct Parameter {
  std::string name;
  std::string default_value;
  std::string argument;  // with {value}; left out of the command line when the value is ""
};

// What tells a failing run from a healthy one.
enum class FailureTest {
  kVerdict,  // what the comparison of traces finds
  kExit,     // the exit status of the command
  kCheck,    // the exit status of a check that runs after it
};

// How the reference is repeated for a calibration.
enum class Calibrate {
  kProcess,  // one child process that repeats
  kRuns,     // one run of the command per repeat
};

struct Subject {
  std::filesystem::path path;
  std::vector<std::string> command;  // words with placeholders, see settings.h
  FailureTest failure = FailureTest::kVerdict;
  std::vector<std::string> check;  // words with placeholders, for kCheck
  // Words that make the command write capsules, with {capsules} and {capsule_every}, and go on from
  // one, with {resume} and {resume_step}. Empty: it does neither.
  std::vector<std::string> capsules, resume;
  std::vector<std::string> resume_parameters;  // the same with the parameters of it alone
  std::vector<std::string> ranks;  // toggles whose values' product is the number of ranks
  Calibrate calibrate = Calibrate::kProcess;
  std::optional<int32_t> repeats;  // of a calibration, when not the usual number
  double timeout_s = 60;
  std::string seed;  // the parameter that weights and data are drawn by; "": it has none
  std::vector<Toggle> toggles;  // in the order of the file
  std::vector<Parameter> parameters;

  const Toggle* find_toggle(const std::string& name) const;
  const Parameter* find_parameter(const std::string& name) const;
  std::vector<std::string> names() const;  // of toggles and parameters
};

// Throws Error(kUsage) with file and line.
Subject read_subject(const std::filesystem::path& path);
Subject parse_subject(const std::string& text, const std::filesystem::path& name);

}  // namespace nanhunt::ablate
