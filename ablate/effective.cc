// SPDX-License-Identifier: Apache-2.0
#include "ablate/effective.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "ablate/nearest.h"
#include "ablate/options_file.h"
#include "trace/error.h"
#include "trace/rules_file.h"

namespace nanhunt::ablate {
namespace {

using Words = std::vector<std::string>;
using Results = std::set<std::string>;
using Facts = std::vector<trace::RunFacts>;

[[noreturn]] void refuse_expression(const std::string& expression, const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, "effective = " + expression + ": " + what);
}

// SITE:ROLE[@PHASE]
struct Place {
  std::string site, role, phase;

  bool holds(const trace::Record& record) const {
    return record.what.role == role &&
           (phase.empty() || trace::name_of(record.what.phase) == phase) &&
           trace::match_site(site, record.what.site, nullptr);
  }
};

Place place_of(const std::string& word) {
  const size_t colon = word.find(':'), at = word.find('@');
  if (colon == std::string::npos) refuse_expression(word, "a place is written SITE:ROLE");
  Place place;
  place.site = word.substr(0, colon);
  place.role = word.substr(colon + 1, at == std::string::npos ? at : at - colon - 1);
  if (at != std::string::npos) place.phase = word.substr(at + 1);
  return place;
}

std::string yes_no(bool value) {
  return value ? "yes" : "no";
}

Results op(const Words& words, const trace::Step& step, const Facts&) {
  return {yes_no(std::any_of(step.records.begin(), step.records.end(),
                             [&](const trace::Record& record) { return record.op == words[1]; }))};
}

Results mesh(const Words& words, const trace::Step& step, const Facts& facts) {
  const auto axis = trace::mesh_axis_from_name(words[1]);
  if (!axis) refuse_expression("mesh " + words[1], "no such axis");
  if (*axis == trace::MeshAxis::kMicrobatch) {
    int32_t last = 0;
    for (const trace::Record& record : step.records) last = std::max(last, record.where.microbatch);
    return {std::to_string(last + 1)};
  }
  Results results;
  for (const trace::RunFacts& rank : facts) {
    results.insert(std::to_string(rank.mesh_size[static_cast<size_t>(*axis)]));
  }
  return results;
}

Results dtype(const Words& words, const trace::Step& step, const Facts&) {
  const Place place = place_of(words[1]);
  Results results;
  for (const trace::Record& record : step.records) {
    if (place.holds(record)) results.insert(std::string(trace::name_of(record.storage)));
  }
  return results;
}

Results placement(const Words& words, const trace::Step& step, const Facts&) {
  const Place place = place_of(words[1]);
  const auto axis = trace::mesh_axis_from_name(words[2]);
  if (!axis) refuse_expression("placement ... " + words[2], "no such axis");
  return {yes_no(
      std::any_of(step.records.begin(), step.records.end(), [&](const trace::Record& record) {
        return record.placement && place.holds(record) &&
               trace::name_of(trace::on_axis(*record.placement, *axis).kind) == words[3];
      }))};
}

Results axes(const Words& words, const trace::Step& step, const Facts&) {
  const Place place = place_of(words[1]);
  Results results;
  for (const trace::Record& record : step.records) {
    if (!record.placement || !place.holds(record)) continue;
    std::string order;
    for (const int32_t logical : record.placement->to_logical) {
      const auto index = static_cast<size_t>(logical);
      if (index >= record.placement->axes.size()) continue;
      order += (order.empty() ? "" : "-") + record.placement->axes[index];
    }
    results.insert(order);
  }
  return results;
}

Results collective(const Words& words, const trace::Step& step, const Facts&) {
  Results results;
  for (const trace::Collective& each : step.collectives) {
    if (!each.is_reduction()) continue;
    if (words[1] == "op") results.insert(each.op);
    if (words[1] == "order") results.insert(each.order);
    if (words[1] == "accumulate") results.insert(std::string(trace::name_of(each.accumulate)));
    if (words[1] == "ranks") results.insert(std::to_string(each.group.size()));
    if (words[1] == "async" && each.async) results.insert("yes");
  }
  if (words[1] == "async" && results.empty()) results.insert("no");
  return results;
}

Results fact(const Words& words, const trace::Step&, const Facts& facts) {
  Results results;
  for (const trace::RunFacts& rank : facts) {
    const auto found = rank.facts.find(words[1]);
    if (found != rank.facts.end()) results.insert(found->second);
  }
  return results;
}

// Whether a trace holds all that its run should have recorded.
bool complete(const trace::TraceReader& trace) {
  for (const int64_t step : trace.steps()) {
    for (const trace::RankProgress& rank : trace.progress(step)) {
      if (!rank.complete) return false;
    }
  }
  return true;
}

struct Reader {
  size_t words;  // of the expression, its name included
  std::function<Results(const Words&, const trace::Step&, const Facts&)> read;
};

const std::map<std::string, Reader>& readers() {
  static const std::map<std::string, Reader> table = {
      {"op", {2, op}},
      {"mesh", {2, mesh}},
      {"dtype", {2, dtype}},
      {"axes", {2, axes}},
      {"collective", {2, collective}},
      {"fact", {2, fact}},
      {"placement", {4, placement}},
  };
  return table;
}

}  // namespace

