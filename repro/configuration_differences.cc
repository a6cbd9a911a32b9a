// SPDX-License-Identifier: Apache-2.0
#include "repro/configuration_differences.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "compare/configuration.h"
#include "compare/numbers.h"
#include "compare/semantic_changes.h"

namespace nanhunt::repro {
namespace {

// By site and "op.attribute": values over ranks and microbatches.
using Attributes = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

// One name for the forms of one op.
std::string family(const std::string& op) {
  const std::string bare = op.starts_with("fused_") ? op.substr(6) : op;
  return bare.ends_with("_attention") ? "attention" : bare;
}

template <class Wanted>
Attributes attributes_of(const trace::Step& step, const Wanted& wanted) {
  Attributes attributes;
  for (const auto& record : step.records) {
    if (record.op.empty() || trace::is_fp8(record.storage) || !wanted(record)) continue;
    const auto json = nlohmann::json::parse(record.attributes, nullptr, false);
    if (!json.is_object()) {
      attributes[{record.what.site, family(record.op)}];  // the op is there and tells nothing
      continue;
    }
    attributes[{record.what.site, family(record.op)}];
    for (const auto& [key, value] : json.items())
      attributes[{record.what.site, family(record.op) + "." + key}].insert(value.dump());
  }
  return attributes;
}

// What an op computes by, as a layer's output tells it. A mask tells what its bits mean instead.
bool is_of_a_formula(const trace::Record& record) {
  const bool forward =
      record.what.phase == trace::Phase::kForward || record.what.phase == trace::Phase::kLoss;
  return forward && record.what.role != "param" && record.what.role != "mask";
}

bool is_of_an_update(const trace::Record& record) {
  return record.what.phase == trace::Phase::kUpdate;
}

std::string joined(const std::set<std::string>& values) {
  return compare::join({values.begin(), values.end()}, " ");
}

std::string places(const std::vector<std::string>& sites) {
  return sites.front() +
         (sites.size() > 1 ? " and " + std::to_string(sites.size() - 1) + " more" : "");
}

// Lines by what they say, with the sites that they say it of.
class Lines {
 public:
  void add(const std::string& text, const std::string& site) { sites_[text].push_back(site); }
  std::vector<std::string> take() const {
    std::vector<std::string> lines;
    for (const auto& [text, sites] : sites_) lines.push_back(text + ", at " + places(sites));
    return lines;
  }

 private:
  std::map<std::string, std::vector<std::string>> sites_;
};

// Attributes of ops that both have, where one side says nothing.
void find_one_sided(const Attributes& mine, const Attributes& others, const std::string& side,
                    Lines& lines) {
  for (const auto& [place, values] : mine) {
    const auto& [site, key] = place;
    const std::string op = key.substr(0, key.find('.'));
    // GELU's form is told where it is the tanh form alone.
    if (op == key || key == "gelu.tanh") continue;
    if (others.contains(place) || !others.contains({site, op})) continue;
    lines.add(key + " is told by " + side + " alone: " + joined(values), site);
  }
}

// What an optimizer is told; the count of its steps is no setting.
void find_updates(const Attributes& mine, const Attributes& others, Lines& lines) {
  for (const auto& [place, values] : mine) {
    const auto other = others.find(place);
    if (other == others.end() || other->second == values || place.second.ends_with(".step"))
      continue;
    lines.add(place.second + " is " + joined(values) + " in A, " + joined(other->second) + " in B",
              place.first);
  }
}

// Sites that both have, where another op works.
void find_ops(const Attributes& mine, const Attributes& others, Lines& lines) {
  const auto ops = [](const Attributes& attributes) {
    std::map<std::string, std::set<std::string>> by_site;
    for (const auto& [place, values] : attributes) {
      if (place.second.find('.') == std::string::npos) by_site[place.first].insert(place.second);
    }
    return by_site;
  };
  const auto of_b = ops(others);
  for (const auto& [site, names] : ops(mine)) {
    const auto other = of_b.find(site);
    if (other == of_b.end() || other->second == names) continue;
    lines.add("op is " + joined(names) + " in A, " + joined(other->second) + " in B", site);
  }
}

std::string fact_text(const compare::ConfigDifference& each) {
  if (each.candidate == "absent") return each.key + " is told by A alone: " + each.reference;
  if (each.reference == "absent") return each.key + " is told by B alone: " + each.candidate;
  return each.key + " is " + each.reference + " in A, " + each.candidate + " in B";
}

}  // namespace

ConfigurationDifferences compare_configurations(const trace::TraceReader& a,
                                                const trace::TraceReader& b, int64_t step,
                                                const std::vector<std::string>& intended) {
  const auto of_a = compare::source_of(a), of_b = compare::source_of(b);
  const auto reference = compare::make_side(of_a, a.read_step(step), oracle::Side::kReference),
             candidate = compare::make_side(of_b, b.read_step(step), oracle::Side::kCandidate);
  ConfigurationDifferences found;
  for (const auto& each : compare::predict_changes(candidate, reference)) {
    const bool meant = std::ranges::find(intended, each.key) != intended.end();
    (meant ? found.intended : found.formulas)
        .push_back(each.key + " is " + each.reference + " in A, " + each.candidate + " in B, at " +
                   places(each.sites));
  }
  Lines updates, one_sided, ops;
  const auto update_a = attributes_of(*reference.step, is_of_an_update),
             update_b = attributes_of(*candidate.step, is_of_an_update),
             forward_a = attributes_of(*reference.step, is_of_a_formula),
             forward_b = attributes_of(*candidate.step, is_of_a_formula);
  find_updates(update_a, update_b, updates);
  for (std::string& line : updates.take()) found.formulas.push_back(std::move(line));
  find_one_sided(forward_a, forward_b, "A", one_sided);
  find_one_sided(forward_b, forward_a, "B", one_sided);
  find_one_sided(update_a, update_b, "A", one_sided);
  find_one_sided(update_b, update_a, "B", one_sided);
  found.one_sided = one_sided.take();
  find_ops(forward_a, forward_b, ops);
  found.facts = ops.take();
  for (const auto& each : compare::configuration_differences(candidate, reference))
    found.facts.push_back(fact_text(each));
  return found;
}

}  // namespace nanhunt::repro
