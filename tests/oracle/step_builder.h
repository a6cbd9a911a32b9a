// SPDX-License-Identifier: Apache-2.0
// Makes steps in memory for tests of the oracle: records whose fingerprints are those of real
// values.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "oracle/rule.h"
#include "trace/trace_reader.h"

namespace nanhunt::oracle::test {

// A run of tp x dp ranks, rank = dp * TP + tp, as in a mesh whose fastest axis is tp.
std::vector<trace::RunFacts> mesh_facts(int tp, int dp, int microbatches = 1);

trace::Placement with(trace::Placement placement, trace::MeshAxis axis, trace::PlacementKind kind);
// Slice `index` of `count` along logical dimension `dim`.
trace::Placement slice(const std::vector<int64_t>& shape, size_t dim, int index, int count,
                       trace::MeshAxis axis = trace::MeshAxis::kTp);

std::vector<float> normal_values(size_t count, uint64_t seed);
// Nearest BF16, as float.
float to_bf16(float value);

class StepBuilder {
 public:
  explicit StepBuilder(std::vector<trace::RunFacts> facts);

  // Values are packed, in local order of the placement's only region (or the whole tensor).
  trace::Record& add(int rank, trace::Phase phase, const std::string& site, const std::string& role,
                     const std::vector<float>& values, const trace::Placement& placement);
  trace::Record& scalar(int rank, trace::Phase phase, const std::string& site,
                        const std::string& role, double value, const std::string& attributes = "");
  // Logs a collective of all these ranks; the records were added before, one per rank.
  void collective(const std::string& op, const std::vector<int>& group,
                  const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs,
                  trace::DType accumulate = trace::DType::kFloat32);

  // Finished: indices built, every rank complete.
  trace::Step step(int64_t number = 0);
  const std::vector<trace::RunFacts>& facts() const { return facts_; }

 private:
  std::vector<trace::RunFacts> facts_;
  std::vector<trace::Record> records_;
  std::vector<trace::Collective> collectives_;
};

// Findings of one rule.
std::vector<Finding> findings_of(const std::string& rule, const StepBuilder& builder,
                                 const trace::Step& step, const trace::Step* previous = nullptr);

}  // namespace nanhunt::oracle::test
