// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/example_segments.h"

#include <fstream>
#include <iterator>
#include <limits>
#include <memory>

namespace nanhunt::trace::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

int64_t product(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

Placement box_placement(const std::vector<int64_t>& shape, PlacementKind kind) {
  Placement placement;
  for (size_t d = 0; d < shape.size(); ++d) {
    placement.axes.push_back(d == 0 ? "sample" : "channel");
    placement.to_logical.push_back(static_cast<int32_t>(d));
  }
  placement.logical_shape = shape;
  placement.mesh.push_back({MeshAxis::kTp, kind, ReduceOp::kMax, 2.0});
  const std::vector<int64_t> zero(shape.size(), 0);
  placement.regions.push_back({zero, zero, shape});
  return placement;
}

Placement flat_placement(int64_t start, int64_t count) {
  Placement placement;
  placement.axes = {"row", "column"};
  placement.logical_shape = {16, 16};
  placement.to_logical = {0};
  placement.flat = true;
  placement.mesh.push_back({MeshAxis::kDp, PlacementKind::kFlat, ReduceOp::kSum, 1.0});
  placement.regions.push_back({{0}, {start}, {count}});
  return placement;
}

RegionPrint print_of(uint64_t seed) {
  RegionPrint print;
  print.value_digest = seed * 0x9E3779B97F4A7C15u;
  print.mask_digest = seed % 3;
  print.sum_squares = 0.1 * static_cast<double>(seed);
  for (size_t i = 0; i < print.sketch.size(); ++i) {
    print.sketch[i] = static_cast<double>(i) / static_cast<double>(seed + 1);
  }
  return print;
}

Record record_of(const Segment& segment, const std::string& site, const std::string& role,
                 DType dtype, const std::vector<int64_t>& shape) {
  Record record;
  const auto sequence = static_cast<int64_t>(segment.records.size());
  record.what = {segment.step, site, Phase::kForward, role, 0};
  record.where = {segment.rank, 0, sequence, Lane::kCompute};
  record.storage = dtype;
  record.compute = DType::kFloat32;
  record.rounding = 0.25F;
  record.local_shape = shape;
  record.op = "linear";
  record.raw_digest = 77u + static_cast<uint64_t>(sequence);
  record.statistics.count = static_cast<uint64_t>(product(shape));
  record.statistics.nan = 3;
  record.statistics.pos_inf = 1;
  record.statistics.neg_inf = 2;
  record.statistics.zero = 4;
  record.statistics.subnormal = 5;
  record.statistics.saturated = 6;
  record.statistics.padding = 7;
  record.statistics.min = kInf;
  record.statistics.max = -kInf;
  record.statistics.sum = kNaN;
  record.statistics.sum_squares = -0.0;
  return record;
}

void add(Segment* segment, Record record, std::vector<std::byte> values) {
  record.has_values = !values.empty() || product(record.local_shape) == 0;
  segment->records.push_back(std::move(record));
  segment->values.push_back(std::move(values));
}

void add_dtypes(Segment* segment) {
  for (uint8_t number = 0; number <= static_cast<uint8_t>(DType::kBool); ++number) {
    const auto dtype = static_cast<DType>(number);
    const std::string site = "decoder.layers." + std::to_string(number) + ".mlp.linear_fc1";
    Record record = record_of(*segment, site, "output", dtype, {4, 8});
    record.placement =
        std::make_shared<Placement>(box_placement({4, 8}, PlacementKind::kReplicated));
    record.regions.push_back(print_of(number));
    record.attributes = R"({"eps":1e-05})";
    const unsigned seed = dtype == DType::kBool ? 0 : number + 1u;
    add(segment, record, pattern_bytes(32 * size_of(dtype), seed));
  }
}

void add_placements(Segment* segment) {
  for (uint8_t kind = 0; kind <= static_cast<uint8_t>(PlacementKind::kUnknown); ++kind) {
    Record record = record_of(*segment, "placed", "input", DType::kFloat32, {2, 3});
    Placement placement = box_placement({2, 3}, static_cast<PlacementKind>(kind));
    if (static_cast<PlacementKind>(kind) == PlacementKind::kUnknown) placement = {};
    if (static_cast<PlacementKind>(kind) == PlacementKind::kFlat) placement = flat_placement(5, 6);
    for (size_t i = 0; i < placement.regions.size(); ++i) record.regions.push_back(print_of(i));
    record.placement = std::make_shared<Placement>(std::move(placement));
    record.what.phase = static_cast<Phase>(kind);
    record.where.lane = static_cast<Lane>(kind % 3);
    record.what.occurrence = kind;
    record.where.microbatch = kind - 1;
    record.links = {{0, LinkGrade::kFlow}, {1, LinkGrade::kDeclared}, {2, LinkGrade::kValue}};
    record.segment_digests = {kind, 1u, std::numeric_limits<uint64_t>::max()};
    record.collective = kind % 2 == 0 ? -1 : 0;
    add(segment, record, {});
  }
}

}  // namespace

