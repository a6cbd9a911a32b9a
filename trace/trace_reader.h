// SPDX-License-Identifier: Apache-2.0
// Reads a trace folder: which steps and ranks are there and how far each got, the rows of one step,
// and values on demand. Memory: the rows of the steps that the caller holds; values are read in
// pieces that the caller bounds. Not thread safe; open one reader per thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trace/collective.h"
#include "trace/record.h"
#include "trace/run_facts.h"
#include "trace/segment.h"

namespace nanhunt::trace {

// How far one rank got in one step.
struct RankProgress {
  int32_t rank = 0;
  bool present = false;        // at least one segment
  bool complete = false;       // the step was cut at its end, none of its segments is missing
  int64_t last_sequence = -1;  // of the last row
  // Why it ends here. Of a rank without a segment: how it died between an earlier step and this
  // one, when it said so (kSignal, kException); else kStepEnd.
  CutReason cut = CutReason::kStepEnd;
  std::string cut_detail;
  int64_t bytes = 0;
};

// All rows of one step, over all ranks. Indices stay valid while the Step lives.
struct Step {
  int64_t step = 0;
  std::vector<Record> records;          // by rank, then sequence
  std::vector<Collective> collectives;  // by rank, then log index
  std::vector<RankProgress> progress;   // by rank, 0 .. world_size-1
  std::vector<std::pair<std::string, int64_t>> dropped;

  // Index of the record, or -1.
  int find(int32_t rank, int64_t sequence) const;
  // Index into `collectives` of entry `log_index` of that rank, or -1.
  int find_collective(int32_t rank, int64_t log_index) const;
  // Records by what, each list ordered by rank and sequence.
  const std::map<What, std::vector<int>>& by_what() const;

  // Built by TraceReader, and by build_index() for steps made in memory (tests, adapters).
  void build_index();
  std::map<std::pair<int32_t, int64_t>, int> record_index;
  std::map<std::pair<int32_t, int64_t>, int> collective_index;
  std::map<What, std::vector<int>> what_index;
  std::vector<int64_t> collective_log_index;  // beside `collectives`
};

class TraceReader {
 public:
  // Throws Error(kUnreadable): no such folder, no segment in it, foreign file, newer major version,
  // truncated file (named), segments that contradict each other (world size, mesh).
  explicit TraceReader(std::filesystem::path folder);
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;

  const std::filesystem::path& folder() const;
  int32_t world_size() const;
  std::vector<int64_t> steps() const;            // sorted
  const std::vector<RunFacts>& facts() const;    // one per rank that wrote; sorted by rank
  const RunFacts* facts_of(int32_t rank) const;  // nullptr when that rank wrote nothing
  std::vector<RankProgress> progress(int64_t step) const;
  Step read_step(int64_t step) const;

  // Values of a record with has_values. Elements [start, start + count) in local order, packed, in
  // the storage type; `out` holds count * size_of(storage) bytes.
  void read_values(const Record& record, int64_t start, int64_t count,
                   std::span<std::byte> out) const;
  // All of them as FP64, in local order.
  std::vector<double> read_doubles(const Record& record) const;
  // The same of elements [start, start + count).
  std::vector<double> read_doubles(const Record& record, int64_t start, int64_t count) const;
  // The same into a vector that takes their number; one of that size is not allocated anew.
  void read_doubles(const Record& record, int64_t start, int64_t count,
                    std::vector<double>& values) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "rank 3 ends at sequence 812, no further segments"; "" when the rank is complete.
std::string describe_progress(const RankProgress& progress);

}  // namespace nanhunt::trace
