// SPDX-License-Identifier: Apache-2.0
// Which elements of an operand a result is made of: against logical indices worked out element by
// element.
#include "oracle/rules/parts_of_result.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/oracle/step_builder.h"

namespace nanhunt::oracle::test {
namespace {

using trace::MeshAxis;
using trace::Placement;
using trace::Record;

using Indices = std::vector<int64_t>;

constexpr int64_t kNothing = -1;

Record record_of(Placement placement, Indices local_shape) {
  Record record;
  record.local_shape = std::move(local_shape);
  record.placement = std::make_shared<const Placement>(std::move(placement));
  return record;
}

// Local shape [2, 3, 4] of logical [3, 2, 4]: the first two dimensions change places.
Placement turned(const Indices& logical, Indices start, Indices extent) {
  Placement placement = trace::whole({"sample", "token", "channel"}, logical);
  placement.to_logical = {1, 0, 2};
  placement.regions = {{{0, 0, 0}, std::move(start), std::move(extent)}};
  return placement;
}

Placement flat(int64_t all, std::vector<trace::Region> regions) {
  Placement placement = trace::whole({""}, {all});
  placement.flat = true;
  placement.regions = std::move(regions);
  return placement;
}

// Which operand element each element of the result is; kNothing for padding.
Indices sources(const Record& operand, const Record& result) {
  const auto parts = parts_of_result(operand, result);
  if (!parts) return {};
  int64_t count = 1;
  for (const int64_t extent : result.local_shape) count *= extent;
  Indices found(static_cast<size_t>(count), kNothing);
  int64_t end = 0;
  for (const Part& part : *parts) {
    EXPECT_GE(part.result, end);
    end = part.result + part.length;
    for (int64_t i = 0; i < part.length; ++i)
      found[static_cast<size_t>(part.result + i)] = part.operand + i;
  }
  return found;
}

TEST(PartsOfResult, AreASliceOfAnyDimension) {
  const Indices shape{4, 6, 8};
  const Record operand = record_of(trace::whole({"a", "b", "c"}, shape), shape);
  for (size_t cut = 0; cut < 3; ++cut) {
    for (int rank = 0; rank < 2; ++rank) {
      Indices local = shape, expected;
      local[cut] /= 2;
      for (int64_t i = 0; i < local[0]; ++i) {
        for (int64_t j = 0; j < local[1]; ++j) {
          for (int64_t k = 0; k < local[2]; ++k) {
            Indices at{i, j, k};
            at[cut] += rank * local[cut];
            expected.push_back((at[0] * 6 + at[1]) * 8 + at[2]);
          }
        }
      }
      EXPECT_EQ(sources(operand, record_of(slice(shape, cut, rank, 2), local)), expected);
    }
  }
}

TEST(PartsOfResult, FollowTheOrderOfDimensions) {
  // Logical [2, 6, 3], local [6, 2, 3] and a result of tokens 2 to 4.
  const Record operand = record_of(turned({2, 6, 3}, {0, 0, 0}, {2, 6, 3}), {6, 2, 3});
  const Record result = record_of(turned({2, 6, 3}, {0, 2, 0}, {2, 2, 3}), {2, 2, 3});
  EXPECT_EQ(sources(operand, result), (Indices{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  // The operand in the order of the logical tensor: samples are 18 elements apart, tokens 3.
  const Record straight =
      record_of(trace::whole({"sample", "token", "channel"}, {2, 6, 3}), {2, 6, 3});
  EXPECT_EQ(sources(straight, result), (Indices{6, 7, 8, 24, 25, 26, 9, 10, 11, 27, 28, 29}));
}

TEST(PartsOfResult, AreSeveralPieces) {
  // As zigzag context parallelism cuts: first and last quarter.
  const Record operand = record_of(trace::whole({"token"}, {8}), {8});
  Placement ends = trace::whole({"token"}, {8});
  ends.regions = {{{0}, {0}, {2}}, {{2}, {6}, {2}}};
  EXPECT_EQ(sources(operand, record_of(ends, {4})), (Indices{0, 1, 6, 7}));
}

TEST(PartsOfResult, AreARangeOfAFlatBuffer) {
  const Record tensor = record_of(trace::whole({"out", "in"}, {3, 4}), {3, 4});
  const Record result = record_of(flat(12, {{{0}, {5}, {4}}}), {4});
  EXPECT_EQ(sources(tensor, result), (Indices{5, 6, 7, 8}));
  // A bucket that is padded at its end, and the last rank's part of it.
  const Record bucket = record_of(flat(10, {{{0}, {0}, {10}}}), {12});
  EXPECT_EQ(sources(bucket, record_of(flat(10, {{{0}, {8}, {2}}}), {4})),
            (Indices{8, 9, kNothing, kNothing}));
  // An operand that is itself made of two ranges, the later one first.
  const Record ranges = record_of(flat(12, {{{0}, {6}, {6}}, {{6}, {0}, {6}}}), {12});
  EXPECT_EQ(sources(ranges, result), (Indices{11, 0, 1, 2}));
}

TEST(PartsOfResult, AreUnknownWhereNothingTells) {
  const Record operand = record_of(trace::whole({"a"}, {8}), {8});
  const Record half = record_of(slice({8}, 0, 1, 2), {4});
  EXPECT_TRUE(parts_of_result(operand, half));
  // Another tensor, an unknown placement, elements that the operand has not, or has twice.
  EXPECT_FALSE(parts_of_result(record_of(trace::whole({"a"}, {16}), {16}), half));
  EXPECT_FALSE(parts_of_result(record_of({}, {8}), half));
  EXPECT_FALSE(parts_of_result(operand, record_of({}, {4})));
  EXPECT_FALSE(parts_of_result(record_of(slice({8}, 0, 0, 4), {2}), half));
  Placement twice = trace::whole({"a"}, {8});
  twice.regions = {{{0}, {0}, {8}}, {{8}, {4}, {4}}};
  EXPECT_FALSE(parts_of_result(record_of(twice, {12}), half));
}

TEST(PartsOfResult, OfOneShapeLieAlike) {
  const Record unknown = record_of({}, {2, 3});
  EXPECT_EQ(sources(unknown, unknown), (Indices{0, 1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace nanhunt::oracle::test
