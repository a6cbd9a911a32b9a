// SPDX-License-Identifier: Apache-2.0
// Fingerprints of disjoint regions add up to those of the logical tensor, whatever the layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/trace/random_tensor.h"
#include "trace/error.h"
#include "trace/fingerprint.h"

namespace nanhunt::trace {
namespace {

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

struct Logical {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  RegionPrint print() const {
    return fingerprint(contiguous_view(bytes.data(), dtype, shape), whole({}, shape)).regions[0];
  }
  const std::byte* at(int64_t index) const {
    return bytes.data() + index * static_cast<int64_t>(size_of(dtype));
  }
};

Logical random_logical(DType dtype, std::vector<int64_t> shape, uint64_t seed,
                       Values values = Values::kEveryClass) {
  const auto count = static_cast<size_t>(product(shape));
  return {dtype, std::move(shape), random_bytes(dtype, count, seed, values)};
}

int64_t flat_index(const std::vector<int64_t>& position, const std::vector<int64_t>& shape) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + position[d];
  return index;
}

// One rank's tensor: memory of `local_shape`, filled from the logical tensor through the regions;
// cells of no region hold 0xEE bytes.
struct Local {
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

Local cut(const Logical& logical, const Placement& placement, const std::vector<int64_t>& shape) {
  const size_t size = size_of(logical.dtype);
  Local local{shape,
              std::vector<std::byte>(static_cast<size_t>(product(shape)) * size, std::byte{0xEE})};
  for (const Region& region : placement.regions) {
    for (int64_t i = 0; i < product(region.extent); ++i) {
      std::vector<int64_t> in_logical(region.extent.size()), in_box(region.extent.size());
      for (int64_t rest = i, d = static_cast<int64_t>(in_box.size()) - 1; d >= 0; --d) {
        in_box[d] = rest % region.extent[d];
        rest /= region.extent[d];
        in_logical[d] = region.logical_start[d] + in_box[d];
      }
      std::vector<int64_t> in_local(shape.size());
      for (size_t d = 0; d < shape.size(); ++d) {
        in_local[d] = region.local_start[d] + in_box[placement.to_logical[d]];
      }
      std::memcpy(&local.bytes[static_cast<size_t>(flat_index(in_local, shape)) * size],
                  logical.at(flat_index(in_logical, placement.logical_shape)), size);
    }
  }
  return local;
}

Prints print_cut(const Logical& logical, const Placement& placement,
                 const std::vector<int64_t>& shape, bool portable = false) {
  const Local local = cut(logical, placement, shape);
  PrintOptions options;
  options.portable = portable;
  return fingerprint(contiguous_view(local.bytes.data(), logical.dtype, shape), placement, options);
}

RegionPrint total(const std::vector<RegionPrint>& regions) {
  return std::accumulate(regions.begin(), regions.end(), RegionPrint(), add);
}

void expect_equal(const RegionPrint& a, const RegionPrint& b) {
  EXPECT_EQ(a.value_digest, b.value_digest);
  EXPECT_EQ(a.mask_digest, b.mask_digest);
  if (!std::isfinite(b.sum_squares)) return;  // FP64 beyond what squares can hold
  const double scale = 1e-12 * std::sqrt(b.sum_squares) * 100;
  EXPECT_NEAR(a.sum_squares, b.sum_squares, 1e-10 * b.sum_squares);
  for (int j = 0; j < kSketchBuckets; ++j) EXPECT_NEAR(a.sketch[j], b.sketch[j], scale);
}

// Cuts `length` into pieces of random sizes.
std::vector<int64_t> random_cuts(int64_t length, std::mt19937_64& random) {
  std::vector<int64_t> cuts{0, length};
  for (uint64_t n = random() % 5; n > 0; --n) {
    cuts.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(length + 1)));
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

TEST(FingerprintRegions, SlicesOfAnyWidthAlongAnyDimensionAddUp) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 60; ++round) {
    const DType dtype = kAllTypes[round % 12];
    const std::vector<int64_t> shape{1 + static_cast<int64_t>(random() % 5),
                                     1 + static_cast<int64_t>(random() % 9),
                                     1 + static_cast<int64_t>(random() % 200)};
    const Logical logical = random_logical(dtype, shape, random());
    const size_t dim = random() % 3;
    const std::vector<int64_t> cuts = random_cuts(shape[dim], random);
    std::vector<RegionPrint> shards;
    for (size_t k = 0; k + 1 < cuts.size(); ++k) {
      std::vector<int64_t> local_shape = shape;
      local_shape[dim] = cuts[k + 1] - cuts[k];
      Placement placement = whole({}, shape);
      placement.regions[0].logical_start[dim] = cuts[k];
      placement.regions[0].extent = local_shape;
      shards.push_back(print_cut(logical, placement, local_shape).regions[0]);
    }
    SCOPED_TRACE(std::string(name_of(dtype)) + " round " + std::to_string(round));
    expect_equal(total(shards), logical.print());
  }
}

