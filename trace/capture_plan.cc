// SPDX-License-Identifier: Apache-2.0
#include "trace/capture_plan.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "trace/error.h"

namespace nanhunt::trace {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kUsage, "capture plan: " + message);
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// One field of a JSON object: its name and what to do with its value.
struct Field {
  std::string name;
  std::function<void(const Json&)> read;
};

std::string nearest(const std::string& name, const std::vector<Field>& fields) {
  const Field* best = &fields.front();
  for (const Field& field : fields)
    if (edit_distance(name, field.name) < edit_distance(name, best->name)) best = &field;
  return best->name;
}

void read_object(const Json& object, const std::string& path, const std::vector<Field>& fields) {
  if (!object.is_object()) refuse((path.empty() ? "the plan" : path) + " must be an object");
  for (const auto& [key, value] : object.items()) {
    const std::string full_name = path.empty() ? key : path + "." + key;
    const Field* field = nullptr;
    for (const Field& candidate : fields)
      if (candidate.name == key) field = &candidate;
    if (!field)
      refuse("unknown field '" + full_name + "'; did you mean '" + nearest(key, fields) + "'?");
    try {
      field->read(value);
    } catch (const Json::exception&) {
      refuse("field '" + full_name + "' has the wrong type: " + value.dump());
    } catch (const std::out_of_range& error) {
      refuse("field '" + full_name + "' " + error.what());
    }
  }
}

// Integers are taken only from JSON integers: 1.5 steps or "3" ranks are mistakes, not roundings.
template <typename Integer>
Integer read_integer(const Json& value) {
  if (!value.is_number_integer()) throw std::out_of_range("must be an integer: " + value.dump());
  const auto number = value.get<int64_t>();
  if (!std::in_range<Integer>(number))
    throw std::out_of_range("does not fit its type: " + value.dump());
  return static_cast<Integer>(number);
}

template <typename Integer>
Field integer_field(std::string name, Integer& out, int64_t least) {
  return {std::move(name), [&out, least](const Json& value) {
            if (value.is_number_integer() && !value.is_number_unsigned() &&
                value.get<int64_t>() < least)
              throw std::out_of_range("must be at least " + std::to_string(least) + ": " +
                                      value.dump());
            out = read_integer<Integer>(value);
            if (std::cmp_less(out, least))
              throw std::out_of_range("must be at least " + std::to_string(least) + ": " +
                                      value.dump());
          }};
}

template <typename Integer>
Field integers_field(std::string name, std::vector<Integer>& out) {
  return {std::move(name), [&out](const Json& value) {
            if (!value.is_array()) throw std::out_of_range("must be a list of integers");
            out.clear();
            for (const Json& entry : value) out.push_back(read_integer<Integer>(entry));
          }};
}

template <typename Value>
Field plain_field(std::string name, Value& out) {
  return {std::move(name), [&out](const Json& value) { out = value.get<Value>(); }};
}

std::string read_phase_name(const Json& value) {
  const auto name = value.get<std::string>();
  if (!phase_from_name(name)) throw std::out_of_range("names no phase: '" + name + "'");
  return name;
}

Field phases_field(std::string name, std::vector<std::string>& out) {
  return {std::move(name), [&out](const Json& value) {
            if (!value.is_array()) throw std::out_of_range("must be a list of phase names");
            for (const Json& entry : value) out.push_back(read_phase_name(entry));
          }};
}

Trigger read_trigger(const Json& value) {
  const auto text = value.get<std::string>();
  const auto trigger = trigger_from_text(text);
  if (!trigger)
    throw std::out_of_range("names no trigger: '" + text + "'; there are " +
                            std::string(kTriggerWords) + " (any factor above 1)");
  return *trigger;
}

Json json_of(const std::vector<Trigger>& triggers) {
  Json words = Json::array();
  for (const Trigger& trigger : triggers) words.push_back(text_of(trigger));
  return words;
}

NoiseRule read_noise_rule(const Json& json, const std::string& path) {
  NoiseRule rule;
  read_object(json, path,
              {plain_field("site", rule.site),
               plain_field("role", rule.role),
               {"phase",
                [&](const Json& value) {
                  if (value != "") rule.phase = read_phase_name(value);
                }},
               plain_field("relative", rule.relative),
               plain_field("absolute", rule.absolute),
               plain_field("operands", rule.operands)});
  return rule;
}