// Multiples of an odd number run through all 256 codes, so NaN and Inf occur.
std::vector<std::byte> pattern_bytes(size_t count, unsigned seed) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(seed == 0 ? i % 2 : (i * 167 + seed * 31) % 256);
  }
  return bytes;
}

Segment rich_segment(int64_t step, int32_t rank, int32_t index, int32_t world_size) {
  Segment segment;
  segment.step = step;
  segment.rank = rank;
  segment.index = index;
  segment.facts.rank = rank;
  segment.facts.world_size = world_size;
  segment.facts.mesh_size = {world_size, 1, 1, 1, 1, 1, 1, 4};
  segment.facts.mesh_coordinate = {rank, 0, 0, 0, 0, 0, 0, 0};
  segment.facts.host = "node-7";
  segment.facts.device = "cpu";
  segment.facts.facts = {{"torch.version", "2.11.0"}, {"env.OMP_NUM_THREADS", "2"}, {"empty", ""}};
  add_dtypes(&segment);
  add_placements(&segment);
  add(&segment, record_of(segment, "loss", "output", DType::kFloat64, {}), pattern_bytes(8, 9));
  add(&segment, record_of(segment, "experts.1", "input", DType::kBFloat16, {0, 8}), {});
  add(&segment, record_of(segment, "odd/name..50%", "a/b", DType::kInt8, {3}), pattern_bytes(3, 1));
  Collective collective;
  collective.step = step;
  collective.rank = rank;
  collective.op = "reduce_scatter";
  collective.group = {0, 2};
  collective.group_sequence = 5;
  collective.reduce = ReduceOp::kMin;
  collective.divisor = 3.0;
  collective.prescaled = true;
  collective.accumulate = DType::kBFloat16;
  collective.order = "ring";
  collective.async = true;
  collective.issue_sequence = 3;
  collective.complete_sequence = -1;
  collective.inputs = {12, 13};
  collective.outputs = {14};
  segment.collectives = {collective};
  segment.collective_index = {0};
  segment.cut = CutReason::kStepEnd;
  segment.dropped = {{"memory", 4}, {"hook_failed: bad view", 1}};
  return segment;
}

Segment plain_segment(int64_t step, int32_t rank, int32_t index, int32_t world_size, int rows,
                      int64_t first_sequence, CutReason cut) {
  Segment segment;
  segment.step = step;
  segment.rank = rank;
  segment.index = index;
  segment.facts.rank = rank;
  segment.facts.world_size = world_size;
  segment.cut = cut;
  for (int i = 0; i < rows; ++i) {
    const std::string site = "decoder.layers." + std::to_string(i) + ".mlp";
    Record record = record_of(segment, site, "output", DType::kFloat32, {4, 8});
    record.where.sequence = first_sequence + i;
    record.placement =
        std::make_shared<Placement>(box_placement({4, 8}, PlacementKind::kReplicated));
    record.regions.push_back(print_of(static_cast<uint64_t>(i)));
    segment.records.push_back(std::move(record));
  }
  return segment;
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace nanhunt::trace::test
