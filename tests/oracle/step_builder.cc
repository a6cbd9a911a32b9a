// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/step_builder.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>

#include "trace/fingerprint.h"

namespace nanhunt::oracle::test {

using trace::MeshAxis;
using trace::PlacementKind;

std::vector<trace::RunFacts> mesh_facts(int tp, int dp, int microbatches) {
  std::vector<trace::RunFacts> facts;
  for (int rank = 0; rank < tp * dp; ++rank) {
    trace::RunFacts one;
    one.rank = rank;
    one.world_size = tp * dp;
    one.mesh_size[static_cast<size_t>(MeshAxis::kTp)] = tp;
    one.mesh_size[static_cast<size_t>(MeshAxis::kDp)] = dp;
    one.mesh_size[static_cast<size_t>(MeshAxis::kMicrobatch)] = microbatches;
    one.mesh_coordinate[static_cast<size_t>(MeshAxis::kTp)] = rank % tp;
    one.mesh_coordinate[static_cast<size_t>(MeshAxis::kDp)] = rank / tp;
    facts.push_back(one);
  }
  return facts;
}

trace::Placement with(trace::Placement placement, MeshAxis axis, PlacementKind kind) {
  std::erase_if(placement.mesh, [&](const auto& entry) { return entry.axis == axis; });
  placement.mesh.push_back({axis, kind, trace::ReduceOp::kSum, 1.0});
  return placement;
}

trace::Placement slice(const std::vector<int64_t>& shape, size_t dim, int index, int count,
                       MeshAxis axis) {
  trace::Placement placement = trace::whole({}, shape);
  trace::Region& region = placement.regions.front();
  region.extent[dim] = shape[dim] / count;
  region.logical_start[dim] = index * region.extent[dim];
  return with(placement, axis, PlacementKind::kShard);
}

std::vector<float> normal_values(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return normal(random); });
  return values;
}

float to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u);
}

StepBuilder::StepBuilder(std::vector<trace::RunFacts> facts) : facts_(std::move(facts)) {}

trace::Record& StepBuilder::add(int rank, trace::Phase phase, const std::string& site,
                                const std::string& role, const std::vector<float>& values,
                                const trace::Placement& placement) {
  trace::Record record;
  record.what = {0, site, phase, role, 0};
  record.where.rank = rank;
  record.where.sequence = std::ranges::count_if(
      records_, [&](const trace::Record& other) { return other.where.rank == rank; });
  for (const int32_t logical : placement.to_logical) {
    record.local_shape.push_back(placement.regions.front().extent[static_cast<size_t>(logical)]);
  }
  record.placement = std::make_shared<const trace::Placement>(placement);
  const auto view =
      trace::contiguous_view(values.data(), trace::DType::kFloat32, record.local_shape);
  const auto prints = trace::fingerprint(view, placement);
  record.statistics = prints.statistics;
  record.raw_digest = prints.raw_digest;
  record.regions = prints.regions;
  records_.push_back(std::move(record));
  return records_.back();
}

trace::Record& StepBuilder::scalar(int rank, trace::Phase phase, const std::string& site,
                                   const std::string& role, double value,
                                   const std::string& attributes) {
  auto& record = add(rank, phase, site, role, {static_cast<float>(value)}, trace::whole({}, {}));
  record.attributes = attributes;
  return record;
}

void StepBuilder::collective(const std::string& op, const std::vector<int>& group,
                             const std::vector<int64_t>& inputs,
                             const std::vector<int64_t>& outputs, trace::DType accumulate) {
  for (size_t i = 0; i < group.size(); ++i) {
    trace::Collective entry;
    entry.rank = group[i];
    entry.op = op;
    entry.group.assign(group.begin(), group.end());
    entry.accumulate = accumulate;
    entry.inputs = {inputs[i]};
    entry.outputs = {outputs[i]};
    entry.issue_sequence = inputs[i];
    entry.complete_sequence = outputs[i];
    entry.group_sequence = std::ranges::count_if(collectives_, [&](const trace::Collective& other) {
      return other.rank == entry.rank && other.group == entry.group;
    });
    collectives_.push_back(entry);
  }
}

trace::Step StepBuilder::step(int64_t number) {
  trace::Step step;
  step.step = number;
  step.records = records_;
  for (auto& record : step.records) record.what.step = number;
  std::ranges::stable_sort(step.records, {}, [](const trace::Record& record) {
    return std::pair(record.where.rank, record.where.sequence);
  });
  step.collectives = collectives_;
  std::ranges::stable_sort(step.collectives, {}, &trace::Collective::rank);
  for (const auto& rank : facts_) {
    trace::RankProgress progress;
    progress.rank = rank.rank;
    progress.present = progress.complete = true;
    step.progress.push_back(progress);
  }
  step.build_index();
  return step;
}

std::vector<Finding> findings_of(const std::string& rule, const StepBuilder& builder,
                                 const trace::Step& step, const trace::Step* previous) {
  static const Thresholds thresholds = Thresholds::installed();
  const auto found = std::ranges::find(rules(), rule, &Rule::name);
  if (found == rules().end()) throw std::invalid_argument("no rule " + rule);
  return found->check({step, previous, nullptr, builder.facts(), thresholds});
}

}  // namespace nanhunt::oracle::test
