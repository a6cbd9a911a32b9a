// SPDX-License-Identifier: Apache-2.0
#include "ablate/subject.h"

#include <algorithm>
#include <boost/program_options/parsers.hpp>
#include <charconv>

#include "ablate/nearest.h"
#include "ablate/options_file.h"
#include "ablate/schema.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

// Two perturbed runs are the fewest that have a spread.
constexpr int64_t kFewestRepeats = 3;
constexpr int64_t kMostRepeats = 1000;
constexpr const char* kUsualSeed = "seed";

bool holds(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string trimmed(const std::string& text) {
  return joined(split_words(text));
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t at = 0; (at = text.find(separator, start)) != std::string::npos; start = at + 1) {
    parts.push_back(trimmed(text.substr(start, at - start)));
  }
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

// "on: parallel.tp = 2 4 | parallel.dp = 2"
Need need_of(const OptionsFile& file, const OptionsEntry& entry) {
  const size_t colon = entry.value.find(':');
  if (colon == std::string::npos) {
    refuse(file.path, entry.line, "needs are written `VALUE: TOGGLE = VALUE ...`");
  }
  Need need;
  need.value = trimmed(entry.value.substr(0, colon));
  for (const std::string& part : split_at(entry.value.substr(colon + 1), '|')) {
    const auto sides = split_at(part, '=');
    if (sides.size() != 2 || sides[0].empty() || sides[1].empty()) {
      refuse(file.path, entry.line, "needs are written `VALUE: TOGGLE = VALUE ...`");
    }
    need.alternatives.push_back({sides[0], split_words(sides[1])});
  }
  return need;
}

// "--tp={value}" or "env = NAME={value}"
void set_argument(const OptionsFile& file, const OptionsEntry& entry, Toggle& toggle) {
  if (entry.value.find("{value}") == std::string::npos) {
    refuse(file.path, entry.line, "arg has no {value}");
  }
  const auto sides = split_at(entry.value, '=');
  if (sides.front() != "env") {
    toggle.argument = entry.value;
    return;
  }
  if (sides.size() < 3 || sides[1].empty()) {
    refuse(file.path, entry.line, "an environment arg is written `env = NAME={value}`");
  }
  const size_t name = entry.value.find(sides[1], entry.value.find('=') + 1);
  toggle.environment = sides[1];
  toggle.environment_value = entry.value.substr(entry.value.find('=', name) + 1);
}

// "on=fp8_e4m3 off=bf16|fp32|none"
void set_effective_values(const OptionsFile& file, const OptionsEntry& entry, Toggle& toggle) {
  for (const std::string& word : split_words(entry.value)) {
    const auto sides = split_at(word, '=');
    if (sides.size() != 2) {
      refuse(file.path, entry.line, "effective_values are written `VALUE=RESULT|RESULT ...`");
    }
    toggle.effective_values[sides[0]] = split_at(sides[1], '|');
  }
}

template <typename Item>
Item& find_or_add(std::vector<Item>& items, const std::string& name) {
  for (Item& item : items) {
    if (item.name == name) return item;
  }
  items.push_back({});
  items.back().name = name;
  return items.back();
}

void set_toggle_leaf(const OptionsFile& file, const OptionsEntry& entry, Toggle& toggle) {
  const std::string leaf = entry.pattern.substr(entry.pattern.rfind('.') + 1);
  if (leaf == "values") toggle.values = split_words(entry.value);
  if (leaf == "reference") toggle.reference = entry.value;
  if (leaf == "arg") set_argument(file, entry, toggle);
  if (leaf == "effective") toggle.effective = trimmed(entry.value);
  if (leaf == "effective_values") set_effective_values(file, entry, toggle);
  if (leaf == "moves") toggle.moves = split_words(entry.value);
  if (leaf == "needs") toggle.needs.push_back(need_of(file, entry));
}

[[noreturn]] void refuse_toggle(const Subject& subject, const Toggle& toggle,
                                const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage,
                     subject.path.string() + ": [toggle." + toggle.name + "] " + what);
}