Perturbation read_perturbation(const Json& json) {
  Perturbation perturbation;
  read_object(json, "perturbation",
              {{"seed",
                [&](const Json& value) {
                  if (!value.is_number_unsigned())
                    throw std::out_of_range("must be an integer from 0: " + value.dump());
                  perturbation.seed = value.get<uint64_t>();
                }},
               plain_field("ulp_parameters", perturbation.ulp_parameters),
               {"noise", [&](const Json& value) {
                  if (!value.is_array()) throw std::out_of_range("must be a list of objects");
                  for (const Json& entry : value)
                    perturbation.noise.push_back(read_noise_rule(
                        entry, "perturbation.noise." + std::to_string(perturbation.noise.size())));
                }}});
  return perturbation;
}

Json json_of(const Perturbation& perturbation) {
  Json noise = Json::array();
  for (const NoiseRule& rule : perturbation.noise)
    noise.push_back({{"site", rule.site},
                     {"role", rule.role},
                     {"phase", rule.phase},
                     {"relative", rule.relative},
                     {"absolute", rule.absolute},
                     {"operands", rule.operands}});
  return {{"seed", perturbation.seed},
          {"ulp_parameters", perturbation.ulp_parameters},
          {"noise", std::move(noise)}};
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) refuse("cannot read the file " + path.string() + " that NANHUNT_CAPTURE names");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string to_json(const CapturePlan& plan) {
  Json json = {{"out", plan.out.string()},
               {"level", std::string(name_of(plan.level))},
               {"full_sites", plan.full_sites},
               {"full_phases", plan.full_phases},
               {"sites", plan.sites},
               {"phases", plan.phases},
               {"steps", plan.steps},
               {"ranks", plan.ranks},
               {"queue_bytes", plan.queue_bytes},
               {"trace_bytes", plan.trace_bytes},
               {"ring", plan.ring},
               {"triggers", json_of(plan.triggers)},
               {"ring_bytes", plan.ring_bytes},
               {"poison", plan.poison},
               {"repeats", plan.repeats}};
  if (plan.perturbation) json["perturbation"] = json_of(*plan.perturbation);
  return json.dump(2);
}

CapturePlan parse_capture_plan(const std::string& text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    refuse("not JSON, near byte " + std::to_string(error.byte));
  }
  CapturePlan plan;
  read_object(json, "",
              {{"out", [&](const Json& value) { plan.out = value.get<std::string>(); }},
               {"level",
                [&](const Json& value) {
                  const auto name = value.get<std::string>();
                  const auto level = level_from_name(name);
                  if (!level) throw std::out_of_range("names no level: '" + name + "'");
                  plan.level = *level;
                }},
               plain_field("full_sites", plan.full_sites),
               plain_field("sites", plan.sites),
               phases_field("full_phases", plan.full_phases),
               phases_field("phases", plan.phases),
               integers_field("steps", plan.steps),
               integers_field("ranks", plan.ranks),
               integer_field("queue_bytes", plan.queue_bytes, 1),
               integer_field("trace_bytes", plan.trace_bytes, 0),
               integer_field("ring", plan.ring, 0),
               {"triggers",
                [&](const Json& value) {
                  if (!value.is_array()) throw std::out_of_range("must be a list of triggers");
                  for (const Json& entry : value) plan.triggers.push_back(read_trigger(entry));
                }},
               integer_field("ring_bytes", plan.ring_bytes, 1),
               plain_field("poison", plan.poison),
               integer_field("repeats", plan.repeats, 1),
               {"perturbation", [&](const Json& value) {
                  if (!value.is_null()) plan.perturbation = read_perturbation(value);
                }}});
  if (plan.out.empty()) refuse("field 'out' is missing: the trace folder");
  if (!plan.triggers.empty() && plan.ring == 0)
    refuse("field 'triggers' needs 'ring': how many steps to keep in memory");
  if (plan.ring > 0 && plan.triggers.empty()) plan.triggers = default_triggers();
  return plan;
}

std::optional<CapturePlan> capture_plan_from_environment() {
  const char* value = std::getenv("NANHUNT_CAPTURE");
  if (!value || !*value) return std::nullopt;
  return parse_capture_plan(*value == '{' ? std::string(value) : read_text(value));
}

}  // namespace nanhunt::trace
