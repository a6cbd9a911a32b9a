// SPDX-License-Identifier: Apache-2.0
#include "tests/compare/trace_builder.h"

#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

#include "trace/error.h"

namespace nanhunt::compare::test {
namespace {

using trace::DType;
using trace::MeshAxis;

template <typename To>
std::vector<std::byte> cast(const Values& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(To));
  for (size_t i = 0; i < values.size(); ++i) {
    const To value = static_cast<To>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return bytes;
}

// Of values that the type holds: the upper halves of their bits.
std::vector<std::byte> upper_halves(const Values& values) {
  std::vector<std::byte> bytes(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto half = static_cast<uint16_t>(std::bit_cast<uint32_t>(values[i]) >> 16);
    std::memcpy(bytes.data() + i * 2, &half, 2);
  }
  return bytes;
}

std::vector<std::byte> pack(const Values& values, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return cast<float>(values);
    case DType::kFloat64:
      return cast<double>(values);
    case DType::kFloat16:
      return cast<_Float16>(values);
    case DType::kBFloat16:
      return upper_halves(values);
    case DType::kInt64:
      return cast<int64_t>(values);
    case DType::kBool:
      return cast<bool>(values);
    case DType::kFloat8E4M3:
      return cast<uint8_t>(values);  // they are codes
    default:
      throw trace::Error(trace::ErrorKind::kUsage, "type not built here");
  }
}

std::vector<std::string> axes_of(size_t dims) {
  if (dims == 1) return {"channel"};
  if (dims == 2) return {"row", "channel"};
  return {"sample", "token", "channel"};
}

}  // namespace

Values normal_values(size_t count, uint64_t seed, double scale) {
  std::mt19937_64 generator(seed);
  Values values(count);
  for (auto& value : values) {  // sum of twelve uniforms: the same on every library
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(generator() >> 11) * 0x1p-53;
    value = static_cast<float>(scale * sum);
  }
  return values;
}