// Whole numbers alone make a number of ranks.
bool counts_ranks(const std::string& value) {
  int32_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  return error == std::errc() && stop == end && number >= 1;
}

void check_ranks(const OptionsFile& file, const OptionsEntry& entry, const Subject& subject) {
  std::vector<std::string> known;
  for (const Toggle& toggle : subject.toggles) known.push_back(toggle.name);
  for (const std::string& name : subject.ranks) {
    const Toggle* toggle = subject.find_toggle(name);
    if (!toggle) {
      refuse(file.path, entry.line,
             "ranks names the unknown toggle '" + name + "'" + did_you_mean(name, known));
    }
    for (const std::string& value : toggle->values) {
      if (counts_ranks(value)) continue;
      refuse(file.path, entry.line,
             "ranks names " + name + ", whose value '" + value + "' is no number of ranks");
    }
  }
}

// Whether the command tells a toggle's value without an arg of its own.
bool in_command(const Subject& subject, const Toggle& toggle) {
  const std::string command = joined(subject.command);
  return command.find("{" + toggle.name + "}") != std::string::npos ||
         (holds(subject.ranks, toggle.name) && command.find("{ranks}") != std::string::npos);
}

void check_toggle(const Subject& subject, const Toggle& toggle) {
  const auto known = [&](const std::string& name) {
    if (!subject.find_toggle(name)) {
      refuse_toggle(
          subject, toggle,
          "names the unknown toggle '" + name + "'" + did_you_mean(name, subject.names()));
    }
  };
  if (toggle.values.size() < 2) refuse_toggle(subject, toggle, "has fewer than two values");
  if (!holds(toggle.values, toggle.reference)) {
    refuse_toggle(subject, toggle,
                  "reference '" + toggle.reference + "' is none of its values (" +
                      joined(toggle.values) + ")");
  }
  if (toggle.argument.empty() && toggle.environment.empty() && !in_command(subject, toggle)) {
    refuse_toggle(subject, toggle, "has no arg");
  }
  for (const std::string& name : toggle.moves) known(name);
  for (const Need& need : toggle.needs) {
    for (const auto& [name, values] : need.alternatives) known(name);
  }
}

[[noreturn]] void refuse_word(const OptionsFile& file, const OptionsEntry& entry,
                              const std::string& word, const std::vector<std::string>& known,
                              const std::string& shown) {
  refuse(file.path, entry.line,
         entry.pattern + " is '" + word + "'; it may be: " + shown + did_you_mean(word, known));
}

// Words as a shell splits them.
std::vector<std::string> shell_words(const OptionsFile& file, const OptionsEntry& entry) {
  try {
    return boost::program_options::split_unix(entry.value);
  } catch (const std::exception& error) {
    refuse(file.path, entry.line, entry.pattern + " cannot be split: " + error.what());
  }
}

// "verdict", "exit" or "check WORDS..."
void set_failure(const OptionsFile& file, const OptionsEntry& entry, Subject& subject) {
  const std::vector<std::string> words = shell_words(file, entry);
  const std::string kind = words.empty() ? "" : words.front();
  if (kind == "check") {
    if (words.size() == 1) refuse(file.path, entry.line, "failure = check names no command");
    subject.failure = FailureTest::kCheck;
    subject.check.assign(words.begin() + 1, words.end());
  } else if (words.size() == 1 && (kind == "verdict" || kind == "exit")) {
    subject.failure = kind == "exit" ? FailureTest::kExit : FailureTest::kVerdict;
  } else {
    refuse_word(file, entry, entry.value, {"verdict", "exit", "check"},
                "verdict, exit, check WORDS...");
  }
}

void set_calibrate(const OptionsFile& file, const OptionsEntry& entry, Subject& subject) {
  if (entry.value != "process" && entry.value != "runs") {
    refuse_word(file, entry, entry.value, {"process", "runs"}, "process, runs");
  }
  subject.calibrate = entry.value == "runs" ? Calibrate::kRuns : Calibrate::kProcess;
}

