// SPDX-License-Identifier: Apache-2.0
#include "capsule/capsule.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "trace/error.h"
#include "trace/step_files.h"
#include "trace/tiling.h"

namespace nanhunt::capsule {
namespace {

using trace::Record;
using trace::Region;

[[noreturn]] void fail(const std::filesystem::path& folder, const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUnreadable, "capsule " + folder.string() + ": " + what);
}

bool every_rank_ended(const trace::TraceReader& reader, int64_t step) {
  const auto progress = reader.progress(step);
  return std::ranges::all_of(progress, &trace::RankProgress::complete);
}

trace::TraceReader open(const std::filesystem::path& folder, int64_t asked) {
  const auto steps = trace::steps_in(folder);
  if (asked >= 0) {
    if (std::ranges::find(steps, asked) == steps.end())
      fail(folder,
           "no step " + std::to_string(asked) + "; the newest is " + std::to_string(steps.back()));
    return trace::TraceReader(trace::step_folder(folder, asked));
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    trace::TraceReader reader(trace::step_folder(folder, *step));
    if (every_rank_ended(reader, *step)) return reader;
  }
  return trace::TraceReader(trace::step_folder(folder, steps.back()));
}

bool holds_state(const trace::Step& step) {
  return !step.records.empty() && step.records.front().what.phase == trace::Phase::kState;
}

std::vector<Entry> entries_of(const trace::Step& step) {
  std::vector<Entry> entries;
  for (const auto& [what, records] : step.by_what()) {
    if (what.phase != trace::Phase::kState) continue;
    entries.push_back({what.site, what.role, records});
  }
  return entries;
}

// Faults of one logical tensor.
class Judge {
 public:
  Judge(const trace::Step& step, const Entry& entry, std::vector<Fault>& faults)
      : step_(step), entry_(entry), faults_(faults) {}

  void run() {
    bool coherent = true;
    for (const int index : entry_.records) {
      if (!record(index).has_values) add("rank " + rank(index) + " has no values");
      if (const auto what = Capsule::incoherence(step_, record(index)); !what.empty()) {
        add("rank " + rank(index) + ": " + what);
        coherent = false;
      }
    }
    if (coherent && !facts().layout_bound && shapes_agree()) tiles();
  }

 private:
  const KindFacts& facts() const { return facts_of(kind_of(entry_.site, entry_.role)); }
  const Record& record(int index) const { return step_.records[static_cast<size_t>(index)]; }
  std::string rank(int index) const { return std::to_string(record(index).where.rank); }
  void add(const std::string& what, bool contradiction = false) {
    const std::string tensor = name_of(entry_);
    faults_.push_back({tensor + ": " + what, facts().breaks, tensor, contradiction});
  }

  bool shapes_agree() {
    const Record& first = record(entry_.records.front());
    for (const int index : entry_.records) {
      const Record& other = record(index);
      if (trace::is_unknown(*other.placement)) {
        add("rank " + rank(index) + " does not say what part of it it has");
        return false;
      }
      if (other.placement->logical_shape != first.placement->logical_shape ||
          other.storage != first.storage) {
        add("ranks " + rank(entry_.records.front()) + " and " + rank(index) +
            " disagree about its shape or type");
        return false;
      }
    }
    return true;
  }

  void tiles() {
    std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, std::pair<int, uint64_t>> seen;
    std::vector<const Region*> regions;
    for (const int index : entry_.records) {
      const Record& piece = record(index);
      for (size_t r = 0; r < piece.placement->regions.size(); ++r) {
        const Region& region = piece.placement->regions[r];
        const uint64_t digest = piece.regions[r].value_digest ^ piece.regions[r].mask_digest;
        const auto [at, first] =
            seen.insert({{region.logical_start, region.extent}, {index, digest}});
        if (first) {
          regions.push_back(&region);
        } else if (at->second.second != digest && !facts().copies_may_differ) {
          const bool two_runs = entry_.site == kRunSite;
          add("ranks " + rank(at->second.first) + " and " + rank(index) +
                  (two_runs ? " were written by two runs" : " have copies of it that differ"),
              !two_runs);
          return;
        }
      }
    }
    const int64_t count =
        trace::elements_in(record(entry_.records.front()).placement->logical_shape);
    if (const auto fault = trace::tiling_fault(regions, count); !fault.empty()) add(fault);
  }