// Interleaved rows (heads of q, k and v), local dimensions permuted, padding in between.
TEST(FingerprintRegions, InterleavedPermutedAndPaddedRegionsAddUp) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 40; ++round) {
    const Logical logical = random_logical(kAllTypes[round % 12], {4, 6, 37}, random());
    std::vector<int32_t> order{0, 1, 2};
    std::shuffle(order.begin(), order.end(), random);
    std::vector<RegionPrint> shards;
    for (int64_t rank = 0; rank < 2; ++rank) {
      Placement placement = whole({"sample", "token", "channel"}, logical.shape);
      placement.to_logical = order;
      placement.regions.clear();
      std::vector<int64_t> local_shape{0, 0, 0};
      const std::vector<int64_t> held{4, 4, 40};  // a token row and three channels of padding
      for (int d = 0; d < 3; ++d) local_shape[d] = held[order[d]];
      for (int64_t piece = 0; piece < 3; ++piece) {  // tokens rank, rank + 2, rank + 4
        Region region{{0, 0, 0}, {0, 2 * piece + rank, 0}, {4, 1, 37}};
        for (int d = 0; d < 3; ++d) {
          if (order[d] == 1) region.local_start[d] = piece;
          if (order[d] == 2) region.local_start[d] = 1;
        }
        placement.regions.push_back(region);
      }
      const Prints prints = print_cut(logical, placement, local_shape);
      EXPECT_EQ(prints.statistics.count, 4u * 3 * 37);
      EXPECT_EQ(prints.statistics.padding, 4u * 4 * 40 - 4u * 3 * 37);
      shards.push_back(total(prints.regions));
    }
    SCOPED_TRACE(round);
    expect_equal(total(shards), logical.print());
  }
}

TEST(FingerprintRegions, FlatRangesAddUp) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 24; ++round) {
    const Logical logical = random_logical(kAllTypes[round % 12], {13, 29}, random());
    const std::vector<int64_t> cuts = random_cuts(13 * 29, random);
    std::vector<RegionPrint> shards;
    for (size_t k = 0; k + 1 < cuts.size(); ++k) {
      Placement placement;
      placement.logical_shape = logical.shape;
      placement.flat = true;
      const int64_t length = cuts[k + 1] - cuts[k];
      placement.regions = {{{3}, {cuts[k]}, {length}}};
      std::vector<std::byte> buffer(static_cast<size_t>(length + 5) * size_of(logical.dtype));
      if (length > 0) {
        std::memcpy(buffer.data() + 3 * size_of(logical.dtype), logical.at(cuts[k]),
                    static_cast<size_t>(length) * size_of(logical.dtype));
      }
      const Prints prints =
          fingerprint(contiguous_view(buffer.data(), logical.dtype, {length + 5}), placement);
      EXPECT_EQ(prints.statistics.padding, 5u);
      shards.push_back(prints.regions[0]);
    }
    SCOPED_TRACE(round);
    expect_equal(total(shards), logical.print());
  }
}

// The same tensor seen through strides: a transposed view against its copy.
TEST(FingerprintRegions, StridesDoNotMatter) {
  for (DType dtype : kAllTypes) {
    const Logical logical = random_logical(dtype, {7, 150}, 4);
    Placement transposed = whole({}, {7, 150});
    transposed.to_logical = {1, 0};
    const Local copy = cut(logical, transposed, {150, 7});
    const TensorView strided{logical.bytes.data(), dtype, {150, 7}, {1, 150}};
    EXPECT_FALSE(strided.contiguous());
    const Prints a = fingerprint(strided, transposed);
    const Prints b = fingerprint(contiguous_view(copy.bytes.data(), dtype, {150, 7}), transposed);
    expect_equal(a.regions[0], logical.print());
    expect_equal(b.regions[0], logical.print());
    EXPECT_EQ(a.raw_digest, b.raw_digest);
    if (dtype == DType::kBool) continue;
    EXPECT_NE(a.raw_digest, fingerprint(contiguous_view(logical.bytes.data(), dtype, {7, 150}),
                                        whole({}, {7, 150}))
                                .raw_digest);
  }
}

