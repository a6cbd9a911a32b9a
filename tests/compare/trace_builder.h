// SPDX-License-Identifier: Apache-2.0
// Makes small traces for tests of compare: records whose statistics and fingerprints are those of
// real values, in memory or in files (with values).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compare/trace_source.h"
#include "oracle/envelope.h"
#include "oracle/thresholds.h"
#include "trace/segment.h"

namespace nanhunt::compare::test {

using Values = std::vector<float>;

Values normal_values(size_t count, uint64_t seed, double scale = 1);
Values plus(Values a, const Values& b);
Values times(Values a, double factor);
// Rows of `whole` [rows x columns], columns [begin, begin + width).
Values columns(const Values& whole, int64_t total, int64_t begin, int64_t width);

// Whole tensor on each rank, axes named by their number of dimensions (sample, token, channel).
trace::Placement copies(std::vector<int64_t> shape);
trace::Placement slice(std::vector<int64_t> shape, size_t dim, int index, int count,
                       trace::MeshAxis axis = trace::MeshAxis::kTp);
trace::Placement partial(std::vector<int64_t> shape, trace::MeshAxis axis = trace::MeshAxis::kTp);

struct Tap {
  int rank = 0;
  std::string site = {};
  trace::Phase phase = trace::Phase::kForward;
  std::string role = "output";
  std::vector<int64_t> links = {};  // sequence numbers
  int microbatch = -1;
  trace::DType storage = trace::DType::kFloat32;
  std::string op = {};
  std::string attributes = {};
  trace::Lane lane = trace::Lane::kCompute;
  int segments = 0;  // raw digests of so many equal pieces, by the first dimension
  int64_t step = 0;  // told to edits; the builder knows its own
};

class TraceBuilder {
 public:
  explicit TraceBuilder(int tp = 1, int dp = 1, int64_t first_step = 0);

  void begin_step(int64_t step);  // the first is begun by the constructor
  // Returns the record's sequence number on its rank. Values in local order.
  int64_t add(const Tap& tap, const Values& values, const trace::Placement& placement);
  int64_t scalar(const Tap& tap, double value);
  // Logs a call of each rank of the group; operands and results are the sequence numbers, by group
  // order. Call after the results were added.
  void collective(const std::string& op, const std::vector<int>& group,
                  const std::vector<int64_t>& operands, const std::vector<int64_t>& results);
  void microbatches(int count);  // of each step; 1 without it
  // That rank's current step is cut, by a signal if nothing else is said.
  void end_rank_early(int rank, trace::CutReason why = trace::CutReason::kSignal,
                      const std::string& detail = "");

  int world_size() const { return static_cast<int>(facts_.size()); }
  std::vector<trace::RunFacts>& facts() { return facts_; }
  trace::Step step(int64_t number) const;
  // Refers to the builder.
  TraceSource source(const std::string& name = "memory") const;
  void write(const std::filesystem::path& folder, bool values = true) const;

 private:
  struct RankStep {
    std::vector<trace::Record> records;
    std::vector<std::vector<std::byte>> values;
    std::vector<trace::Collective> collectives;
    trace::CutReason cut = trace::CutReason::kStepEnd;
    std::string cut_detail;
  };
  std::vector<trace::RunFacts> facts_;
  std::map<int64_t, std::vector<RankStep>> steps_;
  std::map<std::vector<int>, int64_t> group_sequence_;
  int64_t current_ = 0;
};

oracle::Thresholds thresholds();
// Pools for every place of the trace: healthy norm, row, column and element deviations around that
// size.
oracle::Envelope envelope_around(const TraceSource& trace, double healthy);

}  // namespace nanhunt::compare::test
