// SPDX-License-Identifier: Apache-2.0
#include "ablate/case_file.h"

#include "ablate/nearest.h"
#include "ablate/options_file.h"
#include "ablate/schema.h"
#include "capsule/name.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

// Parameters are shared by both sides: they are no candidates for the cause.
void set_failing(Case& the_case, const std::string& name, const std::string& value) {
  set_value(the_case.subject, the_case.failing, name, value);
  if (the_case.subject.find_parameter(name)) {
    set_value(the_case.subject, the_case.reference, name, value);
  }
}

std::pair<std::string, std::string> name_and_value(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       "'" + assignment + "' is no setting; write NAME=VALUE");
  }
  return {assignment.substr(0, equals), assignment.substr(equals + 1)};
}

// A relative folder is one beside the case file.
void set_capsule(Case& the_case, const std::string& text) {
  const capsule::Name name = capsule::parse_name(text);
  the_case.capsule.resume =
      (std::filesystem::absolute(the_case.path).parent_path() / name.folder).lexically_normal();
  the_case.capsule.resume_step = name.step;
}

// Errors of settings get the place in the file.
template <typename Action>
void at_entry(const OptionsFile& file, const OptionsEntry& entry, const Action& action) {
  try {
    action();
  } catch (const trace::Error& error) {
    refuse(file.path, entry.line, error.what());
  }
}

void set_convergence(const OptionsFile& file, const OptionsEntry& entry, ConvergenceKeys& keys) {
  const auto count = [&] {
    const int64_t number = integer_of(file, entry);
    if (number < 0) refuse(file.path, entry.line, entry.pattern + " is negative");
    return number;
  };
  if (entry.pattern == "convergence.seeds") keys.seeds = count();
  if (entry.pattern == "convergence.same") keys.same = count();
  if (entry.pattern == "convergence.steps") keys.steps = count();
  if (entry.pattern == "convergence.margin") keys.margin = split_words(entry.value);
  if (entry.pattern == "convergence.metrics") keys.metrics = split_words(entry.value);
  if (entry.pattern == "convergence.loss") keys.loss = entry.value;
}

void apply_entry(const OptionsFile& file, const OptionsEntry& entry, Case& the_case) {
  if (entry.pattern == "level") {
    at_entry(file, entry, [&] { the_case.level = case_level_from_name(entry.value); });
  } else if (entry.pattern == "steps") {
    the_case.steps = integer_of(file, entry);
    if (the_case.steps < 1) refuse(file.path, entry.line, "steps is not positive");
  } else if (entry.pattern == "poison") {
    if (entry.value != "on" && entry.value != "off")
      refuse(file.path, entry.line, "poison is '" + entry.value + "'; it may be: on off");
    the_case.poison = entry.value == "on";
  } else if (entry.pattern == "timeout_s") {
    the_case.timeout_s = number_of(file, entry);
    if (!(the_case.timeout_s > 0)) refuse(file.path, entry.line, "timeout_s is not positive");
  } else if (entry.pattern == "set.*") {
    at_entry(file, entry, [&] { set_failing(the_case, entry.name, entry.value); });
  } else if (entry.pattern == "reference.*") {
    at_entry(file, entry,
             [&] { set_value(the_case.subject, the_case.reference, entry.name, entry.value); });
  } else if (entry.pattern == "capsule") {
    at_entry(file, entry, [&] { set_capsule(the_case, entry.value); });
  } else if (entry.pattern == "repro") {
    at_entry(file, entry, [&] { the_case.repro = question_from_name(entry.value); });
  } else if (entry.pattern == "intended") {
    the_case.intended = split_words(entry.value);
  } else if (entry.pattern == "thresholds.*") {
    the_case.thresholds[entry.name] = number_of(file, entry);
  } else if (entry.pattern.starts_with("convergence.")) {
    set_convergence(file, entry, the_case.convergence);
  }
}

}  // namespace

CaseLevel case_level_from_name(const std::string& name) {
  if (name == "stats") return CaseLevel::kStats;
  if (name == "full") return CaseLevel::kFull;
  if (name == "auto") return CaseLevel::kAuto;
  throw trace::Error(trace::ErrorKind::kUsage, "level is '" + name +
                                                   "'; it may be: stats full auto" +
                                                   did_you_mean(name, {"stats", "full", "auto"}));
}

Question question_from_name(const std::string& name) {
  if (name == "resume") return Question::kResume;
  if (name == "layouts") return Question::kLayouts;
  if (name == "again") return Question::kAgain;
  if (name == "upgrade") return Question::kUpgrade;
  const std::vector<std::string> known{"resume", "layouts", "again", "upgrade"};
  throw trace::Error(trace::ErrorKind::kUsage,
                     "repro is '" + name + "'; it may be: resume layouts again upgrade" +
                         did_you_mean(name, known));
}

std::filesystem::path find_case(const std::string& name) {
  for (const std::string& candidate : {name, name + ".case"}) {
    if (std::filesystem::is_regular_file(candidate)) return candidate;
  }
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  std::vector<std::string> near;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder.empty() ? "." : folder, ignored)) {
    if (entry.path().extension() == ".case")
      near.push_back((folder / entry.path().stem()).string());
  }
  throw trace::Error(trace::ErrorKind::kUsage, "no case file '" + name + "' or '" + name +
                                                   ".case'" + did_you_mean(name, near));
}

Case read_case(const std::filesystem::path& path) {
  const OptionsFile file = read_options_file(path, case_schema());
  Case the_case;
  the_case.path = path;
  the_case.name = path.stem().string();
  for (const OptionsEntry& entry : file.entries) {
    if (entry.pattern != "subject") continue;
    the_case.subject = read_subject((path.parent_path() / entry.value).lexically_normal());
  }
  if (the_case.subject.command.empty()) {
    throw trace::Error(trace::ErrorKind::kUsage, path.string() + ": no subject");
  }
  the_case.timeout_s = the_case.subject.timeout_s;
  the_case.failing = the_case.reference = default_settings(the_case.subject);
  for (const OptionsEntry& entry : file.entries) apply_entry(file, entry, the_case);
  return the_case;
}

void apply_setting(Case& the_case, const std::string& assignment) {
  const auto [name, value] = name_and_value(assignment);
  set_failing(the_case, name, value);
}

void apply_reference_setting(Case& the_case, const std::string& assignment) {
  const auto [name, value] = name_and_value(assignment);
  if (the_case.subject.find_parameter(name)) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       "'" + name + "' is a parameter, which both sides share; use --set");
  }
  set_value(the_case.subject, the_case.reference, name, value);
}

}  // namespace nanhunt::ablate