// Runs longer than one piece of the pass, gathered and direct.
TEST(FingerprintRegions, LongRunsAreCutInPieces) {
  const Logical logical = random_logical(DType::kBFloat16, {3, 10007}, 12);
  Placement transposed = whole({}, {3, 10007});
  transposed.to_logical = {1, 0};
  const Prints gathered = print_cut(logical, transposed, {10007, 3});
  PrintOptions portable;
  portable.portable = true;
  const Prints direct =
      fingerprint(contiguous_view(logical.bytes.data(), logical.dtype, {3, 10007}),
                  whole({}, {3, 10007}), portable);
  expect_equal(gathered.regions[0], direct.regions[0]);
  EXPECT_EQ(gathered.statistics.count, 3u * 10007);
  EXPECT_EQ(gathered.statistics.nan, direct.statistics.nan);
  EXPECT_NE(gathered.raw_digest, direct.raw_digest);
}

// A value is the same in every container that holds it; kinds of number are told apart.
TEST(FingerprintRegions, ValuesDoNotDependOnTheirContainer) {
  std::mt19937_64 random(13);
  std::vector<float> wide(300);
  std::vector<uint16_t> narrow(300);
  std::vector<double> doubles(300);
  std::vector<int32_t> ints(300);
  std::vector<int64_t> longs(300);
  for (size_t i = 0; i < wide.size(); ++i) {
    narrow[i] = static_cast<uint16_t>(random());
    widen_to_float(&narrow[i], DType::kBFloat16, 1, &wide[i]);
    doubles[i] = wide[i];
    longs[i] = ints[i] = static_cast<int32_t>(random());
  }
  const auto digest = [](const void* data, DType dtype) {
    return fingerprint(contiguous_view(data, dtype, {300}), whole({}, {300}))
        .regions[0]
        .value_digest;
  };
  EXPECT_EQ(digest(narrow.data(), DType::kBFloat16), digest(wide.data(), DType::kFloat32));
  EXPECT_EQ(digest(ints.data(), DType::kInt32), digest(longs.data(), DType::kInt64));
  EXPECT_NE(digest(doubles.data(), DType::kFloat64), digest(wide.data(), DType::kFloat32));
  EXPECT_NE(digest(narrow.data(), DType::kFloat16), digest(narrow.data(), DType::kBFloat16));
  EXPECT_NE(digest(longs.data(), DType::kInt64), digest(longs.data(), DType::kFloat64));
}

TEST(FingerprintRegions, FlatRangesOfAStridedTensor) {
  const Logical logical = random_logical(DType::kFloat32, {6, 10}, 5);
  const TensorView strided{logical.bytes.data(), DType::kFloat32, {10, 6}, {1, 10}};
  Placement flat;
  flat.logical_shape = {60};
  flat.flat = true;
  flat.regions = {{{0}, {0}, {60}}};
  Placement plain = whole({}, {10, 6});
  const Prints a = fingerprint(strided, flat);
  const Prints b = fingerprint(strided, plain);
  expect_equal(a.regions[0], b.regions[0]);
  EXPECT_EQ(a.raw_digest, b.raw_digest);
  EXPECT_NE(a.regions[0].value_digest, logical.print().value_digest);
}

// The twins: what must change the digest.
TEST(FingerprintRegions, SwapsShiftsAndWrongPlacesAreSeen) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 50; ++round) {
    const int64_t width = 8 + static_cast<int64_t>(random() % 200);
    Logical logical = random_logical(DType::kFloat32, {9, width}, random(), Values::kFinite);
    const Prints before = fingerprint(
        contiguous_view(logical.bytes.data(), logical.dtype, logical.shape), whole({}, {9, width}));
    const auto a = static_cast<int64_t>(random() % 9);
    const int64_t b = (a + 1 + static_cast<int64_t>(random() % 8)) % 9;
    std::swap_ranges(logical.bytes.begin() + a * width * 4,
                     logical.bytes.begin() + (a + 1) * width * 4,
                     logical.bytes.begin() + b * width * 4);
    const Prints after = fingerprint(
        contiguous_view(logical.bytes.data(), logical.dtype, logical.shape), whole({}, {9, width}));
    EXPECT_EQ(after.statistics.min, before.statistics.min);
    EXPECT_NE(after.regions[0].value_digest, before.regions[0].value_digest);
    EXPECT_NE(after.raw_digest, before.raw_digest);

    Placement shifted = whole({}, {10, width});
    shifted.regions[0].extent = {9, width};
    shifted.regions[0].logical_start = {1, 0};
    EXPECT_NE(print_cut(random_logical(DType::kFloat32, {10, width}, 1), shifted, {9, width})
                  .regions[0]
                  .value_digest,
              before.regions[0].value_digest);
  }
}