void set_repeats(const OptionsFile& file, const OptionsEntry& entry, Subject& subject) {
  const int64_t repeats = integer_of(file, entry);
  if (repeats < kFewestRepeats || repeats > kMostRepeats) {
    refuse(file.path, entry.line,
           "repeats is " + entry.value + "; it may be from " + std::to_string(kFewestRepeats) +
               " to " + std::to_string(kMostRepeats));
  }
  subject.repeats = static_cast<int32_t>(repeats);
}

void set_leaf(const OptionsFile& file, const OptionsEntry& entry, Subject& subject) {
  if (entry.pattern == "command") {
    subject.command = shell_words(file, entry);
  } else if (entry.pattern == "failure") {
    set_failure(file, entry, subject);
  } else if (entry.pattern == "capsules") {
    subject.capsules = shell_words(file, entry);
  } else if (entry.pattern == "resume") {
    subject.resume = shell_words(file, entry);
  } else if (entry.pattern == "resume_parameters") {
    subject.resume_parameters = shell_words(file, entry);
  } else if (entry.pattern == "ranks") {
    subject.ranks = split_words(entry.value);
  } else if (entry.pattern == "calibrate") {
    set_calibrate(file, entry, subject);
  } else if (entry.pattern == "repeats") {
    set_repeats(file, entry, subject);
  } else if (entry.pattern == "seed") {
    subject.seed = entry.value;
  } else if (entry.pattern == "timeout_s") {
    subject.timeout_s = number_of(file, entry);
    if (!(subject.timeout_s > 0)) refuse(file.path, entry.line, "timeout_s is not positive");
  } else if (entry.pattern.starts_with("toggle.")) {
    set_toggle_leaf(file, entry, find_or_add(subject.toggles, entry.name));
  } else {
    Parameter& parameter = find_or_add(subject.parameters, entry.name);
    (entry.pattern.ends_with(".default") ? parameter.default_value : parameter.argument) =
        entry.value;
  }
}

void check_seed(const OptionsFile& file, const OptionsEntry& entry, const Subject& subject) {
  if (subject.find_parameter(subject.seed)) return;
  std::vector<std::string> known;
  for (const Parameter& parameter : subject.parameters) known.push_back(parameter.name);
  refuse(file.path, entry.line,
         "seed names the unknown parameter '" + subject.seed + "'" +
             did_you_mean(subject.seed, known));
}

Subject from_file(const OptionsFile& file) {
  Subject subject;
  subject.path = file.path;
  for (const OptionsEntry& entry : file.entries) set_leaf(file, entry, subject);
  if (subject.command.empty()) {
    throw trace::Error(trace::ErrorKind::kUsage, file.path.string() + ": no command");
  }
  for (const Toggle& toggle : subject.toggles) check_toggle(subject, toggle);
  for (const OptionsEntry& entry : file.entries) {
    if (entry.pattern == "ranks") check_ranks(file, entry, subject);
    if (entry.pattern == "seed") check_seed(file, entry, subject);
  }
  if (subject.seed.empty() && subject.find_parameter(kUsualSeed)) subject.seed = kUsualSeed;
  return subject;
}

}  // namespace

const Toggle* Subject::find_toggle(const std::string& name) const {
  for (const Toggle& toggle : toggles) {
    if (toggle.name == name) return &toggle;
  }
  return nullptr;
}

const Parameter* Subject::find_parameter(const std::string& name) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

std::vector<std::string> Subject::names() const {
  std::vector<std::string> list;
  for (const Toggle& toggle : toggles) list.push_back(toggle.name);
  for (const Parameter& parameter : parameters) list.push_back(parameter.name);
  return list;
}

Subject read_subject(const std::filesystem::path& path) {
  return from_file(read_options_file(path, subject_schema()));
}

Subject parse_subject(const std::string& text, const std::filesystem::path& name) {
  return from_file(parse_options_text(text, name, subject_schema()));
}

}  // namespace nanhunt::ablate
