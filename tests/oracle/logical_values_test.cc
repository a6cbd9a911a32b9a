// SPDX-License-Identifier: Apache-2.0
// Values of a logical tensor, window by window, out of pieces that lie in many ways.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "oracle/logical.h"
#include "tests/oracle/step_builder.h"
#include "tests/support/scratch_folder.h"
#include "trace/region_runs.h"
#include "trace/segment.h"

namespace nanhunt::oracle::test {
namespace {

using trace::Placement;
using trace::Region;

// Logical element i holds i + 1.
struct Piecewise {
  std::vector<int64_t> local_shape;
  Placement placement;
  float divisor = 1;  // the piece holds its share of the value
};

std::vector<int64_t> position_of(int64_t flat, const std::vector<int64_t>& shape) {
  std::vector<int64_t> position(shape.size());
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) position[d] = flat % shape[d];
  return position;
}

int64_t flat_of(const std::vector<int64_t>& position, const std::vector<int64_t>& shape) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + position[d];
  return flat;
}

int64_t volume(const std::vector<int64_t>& shape) {
  int64_t volume = 1;
  for (const int64_t size : shape) volume *= size;
  return volume;
}

// The logical element that a local one holds, or -1 (padding).
int64_t logical_of(const Piecewise& piece, int64_t local) {
  const Placement& placement = piece.placement;
  for (const Region& region : placement.regions) {
    if (placement.flat) {
      const int64_t at = local - region.local_start[0];
      if (at >= 0 && at < region.extent[0]) return region.logical_start[0] + at;
      continue;
    }
    const auto position = position_of(local, piece.local_shape);
    std::vector<int64_t> logical(position.size());
    bool inside = true;
    for (size_t d = 0; d < position.size(); ++d) {
      const auto l = static_cast<size_t>(placement.to_logical[d]);
      const int64_t at = position[d] - region.local_start[d];
      inside = inside && at >= 0 && at < region.extent[l];
      logical[l] = region.logical_start[l] + at;
    }
    if (inside) return flat_of(logical, placement.logical_shape);
  }
  return -1;
}

// One record per rank; padding holds 1e6.
void write(const std::filesystem::path& folder, const std::vector<Piecewise>& pieces) {
  const auto facts = mesh_facts(static_cast<int>(pieces.size()), 1);
  for (size_t rank = 0; rank < pieces.size(); ++rank) {
    const Piecewise& piece = pieces[rank];
    std::vector<float> values(static_cast<size_t>(volume(piece.local_shape)));
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t logical = logical_of(piece, static_cast<int64_t>(i));
      values[i] = logical < 0 ? 1e6f : static_cast<float>(logical + 1) / piece.divisor;
    }
    trace::Record record;
    record.what.site = "a";
    record.what.role = "output";
    record.where.rank = static_cast<int32_t>(rank);
    record.local_shape = piece.local_shape;
    record.placement = std::make_shared<Placement>(piece.placement);
    record.has_values = true;
    auto prints = trace::fingerprint(
        trace::contiguous_view(values.data(), trace::DType::kFloat32, piece.local_shape),
        piece.placement);
    record.statistics = prints.statistics;
    record.raw_digest = prints.raw_digest;
    record.regions = std::move(prints.regions);
    trace::Segment segment;
    segment.rank = static_cast<int32_t>(rank);
    segment.facts = facts[rank];
    segment.records.push_back(std::move(record));
    segment.values.emplace_back(values.size() * sizeof(float));
    std::memcpy(segment.values[0].data(), values.data(), values.size() * sizeof(float));
    trace::write_segment(folder, segment);
  }
}

// The first wrong element of any window of any number of rows; -1: none.
int64_t first_wrong(const std::vector<Piecewise>& pieces, double error = 0) {
  const ScratchFolder folder;
  write(folder.path(), pieces);
  const trace::TraceReader reader(folder.path());
  const trace::Step step = reader.read_step(0);
  const auto logical = assemble(step, reader.facts()).front();
  EXPECT_TRUE(logical.complete) << logical.why_not;
  const int64_t length = logical.shape.back(), rows = volume(logical.shape) / length;
  for (int64_t first = 0; first < rows; ++first) {
    for (int64_t count = 1; first + count <= rows; ++count) {
      const auto values = logical_values(step, reader, logical, first, count);
      EXPECT_EQ(static_cast<int64_t>(values.size()), count * length);
      for (size_t i = 0; i < values.size(); ++i) {
        const auto at = first * length + static_cast<int64_t>(i);
        if (values[i] != static_cast<double>(at + 1) + error) return at;
      }
    }
  }
  return -1;
}

