// SPDX-License-Identifier: Apache-2.0
#include "tests/capsule/small_capsule.h"

#include <cstring>
#include <memory>
#include <span>

#include "trace/check.h"
#include "trace/fingerprint.h"
#include "trace/region_runs.h"

namespace nanhunt::capsule::test {
namespace {

void add(trace::Segment& segment, const std::string& site, const std::string& role,
         trace::DType dtype, std::vector<int64_t> shape, const trace::Placement& placement,
         std::span<const std::byte> bytes) {
  trace::Record record;
  record.what = {segment.step, site, trace::Phase::kState, role, 0};
  record.where.rank = segment.rank;
  record.where.sequence = static_cast<int64_t>(segment.records.size());
  record.storage = record.compute = dtype;
  record.local_shape = std::move(shape);
  record.placement = std::make_shared<const trace::Placement>(placement);
  record.has_values = true;
  segment.records.push_back(std::move(record));
  segment.values.emplace_back(bytes.begin(), bytes.end());
  print_again(segment, segment.records.size() - 1);
}

void add_number(trace::Segment& segment, const std::string& site, const std::string& role,
                int64_t value) {
  add(segment, site, role, trace::DType::kInt64, {}, trace::whole({}, {}),
      std::as_bytes(std::span(&value, 1)));
}

}  // namespace

trace::RunFacts facts_of(const Layout& layout, int32_t rank) {
  trace::RunFacts facts;
  facts.rank = rank;
  facts.world_size = layout.world();
  facts.mesh_size[static_cast<size_t>(trace::MeshAxis::kTp)] = layout.tp;
  facts.mesh_size[static_cast<size_t>(trace::MeshAxis::kDp)] = layout.dp;
  facts.mesh_coordinate[static_cast<size_t>(trace::MeshAxis::kTp)] = rank % layout.tp;
  facts.mesh_coordinate[static_cast<size_t>(trace::MeshAxis::kDp)] = rank / layout.tp;
  return facts;
}

std::vector<int64_t> local_shape(const Layout& layout) {
  if (layout.flat) return {kRows * kColumns / layout.world()};
  std::vector<int64_t> shape{kRows, kColumns};
  shape[static_cast<size_t>(layout.dimension)] /= layout.tp;
  return shape;
}

trace::Placement matrix_placement(const Layout& layout, int32_t rank) {
  trace::Placement placement = trace::whole({"out", "in"}, {kRows, kColumns});
  const auto shape = local_shape(layout);
  if (layout.flat) {
    placement.flat = true;
    placement.to_logical = {};
    placement.regions = {{{0}, {rank * shape[0]}, {shape[0]}}};
    placement.mesh = {{trace::MeshAxis::kTp, trace::PlacementKind::kFlat},
                      {trace::MeshAxis::kDp, trace::PlacementKind::kFlat}};
    return placement;
  }
  const auto d = static_cast<size_t>(layout.dimension);
  trace::Region region{{0, 0}, {0, 0}, shape};
  region.logical_start[d] = rank % layout.tp * shape[d];
  placement.regions = {region};
  placement.mesh = {{trace::MeshAxis::kTp, trace::PlacementKind::kShard},
                    {trace::MeshAxis::kDp, trace::PlacementKind::kReplicated}};
  return placement;
}

float element(const std::string& role, int64_t i) {
  const float base = role == "exp_avg_sq" ? 100.0f : role == "exp_avg" ? -50.0f : 1.0f;
  return base + static_cast<float>(i) / 8;
}

std::vector<float> piece_of(const Layout& layout, int32_t rank, const std::string& role) {
  const auto shape = local_shape(layout);
  const auto placement = matrix_placement(layout, rank);
  std::vector<float> piece(
      static_cast<size_t>(kRows * kColumns / (layout.flat ? layout.world() : layout.tp)));
  trace::for_each_run(
      placement, shape, placement.regions.front(), 0, kRows * kColumns, [&](const trace::Run& run) {
        for (int64_t i = 0; i < run.length; ++i)
          piece[static_cast<size_t>(run.local + i)] = element(role, run.logical + i * run.stride);
      });
  return piece;
}

trace::Segment rank_state(const Layout& layout, int32_t rank, int64_t step) {
  trace::Segment segment;
  segment.step = step;
  segment.rank = rank;
  segment.facts = facts_of(layout, rank);
  segment.cut = trace::CutReason::kStepEnd;
  add_number(segment, "capsule", "run", 77);
  for (const int64_t layer : {0, 1}) {
    const std::string site = "decoder.layers." + std::to_string(layer) + ".mlp.linear_fc1.weight";
    for (const char* role : {"param", "master", "exp_avg", "exp_avg_sq"}) {
      auto piece = piece_of(layout, rank, role);
      for (float& value : piece) value += 1000 * static_cast<float>(layer);
      add(segment, site, role, trace::DType::kFloat32, local_shape(layout),
          matrix_placement(layout, rank), std::as_bytes(std::span(piece)));
    }
  }
  const std::vector<float> bias{1, 2, 3, 4, 5, 6, 7, 8};
  add(segment, "decoder.layers.0.mlp.linear_fc1.bias", "param", trace::DType::kFloat32, {kRows},
      trace::whole({"out"}, {kRows}), std::as_bytes(std::span(bias)));
  add_number(segment, "optimizer", "step", step);
  add_number(segment, "data", "consumed_samples", step * 4);
  const std::vector<uint8_t> stream(16, static_cast<uint8_t>(rank + 1));
  add(segment, "rng.cpu", "state", trace::DType::kUInt8, {16}, trace::whole({""}, {16}),
      std::as_bytes(std::span(stream)));
  return segment;
}

void write_capsule(const std::filesystem::path& folder, const Layout& layout, int64_t step,
                   const Edit& edit) {
  for (int32_t rank = 0; rank < layout.world(); ++rank) {
    trace::Segment segment = rank_state(layout, rank, step);
    if (edit) edit(segment);
    trace::write_segment(folder, segment);
  }
}

size_t index_of(const trace::Segment& segment, const std::string& site, const std::string& role) {
  for (size_t i = 0; i < segment.records.size(); ++i) {
    const auto& what = segment.records[i].what;
    if (what.site.find(site) != std::string::npos && what.role == role) return i;
  }
  NANHUNT_CHECK(false && "no such record");
}

void print_again(trace::Segment& segment, size_t i) {
  trace::Record& record = segment.records[i];
  const auto view =
      trace::contiguous_view(segment.values[i].data(), record.storage, record.local_shape);
  const auto prints = trace::fingerprint(view, *record.placement);
  record.statistics = prints.statistics;
  record.raw_digest = prints.raw_digest;
  record.regions = prints.regions;
}

}  // namespace nanhunt::capsule::test
