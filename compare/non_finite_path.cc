// SPDX-License-Identifier: Apache-2.0
#include "compare/non_finite_path.h"

#include <algorithm>

#include "compare/numbers.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::compare {
namespace {

constexpr size_t kSteps = 5;
constexpr size_t kPlaces = 5;

// Of that tensor in another step; nullptr when it was not captured.
const trace::Record* same_tensor(const trace::Step& step, const trace::Record& like) {
  const auto found = std::ranges::find_if(step.records, [&](const trace::Record& record) {
    return record.where.rank == like.where.rank &&
           record.where.microbatch == like.where.microbatch && record.what.site == like.what.site &&
           record.what.phase == like.what.phase && record.what.role == like.what.role &&
           record.what.occurrence == like.what.occurrence;
  });
  return found == step.records.end() ? nullptr : &*found;
}

}  // namespace

std::string growth_before(const SideStep& side, int record) {
  const trace::Record& last = side.record(record);
  const auto& steps = side.source->steps;
  const auto end = std::ranges::find(steps, last.what.step);
  const auto count = std::min<std::ptrdiff_t>(end - steps.begin(), kSteps - 1);
  std::vector<std::string> sizes, numbers;
  const auto add = [&](const trace::Record& one, int64_t step) {
    sizes.push_back(oracle::short_number(one.statistics.absmax()));
    numbers.push_back(std::to_string(step));
  };
  for (auto step = end - count; step != end; ++step) {
    const trace::Step earlier = side.source->read_step(*step);
    if (const trace::Record* one = same_tensor(earlier, last)) add(*one, *step);
  }
  if (sizes.empty()) return "";
  add(last, last.what.step);
  return "largest finite value " + join(sizes, ", ") + " in steps " + join(numbers, ", ") + "; " +
         std::string(trace::name_of(last.storage)) + " ends at " +
         oracle::short_number(trace::max_finite(last.storage));
}

std::vector<std::string> vanished_after(const SideStep& side, int record) {
  const auto& records = side.step->records;
  std::vector<bool> reached(records.size(), false);
  reached[static_cast<size_t>(record)] = true;
  std::vector<std::string> places;
  // A record is made of earlier ones of its rank, and of other ranks by collectives, whose results
  // may stand before their operands in the list: until nothing is added.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < records.size(); ++i) {
      if (reached[i] || !has_non_finite(records[i])) continue;
      const auto& inputs = side.flow->inputs(static_cast<int>(i));
      reached[i] = std::ranges::any_of(
          inputs, [&](int input) { return bool{reached[static_cast<size_t>(input)]}; });
      changed |= reached[i];
    }
  }
  for (size_t i = 0; i < records.size() && places.size() < kPlaces; ++i) {
    if (has_non_finite(records[i])) continue;
    const auto& inputs = side.flow->inputs(static_cast<int>(i));
    if (std::ranges::none_of(inputs,
                             [&](int input) { return bool{reached[static_cast<size_t>(input)]}; }))
      continue;
    const auto& what = records[i].what;
    std::string place = what.site + " " + std::string(trace::name_of(what.phase)) + " " + what.role;
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  }
  return places;
}

}  // namespace nanhunt::compare
