// SPDX-License-Identifier: Apache-2.0
#include "golden/export.h"

#include <deque>

#include "compare/configuration.h"
#include "compare/measurements.h"
#include "golden/table_maker.h"
#include "trace/error.h"

namespace nanhunt::golden {
namespace {

using compare::SideStep;
using compare::TraceSource;

void check_whole(const TraceSource& run, const trace::Step& step) {
  const auto fail = [&](const std::string& reason) {
    throw trace::Error(trace::ErrorKind::kUnreadable,
                       run.name + ": step " + std::to_string(step.step) + ": " + reason +
                           "; only whole runs are exported");
  };
  if (step.records.empty()) fail("no records");
  for (const auto& rank : step.progress) {
    if (const std::string cut = trace::describe_progress(rank); !cut.empty()) fail(cut);
  }
}

void check_steps(const std::vector<TraceSource>& runs) {
  if (runs.empty()) throw trace::Error(trace::ErrorKind::kUsage, "no run to export");
  for (const auto& run : runs) {
    if (run.steps.empty()) {
      throw trace::Error(trace::ErrorKind::kUnreadable, run.name + ": holds no step");
    }
    if (run.steps == runs.front().steps) continue;
    throw trace::Error(trace::ErrorKind::kUsage,
                       run.name + " holds other steps than " + runs.front().name);
  }
}

// The runs of one table, what is collected of them over the steps.
struct Group {
  Table table;
  std::vector<size_t> runs;
  std::vector<std::vector<compare::Loss>> losses;  // by run
};

std::deque<Group> groups_of(const std::vector<TraceSource>& runs) {
  std::deque<Group> groups;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string places = places_hash(runs[i]);
    Group* group = nullptr;
    for (auto& each : groups) {
      if (each.table.places == places) group = &each;
    }
    if (group == nullptr) {
      group = &groups.emplace_back();
      group->table.layout = layout_name(runs[i]);
      group->table.places = places;
    }
    group->runs.push_back(i);
    group->table.runs = static_cast<int>(group->runs.size());
  }
  return groups;
}

void add_configuration(Table& table, const SideStep& side) {
  for (auto& [key, value] : compare::effective_configuration(side))
    table.configuration[key].insert(value);
  if (!side.source->facts.empty())
    table.configuration["device"].insert(side.source->facts.front().device);
}

void add_step(Group& group, TableMaker& maker, const std::vector<SideStep>& sides, bool by_rank,
              bool first_step) {
  std::vector<Items> items;
  group.losses.resize(group.runs.size());
  for (size_t i = 0; i < group.runs.size(); ++i) {
    const SideStep& side = sides[group.runs[i]];
    items.push_back(by_rank ? items_by_rank(side) : items_by_logical(side));
    compare::add_losses(group.losses[i], side, nullptr);
    if (first_step) add_configuration(group.table, side);
  }
  maker.add_step(sides.front().step->step, items);
}

std::vector<SideStep> read_sides(const std::vector<TraceSource>& runs, int64_t step) {
  std::vector<SideStep> sides;
  for (const auto& run : runs) {
    sides.push_back(compare::make_side(run, run.read_step(step), oracle::Side::kReference));
    check_whole(run, *sides.back().step);
  }
  return sides;
}

}  // namespace

Golden export_runs(const std::vector<TraceSource>& runs, const oracle::Thresholds& thresholds,
                   const ExportOptions& options) {
  check_steps(runs);
  std::deque<Group> groups = groups_of(runs);
  Group all;
  all.table.layout = "logical tensors";
  all.table.runs = static_cast<int>(runs.size());
  all.table.layouts = static_cast<int>(groups.size());
  for (size_t i = 0; i < runs.size(); ++i) all.runs.push_back(i);

  std::deque<TableMaker> makers;
  for (auto& group : groups) {
    makers.emplace_back(group.table, group.table.runs > 1 || options.deterministic,
                        group.table.runs < kFewestForNoise ? "two exporting runs differ" : "");
  }
  TableMaker across(
      all.table, runs.size() > 1 || options.deterministic,
      all.table.layouts < kFewestForNoise ? "fewer than three layouts were exported" : "");
  for (const int64_t step : runs.front().steps) {
    const bool first = step == runs.front().steps.front();
    const auto sides = read_sides(runs, step);
    for (size_t g = 0; g < groups.size(); ++g) add_step(groups[g], makers[g], sides, true, first);
    add_step(all, across, sides, false, first);
  }

  Golden golden;
  golden.thresholds = thresholds.values();
  golden.thresholds_sha256 = thresholds.sha256();
  golden.repeats_by_word = options.deterministic;
  golden.runs = static_cast<int>(runs.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    makers[g].add_curves(groups[g].losses);
    golden.tables.push_back(std::move(groups[g].table));
  }
  across.add_curves(all.losses);
  golden.across = std::move(all.table);
  return golden;
}

}  // namespace nanhunt::golden