  const trace::Step& step_;
  const Entry& entry_;
  std::vector<Fault>& faults_;
};

}  // namespace

bool holds_capsule(const std::filesystem::path& folder, int64_t step) {
  const auto steps = trace::steps_in(folder);
  const bool there = std::ranges::find(steps, step) != steps.end();
  const int64_t at = there ? step : steps.front();
  return holds_state(trace::TraceReader(trace::step_folder(folder, at)).read_step(at));
}

bool is_ended(const std::filesystem::path& folder, int64_t step) {
  return every_rank_ended(trace::TraceReader(trace::step_folder(folder, step)), step);
}

std::vector<int64_t> ended_steps(const std::filesystem::path& folder) {
  std::vector<int64_t> ended = trace::steps_in(folder);
  std::erase_if(ended, [&](int64_t step) { return !is_ended(folder, step); });
  return ended;
}

std::string name_of(const Entry& entry) {
  return entry.site + " " + entry.role;
}

Capsule::Capsule(std::filesystem::path folder, int64_t step)
    : folder_(std::move(folder)), reader_(open(folder_, step)) {
  step_ = reader_.read_step(reader_.steps().front());
  entries_ = entries_of(step_);
  if (entries_.empty() && !step_.records.empty())
    fail(folder_, "this is a trace of a training step, and holds no state");
  look_for_faults();
}

const Entry* Capsule::find(const std::string& site, const std::string& role) const {
  const auto at = std::ranges::lower_bound(
      entries_, std::pair(site, role), {},
      [](const Entry& entry) { return std::pair(entry.site, entry.role); });
  return at != entries_.end() && at->site == site && at->role == role ? &*at : nullptr;
}

std::string Capsule::incoherence(const trace::Step& step, const Record& record) {
  if (record.placement == nullptr) return "it does not say what part of it it has";
  if (std::ranges::any_of(record.local_shape, [](int64_t extent) { return extent < 0; }) ||
      std::ranges::any_of(record.placement->logical_shape, [](int64_t n) { return n < 0; }))
    return "a shape has an extent below 0";
  const auto& progress = step.progress[static_cast<size_t>(record.where.rank)];
  double bytes = static_cast<double>(trace::size_of(record.storage));
  for (const int64_t extent : record.local_shape) bytes *= static_cast<double>(extent);
  if (record.has_values && bytes > static_cast<double>(progress.bytes))
    return "its shape has more values than the file has bytes";
  if (const auto fault = trace::placement_fault(*record.placement, record.local_shape);
      !fault.empty())
    return fault;
  if (record.regions.size() != record.placement->regions.size())
    return "it has digests of other regions than it says it has";
  return "";
}

void Capsule::look_for_faults() {
  for (const auto& progress : step_.progress) {
    if (progress.complete) continue;
    faults_.push_back({progress.present
                           ? trace::describe_progress(progress)
                           : "rank " + std::to_string(progress.rank) + " has no file"});
  }
  for (const auto& [reason, count] : step_.dropped)
    faults_.push_back({"the writer left out " + std::to_string(count) + ": " + reason});
  for (const Entry& entry : entries_) Judge(step_, entry, faults_).run();
}

void Capsule::require_whole(bool contradictions_pass) const {
  std::vector<const Fault*> grave;
  for (const Fault& fault : faults_) {
    if (!fault.contradiction || !contradictions_pass) grave.push_back(&fault);
  }
  if (grave.empty()) return;
  std::string more;
  if (grave.size() > 1) more = " (and " + std::to_string(grave.size() - 1) + " more)";
  fail(folder(),
       "step " + std::to_string(step_.step) + " is not whole: " + grave.front()->what + more);
}

}  // namespace nanhunt::capsule
