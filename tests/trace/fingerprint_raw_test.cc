// SPDX-License-Identifier: Apache-2.0
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <gtest/gtest.h>

#include <vector>

#include "tests/trace/random_tensor.h"
#include "trace/error.h"
#include "trace/fingerprint.h"

namespace nanhunt::trace {
namespace {

Prints print_segments(const TensorView& tensor, int segments, int dim) {
  PrintOptions options;
  options.segments = segments;
  options.segment_dim = dim;
  return fingerprint(tensor, whole({}, tensor.shape), options);
}

TEST(RawDigest, IsXxh3OfThePackedBytes) {
  for (DType dtype : kAllTypes) {
    for (int64_t count : {0, 1, 17, 240, 241, 5000, 100000}) {
      const std::vector<std::byte> bytes = random_bytes(dtype, static_cast<size_t>(count), 31);
      const Prints prints =
          fingerprint(contiguous_view(bytes.data(), dtype, {count}), whole({}, {count}));
      EXPECT_EQ(prints.raw_digest, XXH3_64bits(bytes.data(), bytes.size()))
          << name_of(dtype) << " " << count;
    }
  }
}

TEST(RawDigest, KeepsBitsThatValuesFold) {
  const std::vector<float> plus{0.0F, 1.0F}, minus{-0.0F, 1.0F};
  const Prints a = fingerprint(contiguous_view(plus.data(), DType::kFloat32, {2}), whole({}, {2}));
  const Prints b = fingerprint(contiguous_view(minus.data(), DType::kFloat32, {2}), whole({}, {2}));
  EXPECT_EQ(a.regions[0].value_digest, b.regions[0].value_digest);
  EXPECT_NE(a.raw_digest, b.raw_digest);
}

TEST(RawDigest, WalkedOutOfOrderItIsTheSame) {
  const std::vector<std::byte> bytes = random_bytes(DType::kFloat32, 40000, 32);
  const TensorView view = contiguous_view(bytes.data(), DType::kFloat32, {40000});
  Placement halves = whole({}, {40000});
  halves.regions = {{{30000}, {0}, {10000}}, {{0}, {10000}, {30000}}};
  EXPECT_EQ(fingerprint(view, halves).raw_digest, XXH3_64bits(bytes.data(), bytes.size()));
}

// Rank r of an all-gather along `dim` holds piece r: its raw digest is that of segment r.
TEST(SegmentDigests, AreTheRawDigestsOfThePieces) {
  for (DType dtype : {DType::kBFloat16, DType::kFloat32, DType::kInt64, DType::kUInt8}) {
    const std::vector<std::byte> bytes = random_bytes(dtype, 4 * 6 * 10, 33);
    const TensorView view = contiguous_view(bytes.data(), dtype, {4, 6, 10});
    for (int dim = 0; dim < 3; ++dim) {
      const std::vector<uint64_t> digests = print_segments(view, 2, dim).segment_digests;
      ASSERT_EQ(digests.size(), 2u);
      for (int64_t k = 0; k < 2; ++k) {
        TensorView piece = view;
        piece.shape[dim] /= 2;
        piece.data = bytes.data() + k * piece.shape[dim] * view.strides[dim] *
                                        static_cast<int64_t>(size_of(dtype));
        EXPECT_EQ(digests[k], fingerprint(piece, whole({}, piece.shape)).raw_digest) << dim;
      }
      EXPECT_NE(digests[0], digests[1]);
    }
    EXPECT_EQ(print_segments(view, 1, 0).segment_digests[0], fingerprint(view, {}).raw_digest);
    EXPECT_TRUE(print_segments(view, 0, 0).segment_digests.empty());
  }
}

TEST(SegmentDigests, UnequalPartsAreRefused) {
  const std::vector<float> values(12);
  const TensorView view = contiguous_view(values.data(), DType::kFloat32, {3, 4});
  EXPECT_THROW(print_segments(view, 2, 0), Error);
  EXPECT_THROW(print_segments(view, 2, 2), Error);
  EXPECT_NO_THROW(print_segments(view, 2, 1));
}

}  // namespace
}  // namespace nanhunt::trace