Values plus(Values a, const Values& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Values times(Values a, double factor) {
  for (auto& value : a) value = static_cast<float>(value * factor);
  return a;
}

Values columns(const Values& whole, int64_t total, int64_t begin, int64_t width) {
  Values part;
  for (int64_t row = 0; row * total < static_cast<int64_t>(whole.size()); ++row) {
    for (int64_t c = 0; c < width; ++c)
      part.push_back(whole[static_cast<size_t>(row * total + begin + c)]);
  }
  return part;
}

trace::Placement copies(std::vector<int64_t> shape) {
  auto axes = axes_of(shape.size());
  return trace::whole(std::move(axes), std::move(shape));
}

trace::Placement slice(std::vector<int64_t> shape, size_t dim, int index, int count,
                       MeshAxis axis) {
  trace::Placement placement = copies(std::move(shape));
  trace::Region& region = placement.regions.front();
  region.extent[dim] /= count;
  region.logical_start[dim] = index * region.extent[dim];
  placement.mesh.push_back({axis, trace::PlacementKind::kShard});
  return placement;
}

trace::Placement partial(std::vector<int64_t> shape, MeshAxis axis) {
  trace::Placement placement = copies(std::move(shape));
  placement.mesh.push_back({axis, trace::PlacementKind::kPartial});
  return placement;
}

TraceBuilder::TraceBuilder(int tp, int dp, int64_t first_step) {
  for (int rank = 0; rank < tp * dp; ++rank) {
    trace::RunFacts facts;
    facts.rank = rank;
    facts.world_size = tp * dp;
    facts.mesh_size[static_cast<size_t>(MeshAxis::kTp)] = tp;
    facts.mesh_size[static_cast<size_t>(MeshAxis::kDp)] = dp;
    facts.mesh_coordinate[static_cast<size_t>(MeshAxis::kTp)] = rank % tp;
    facts.mesh_coordinate[static_cast<size_t>(MeshAxis::kDp)] = rank / tp;
    facts.host = "node" + std::to_string(rank / tp);
    facts.device = "cpu" + std::to_string(rank);
    facts_.push_back(facts);
  }
  begin_step(first_step);
}

void TraceBuilder::begin_step(int64_t step) {
  current_ = step;
  steps_[step].resize(facts_.size());
  group_sequence_.clear();
}

int64_t TraceBuilder::add(const Tap& tap, const Values& values, const trace::Placement& placement) {
  RankStep& rank = steps_[current_][static_cast<size_t>(tap.rank)];
  trace::Record record;
  record.what = {current_, tap.site, tap.phase, tap.role, 0};
  record.where = {tap.rank, tap.microbatch, static_cast<int64_t>(rank.records.size()), tap.lane};
  record.storage = tap.storage;
  record.compute = DType::kFloat32;
  if (!placement.regions.empty()) {
    for (const int32_t d : placement.to_logical) {
      record.local_shape.push_back(placement.regions.front().extent[static_cast<size_t>(d)]);
    }
  } else {
    record.local_shape = {static_cast<int64_t>(values.size())};
  }
  record.placement = std::make_shared<const trace::Placement>(placement);
  record.op = tap.op;
  record.attributes = tap.attributes;
  for (const int64_t link : tap.links) record.links.push_back({link, trace::LinkGrade::kFlow});
  auto bytes = pack(values, tap.storage);
  const auto prints =
      trace::fingerprint(trace::contiguous_view(bytes.data(), tap.storage, record.local_shape),
                         placement, {.segments = tap.segments});
  record.statistics = prints.statistics;
  record.raw_digest = prints.raw_digest;
  record.segment_digests = prints.segment_digests;
  record.regions = prints.regions;
  record.has_values = true;
  rank.records.push_back(record);
  rank.values.push_back(std::move(bytes));
  return record.where.sequence;
}

int64_t TraceBuilder::scalar(const Tap& tap, double value) {
  return add(tap, {static_cast<float>(value)}, trace::whole({}, {}));
}

void TraceBuilder::collective(const std::string& op, const std::vector<int>& group,
                              const std::vector<int64_t>& operands,
                              const std::vector<int64_t>& results) {
  const int64_t number = group_sequence_[group]++;
  for (size_t i = 0; i < group.size(); ++i) {
    RankStep& rank = steps_[current_][static_cast<size_t>(group[i])];
    trace::Collective call;
    call.step = current_;
    call.rank = group[i];
    call.op = op;
    call.group.assign(group.begin(), group.end());
    call.group_sequence = number;
    call.issue_sequence = operands[i] + 1;
    call.complete_sequence = results[i];
    call.inputs = {operands[i]};
    call.outputs = {results[i]};
    const auto index = static_cast<int64_t>(rank.collectives.size());
    rank.records[static_cast<size_t>(operands[i])].collective = index;
    rank.records[static_cast<size_t>(results[i])].collective = index;
    rank.collectives.push_back(call);
  }
}

void TraceBuilder::microbatches(int count) {
  for (auto& facts : facts_) facts.mesh_size[static_cast<size_t>(MeshAxis::kMicrobatch)] = count;
}

void TraceBuilder::end_rank_early(int rank, trace::CutReason why, const std::string& detail) {
  RankStep& step = steps_[current_][static_cast<size_t>(rank)];
  step.cut = why;
  step.cut_detail = detail;
}

trace::Step TraceBuilder::step(int64_t number) const {
  trace::Step step;
  step.step = number;
  for (size_t r = 0; r < facts_.size(); ++r) {
    const RankStep& rank = steps_.at(number)[r];
    step.records.insert(step.records.end(), rank.records.begin(), rank.records.end());
    for (size_t i = 0; i < rank.collectives.size(); ++i) {
      step.collectives.push_back(rank.collectives[i]);
      step.collective_log_index.push_back(static_cast<int64_t>(i));
    }
    trace::RankProgress progress;
    progress.rank = static_cast<int32_t>(r);
    progress.present = true;
    progress.complete = rank.cut == trace::CutReason::kStepEnd;
    progress.cut = rank.cut;
    progress.cut_detail = rank.cut_detail;
    progress.last_sequence = static_cast<int64_t>(rank.records.size()) - 1;
    step.progress.push_back(progress);
  }
  for (auto& record : step.records) record.has_values = false;  // memory has none
  step.build_index();
  return step;
}

TraceSource TraceBuilder::source(const std::string& name) const {
  TraceSource source;
  source.name = name;
  source.world_size = world_size();
  for (const auto& [number, ranks] : steps_) source.steps.push_back(number);
  source.facts = facts_;
  source.read_step = [this](int64_t number) { return step(number); };
  return source;
}

void TraceBuilder::write(const std::filesystem::path& folder, bool values) const {
  for (const auto& [number, ranks] : steps_) {
    for (size_t r = 0; r < ranks.size(); ++r) {
      trace::Segment segment;
      segment.step = number;
      segment.rank = static_cast<int32_t>(r);
      segment.facts = facts_[r];
      segment.records = ranks[r].records;
      segment.values = ranks[r].values;
      if (!values) {
        for (auto& record : segment.records) record.has_values = false;
        for (auto& bytes : segment.values) bytes.clear();
      }
      segment.collectives = ranks[r].collectives;
      for (size_t i = 0; i < segment.collectives.size(); ++i) {
        segment.collective_index.push_back(static_cast<int64_t>(i));
      }
      segment.cut = ranks[r].cut;
      segment.cut_detail = ranks[r].cut_detail;
      trace::write_segment(folder, segment);
    }
  }
}

oracle::Thresholds thresholds() {
  return oracle::Thresholds::installed();
}

oracle::Envelope envelope_around(const TraceSource& trace, double healthy) {
  oracle::Envelope envelope;
  for (const int64_t number : trace.steps) {
    const trace::Step step = trace.read_step(number);
    for (const auto& [what, records] : step.by_what()) {
      for (const auto metric : {oracle::Metric::kNorm, oracle::Metric::kRow,
                                oracle::Metric::kColumn, oracle::Metric::kElement}) {
        // Twice what the runs of these tests show, as an injected rounding is more than a real one.
        const double size = (metric == oracle::Metric::kElement ? 8 : 2) * healthy;
        oracle::Pool pool;
        pool.samples = 64;
        pool.mean_square = size * size;
        pool.relative_variance = 0.02;
        pool.kind_freedom = 63;
        pool.largest = 1.3 * size;
        envelope.pools[{what.site, what.phase, what.role, number, metric}] = pool;
      }
    }
  }
  return envelope;
}

}  // namespace nanhunt::compare::test
