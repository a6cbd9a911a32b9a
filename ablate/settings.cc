// SPDX-License-Identifier: Apache-2.0
#include "ablate/settings.h"

#include <algorithm>

#include "ablate/nearest.h"
#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

std::string replaced(std::string text, const std::string& placeholder, const std::string& value) {
  for (size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos; at += value.size()) {
    text.replace(at, placeholder.size(), value);
  }
  return text;
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
    words.push_back(replaced(toggle.argument, "{value}", settings.at(toggle.name)));
  }
  for (const Parameter& parameter : subject.parameters) {
    const std::string& value = settings.at(parameter.name);
    if (!value.empty()) words.push_back(replaced(parameter.argument, "{value}", value));
  }
  return words;
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

CommandLine command_line(const Subject& subject, const Settings& settings,
                         const Placeholders& placeholders) {
  CommandLine line;
  for (const std::string& word : subject.command) {
    if (word == "{toggles}") {
      for (std::string& each : argument_words(subject, settings)) line.words.push_back(each);
      continue;
    }
    std::string filled = replaced(word, "{build}", placeholders.build.string());
    for (const Toggle& toggle : subject.toggles) {
      filled = replaced(filled, "{" + toggle.name + "}", settings.at(toggle.name));
    }
    filled = replaced(filled, "{steps}", std::to_string(placeholders.steps));
    line.words.push_back(replaced(filled, "{trace}", placeholders.trace.string()));
  }
  for (const Toggle& toggle : subject.toggles) {
    if (toggle.environment.empty()) continue;
    line.environment[toggle.environment] =
        replaced(toggle.environment_value, "{value}", settings.at(toggle.name));
  }
  NANHUNT_CHECK(!line.words.empty());
  return line;
}

}  // namespace nanhunt::ablate