Piecewise columns(int index) {
  return {{3, 4, 3}, slice({3, 4, 6}, 2, index, 2)};
}

// [token, sample, channel] of a logical [sample, token, channel].
Piecewise permuted(std::vector<int32_t> to_logical, std::vector<int64_t> local_shape) {
  Placement placement = trace::whole({"sample", "token", "channel"}, {3, 4, 6});
  placement.to_logical = std::move(to_logical);
  return {std::move(local_shape), placement};
}

TEST(LogicalValues, ColumnsOfTwoRanks) {
  EXPECT_EQ(first_wrong({columns(0), columns(1)}), -1);
}

TEST(LogicalValues, AnErrorIsSeen) {
  EXPECT_EQ(first_wrong({columns(0), columns(1)}, 0.5), 0);
}

TEST(LogicalValues, PermutedDimensions) {
  EXPECT_EQ(first_wrong({permuted({1, 0, 2}, {4, 3, 6})}), -1);
  EXPECT_EQ(first_wrong({permuted({2, 1, 0}, {6, 4, 3})}), -1);
  EXPECT_EQ(first_wrong({permuted({2, 0, 1}, {6, 3, 4})}), -1);
}

TEST(LogicalValues, InterleavedRowsWithPadding) {
  Placement placement = trace::whole({"row", "channel"}, {6, 4});
  placement.regions = {{{1, 0}, {4, 0}, {2, 4}}, {{3, 0}, {0, 0}, {4, 4}}};
  EXPECT_EQ(first_wrong({{{8, 4}, placement}}), -1);
}

TEST(LogicalValues, FlatShards) {
  std::vector<Piecewise> pieces;
  for (int64_t rank = 0; rank < 2; ++rank) {
    Placement placement;
    placement.axes = {"row", "channel"};
    placement.logical_shape = {4, 6};
    placement.flat = true;
    placement.mesh = {{trace::MeshAxis::kTp, trace::PlacementKind::kFlat}};
    placement.regions = {{{2}, {rank * 11}, {rank == 0 ? 11 : 13}}};
    pieces.push_back({{16}, placement});
  }
  EXPECT_EQ(first_wrong(pieces), -1);
}

TEST(LogicalValues, PartialSums) {
  const auto partial = with(trace::whole({"row", "channel"}, {4, 6}), trace::MeshAxis::kTp,
                            trace::PlacementKind::kPartial);
  EXPECT_EQ(first_wrong({{{4, 6}, partial, 2}, {{4, 6}, partial, 2}}), -1);
}

// Longer than what is read at a time, and rows with gaps that are not worth reading over.
TEST(LogicalValues, LongRowsComeInPieces) {
  const std::vector<int64_t> shape{2, int64_t{1} << 19};
  std::vector<Piecewise> pieces;
  for (int rank = 0; rank < 2; ++rank) {
    pieces.push_back({{2, int64_t{1} << 18}, slice(shape, 1, rank, 2)});
  }
  EXPECT_EQ(first_wrong(pieces), -1);
}

TEST(RegionRuns, AWholeTensorIsOneRun) {
  trace::Record record;
  record.local_shape = {3, 4, 6};
  record.placement = std::make_shared<Placement>(trace::whole({"a", "b", "c"}, {3, 4, 6}));
  std::vector<trace::Run> runs;
  trace::for_each_run(*record.placement, record.local_shape, record.placement->regions[0], 7, 60,
                      [&](const trace::Run& run) { runs.push_back(run); });
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].local, 7);
  EXPECT_EQ(runs[0].length, 53);
}

}  // namespace
}  // namespace nanhunt::oracle::test
