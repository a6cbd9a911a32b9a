// SPDX-License-Identifier: Apache-2.0
#include "ablate/settings.h"

#include <algorithm>
#include <cstdlib>

#include "ablate/nearest.h"
#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

using Values = std::map<std::string, std::string>;  // of placeholders, without braces

// In one pass: what a value holds is not filled in again. Unknown braces may mean something to the
// program.
std::string filled(const std::string& word, const Values& values) {
  std::string text;
  size_t start = 0;
  for (size_t open; (open = word.find('{', start)) != std::string::npos;) {
    const size_t close = word.find('}', open);
    if (close == std::string::npos) break;
    const auto value = values.find(word.substr(open + 1, close - open - 1));
    const bool known = value != values.end();
    text += word.substr(start, open - start) + (known ? value->second : "{");
    start = known ? close + 1 : open + 1;
  }
  return text + word.substr(start);
}

std::string python_program() {
  const char* chosen = std::getenv("NANHUNT_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

Values values_of(const Subject& subject, const Settings& settings,
                 const Placeholders& placeholders) {
  Values values(settings.begin(), settings.end());
  const auto here = std::filesystem::absolute(subject.path).lexically_normal().parent_path();
  values.merge(Values{{"build", placeholders.build.string()},
                      {"steps", std::to_string(placeholders.steps)},
                      {"trace", placeholders.trace.string()},
                      {"folder", placeholders.folder.string()},
                      {"stdout", (placeholders.folder / "stdout.txt").string()},
                      {"stderr", (placeholders.folder / "stderr.txt").string()},
                      {"ranks", std::to_string(rank_count(subject, settings))},
                      {"here", here.string()},
                      {"python", python_program()},
                      {"capsules", (placeholders.folder / "capsules").string()},
                      {"capsule_every", std::to_string(placeholders.capsules.every)},
                      {"resume", placeholders.capsules.resume.string()},
                      {"resume_step", std::to_string(placeholders.capsules.resume_step)}});
  return values;
}

bool met(const Need& need, const Settings& settings) {
  return std::any_of(need.alternatives.begin(), need.alternatives.end(), [&](const auto& other) {
    const auto& values = other.second;
    return std::find(values.begin(), values.end(), settings.at(other.first)) != values.end();
  });
}

// The words that {toggles} stands for.
std::vector<std::string> argument_words(const Subject& subject, const Settings& settings) {
  std::vector<std::string> words;
  for (const Toggle& toggle : subject.toggles) {
    if (toggle.argument.empty()) continue;
    words.push_back(filled(toggle.argument, {{"value", settings.at(toggle.name)}}));
  }
  for (const Parameter& parameter : subject.parameters) {
    const std::string& value = settings.at(parameter.name);
    if (value.empty() || parameter.argument.empty()) continue;
    words.push_back(filled(parameter.argument, {{"value", value}}));
  }
  return words;
}

std::vector<std::string> filled_words(const std::vector<std::string>& words, const Subject& subject,
                                      const Settings& settings, const Placeholders& placeholders) {
  const Values values = values_of(subject, settings, placeholders);
  std::vector<std::string> all;
  for (const std::string& word : words) {
    if (word == "{toggles}") {
      for (std::string& each : argument_words(subject, settings)) all.push_back(std::move(each));
    } else {
      all.push_back(filled(word, values));
    }
  }
  NANHUNT_CHECK(!all.empty());
  return all;
}

void add_capsule_words(CommandLine& line, const Subject& subject, const Settings& settings,
                       const Placeholders& placeholders) {
  const auto add = [&](const std::vector<std::string>& words, const std::string& key) {
    if (words.empty()) {
      throw trace::Error(trace::ErrorKind::kUsage, subject.path.string() + " has no `" + key +
                                                       " =`: its runs cannot be " +
                                                       (key == "capsules" ? "saved" : "resumed"));
    }
    for (std::string& word : filled_words(words, subject, settings, placeholders))
      line.words.push_back(std::move(word));
  };
  if (placeholders.capsules.every > 0) add(subject.capsules, "capsules");
  if (placeholders.capsules.resume.empty()) return;
  if (placeholders.capsules.parameters_alone) {
    add(subject.resume_parameters, "resume_parameters");
  } else {
    add(subject.resume, "resume");
  }
}

}  // namespace

Settings default_settings(const Subject& subject) {
  Settings settings;
  for (const Toggle& toggle : subject.toggles) settings[toggle.name] = toggle.reference;
  for (const Parameter& parameter : subject.parameters) {
    settings[parameter.name] = parameter.default_value;
  }
  return settings;
}

void set_value(const Subject& subject, Settings& settings, const std::string& name,
               const std::string& value) {
  const Toggle* toggle = subject.find_toggle(name);
  if (!toggle && !subject.find_parameter(name)) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       "unknown toggle '" + name + "'" + did_you_mean(name, subject.names()));
  }
  if (toggle &&
      std::find(toggle->values.begin(), toggle->values.end(), value) == toggle->values.end()) {
    std::string known;
    for (const std::string& each : toggle->values) known += " " + each;
    throw trace::Error(trace::ErrorKind::kUsage,
                       name + " cannot be '" + value + "'; it may be:" + known);
  }
  settings[name] = value;
}