std::string evaluate(const std::string& expression, const trace::Step& step,
                     const std::vector<trace::RunFacts>& facts) {
  const Words words = split_words(expression);
  const auto reader = words.empty() ? readers().end() : readers().find(words[0]);
  if (reader == readers().end()) {
    std::vector<std::string> known;
    for (const auto& entry : readers()) known.push_back(entry.first);
    refuse_expression(expression,
                      "not understood" + did_you_mean(words.empty() ? "" : words[0], known));
  }
  if (words.size() != reader->second.words) {
    refuse_expression(expression, "takes " + std::to_string(reader->second.words - 1) + " words");
  }
  std::string joined;
  for (const std::string& result : reader->second.read(words, step, facts)) {
    joined += (joined.empty() ? "" : ",") + result;
  }
  return joined.empty() ? "none" : joined;
}

std::optional<std::string> value_of(const Toggle& toggle, const std::string& result) {
  for (const std::string& value : toggle.values) {
    const auto listed = toggle.effective_values.find(value);
    if (listed != toggle.effective_values.end()) {
      const auto& results = listed->second;
      if (std::find(results.begin(), results.end(), result) != results.end()) return value;
      continue;
    }
    if (value == result || (value == "on" && result == "yes") ||
        (value == "off" && result == "no")) {
      return value;
    }
  }
  return std::nullopt;
}

std::string describe(const NoEffect& difference) {
  return difference.toggle + " was asked to be " + difference.asked + ", the trace shows " +
         difference.seen;
}

std::vector<NoEffect> check_effective(const Subject& subject, const Settings& asked,
                                      const trace::TraceReader& trace) {
  std::vector<NoEffect> differences;
  const std::vector<int64_t> steps = trace.steps();
  if (steps.empty()) return differences;
  const trace::Step step = trace.read_step(steps.front());
  const Settings effective = effective_settings(subject, asked);
  for (const Toggle& toggle : subject.toggles) {
    // A value whose needs are not met leaves nothing to see.
    if (toggle.effective.empty() || !needs_met(toggle, asked.at(toggle.name), effective)) continue;
    const std::string result = evaluate(toggle.effective, step, trace.facts());
    const auto value = value_of(toggle, result);
    if (value == asked.at(toggle.name)) continue;
    differences.push_back(
        {toggle.name, asked.at(toggle.name), value ? *value : "'" + result + "'"});
  }
  return differences;
}

std::vector<NoEffect> check_effective(const Subject& subject, const Settings& asked,
                                      const Run& run) {
  if (!run.ended_well() || !run.left_trace()) return {};
  const trace::TraceReader trace(run.trace);
  return complete(trace) ? check_effective(subject, asked, trace) : std::vector<NoEffect>{};
}

}  // namespace nanhunt::ablate