TEST(FingerprintRegions, ASliceCountedTwiceOrLeftOutIsSeen) {
  const Logical logical = random_logical(DType::kBFloat16, {4, 100}, 7);
  Placement placement = whole({}, {4, 100});
  placement.regions = {{{0, 0}, {0, 0}, {4, 30}}, {{0, 30}, {0, 30}, {4, 70}}};
  const std::vector<RegionPrint> regions = print_cut(logical, placement, {4, 100}).regions;
  expect_equal(total(regions), logical.print());
  EXPECT_NE(regions[1].value_digest, logical.print().value_digest);
  EXPECT_NE(add(total(regions), regions[0]).value_digest, logical.print().value_digest);
}

TEST(FingerprintRegions, PaddingCellsEnterRawDigestOnly) {
  const Logical logical = random_logical(DType::kFloat32, {3, 20}, 8);
  Placement placement = whole({}, {3, 20});
  Local local = cut(logical, placement, {4, 20});
  const auto print = [&] {
    return fingerprint(contiguous_view(local.bytes.data(), DType::kFloat32, {4, 20}), placement);
  };
  const Prints before = print();
  const float nan = std::nanf("");
  std::memcpy(&local.bytes[70 * 4], &nan, 4);  // in the padding row
  const Prints after = print();
  EXPECT_EQ(after.statistics.padding, 20u);
  EXPECT_EQ(after.statistics.nan, before.statistics.nan);
  EXPECT_EQ(after.regions[0].value_digest, before.regions[0].value_digest);
  EXPECT_NE(after.raw_digest, before.raw_digest);
  std::memcpy(&local.bytes[50 * 4], &nan, 4);  // in the region
  EXPECT_NE(print().regions[0].value_digest, before.regions[0].value_digest);
}

TEST(FingerprintRegions, UnknownPlacementsGiveStatisticsAndRawDigestOnly) {
  const Logical logical = random_logical(DType::kFloat32, {5, 70}, 9);
  const TensorView view = contiguous_view(logical.bytes.data(), logical.dtype, logical.shape);
  const Prints unknown = fingerprint(view, Placement());
  const Prints known = fingerprint(view, whole({}, logical.shape));
  EXPECT_TRUE(unknown.regions.empty());
  EXPECT_EQ(unknown.raw_digest, known.raw_digest);
  EXPECT_EQ(unknown.statistics.count, known.statistics.count);
  EXPECT_EQ(unknown.statistics.nan, known.statistics.nan);
  EXPECT_EQ(unknown.statistics.min, known.statistics.min);
  EXPECT_EQ(unknown.statistics.padding, 0u);
}

TEST(FingerprintRegions, EmptyAndScalarTensors) {
  const Prints empty =
      fingerprint(contiguous_view(nullptr, DType::kFloat32, {0, 5}), whole({}, {0, 5}));
  EXPECT_EQ(empty.statistics.count, 0u);
  EXPECT_EQ(empty.regions[0].value_digest, 0u);
  EXPECT_EQ(empty.statistics.min, std::numeric_limits<double>::infinity());
  const float value = -2.5F;
  const Prints scalar = fingerprint(contiguous_view(&value, DType::kFloat32, {}), whole({}, {}));
  EXPECT_EQ(scalar.statistics.count, 1u);
  EXPECT_EQ(scalar.statistics.sum, -2.5);
  EXPECT_NE(scalar.regions[0].value_digest, 0u);
  EXPECT_NE(scalar.raw_digest, empty.raw_digest);
}

TEST(FingerprintRegions, APlacementThatLeavesTheTensorIsRefused) {
  const std::vector<float> values(12);
  const TensorView view = contiguous_view(values.data(), DType::kFloat32, {3, 4});
  EXPECT_THROW(fingerprint(view, whole({}, {3, 5})), Error);
  EXPECT_NO_THROW(fingerprint(view, whole({}, {3, 4})));
}

}  // namespace
}  // namespace nanhunt::trace