bool needs_met(const Toggle& toggle, const std::string& value, const Settings& settings) {
  return std::all_of(toggle.needs.begin(), toggle.needs.end(),
                     [&](const Need& need) { return need.value != value || met(need, settings); });
}

Settings effective_settings(const Subject& subject, const Settings& settings) {
  Settings effective = settings;
  // A need may hang on a toggle that itself has no effect: repeat until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Toggle& toggle : subject.toggles) {
      std::string& value = effective.at(toggle.name);
      if (value == toggle.reference || needs_met(toggle, value, effective)) continue;
      value = toggle.reference;
      changed = true;
    }
  }
  return effective;
}

std::vector<std::string> differing_toggles(const Subject& subject, const Settings& a,
                                           const Settings& b) {
  std::vector<std::string> names;
  for (const Toggle& toggle : subject.toggles) {
    if (a.at(toggle.name) != b.at(toggle.name)) names.push_back(toggle.name);
  }
  return names;
}

std::string describe(const Subject& subject, const Settings& settings) {
  std::string text;
  for (const Toggle& toggle : subject.toggles) {
    const std::string& value = settings.at(toggle.name);
    if (value != toggle.reference) text += (text.empty() ? "" : " ") + toggle.name + "=" + value;
  }
  return text.empty() ? "all at reference" : text;
}

int64_t rank_count(const Subject& subject, const Settings& settings) {
  int64_t ranks = 1;
  for (const std::string& name : subject.ranks) ranks *= std::stoll(settings.at(name));
  return ranks;
}

Calibrate calibration_of(const Subject& subject, const Settings& settings) {
  const bool told = std::ranges::any_of(subject.command, [](const std::string& word) {
    return word.find("{ranks}") != std::string::npos;
  });
  return told && rank_count(subject, settings) > 1 ? Calibrate::kRuns : subject.calibrate;
}

CommandLine command_line(const Subject& subject, const Settings& settings,
                         const Placeholders& placeholders) {
  CommandLine line;
  line.words = filled_words(subject.command, subject, settings, placeholders);
  add_capsule_words(line, subject, settings, placeholders);
  for (const Toggle& toggle : subject.toggles) {
    if (toggle.environment.empty()) continue;
    line.environment[toggle.environment] =
        filled(toggle.environment_value, {{"value", settings.at(toggle.name)}});
  }
  return line;
}

std::vector<std::string> check_words(const Subject& subject, const Settings& settings,
                                     const Placeholders& placeholders) {
  return filled_words(subject.check, subject, settings, placeholders);
}

}  // namespace nanhunt::ablate
