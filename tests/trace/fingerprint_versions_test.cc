// SPDX-License-Identifier: Apache-2.0
// The vector versions against the portable one: all types, all alignments, all classes of value.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "tests/trace/random_tensor.h"
#include "trace/fingerprint_kernel.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace nanhunt::trace {
namespace {

struct Version {
  std::string name;
  RunKernel (*kernel)(DType);
};

std::vector<Version> vector_versions() {
  std::vector<Version> versions;
  if (fingerprint_version() == "avx512") versions.push_back({"avx512", avx512_kernel});
  if (fingerprint_version() != "portable") versions.push_back({"avx2", avx2_kernel});
  return versions;
}

struct Result {
  Statistics statistics;
  RegionPrint region;
};

Result run(RunKernel kernel, const std::byte* data, uint64_t first, uint64_t count) {
  const auto sums = std::make_unique<Accumulator>();
  kernel(data, first, count, *sums);
  Result result;
  result.statistics = fold(*sums, &result.region);
  return result;
}

void expect_same(const Result& a, const Result& b) {
  EXPECT_EQ(a.statistics.count, b.statistics.count);
  EXPECT_EQ(a.statistics.nan, b.statistics.nan);
  EXPECT_EQ(a.statistics.pos_inf, b.statistics.pos_inf);
  EXPECT_EQ(a.statistics.neg_inf, b.statistics.neg_inf);
  EXPECT_EQ(a.statistics.zero, b.statistics.zero);
  EXPECT_EQ(a.statistics.subnormal, b.statistics.subnormal);
  EXPECT_EQ(a.statistics.saturated, b.statistics.saturated);
  EXPECT_EQ(a.statistics.min, b.statistics.min);
  EXPECT_EQ(a.statistics.max, b.statistics.max);
  EXPECT_EQ(a.region.value_digest, b.region.value_digest);
  EXPECT_EQ(a.region.mask_digest, b.region.mask_digest);
  // Sums: equal up to the rounding of their order, measured against the sum of magnitudes.
  const double scale = 1e-13 * static_cast<double>(a.statistics.count) *
                       std::max(1e-300, a.statistics.absmax());
  EXPECT_NEAR(a.statistics.sum, b.statistics.sum, scale);
  for (int j = 0; j < kSketchBuckets; ++j) {
    EXPECT_NEAR(a.region.sketch[j], b.region.sketch[j], scale) << "bucket " << j;
  }
  if (std::isfinite(a.statistics.sum_squares)) {
    EXPECT_NEAR(a.statistics.sum_squares, b.statistics.sum_squares,
                1e-12 * a.statistics.sum_squares);
  } else {
    EXPECT_EQ(a.statistics.sum_squares, b.statistics.sum_squares);
  }
}

TEST(FingerprintVersions, AgreeForAllTypesAlignmentsAndValues) {
  std::mt19937_64 random(11);
  for (const Version& version : vector_versions()) {
    for (DType dtype : kAllTypes) {
      const RunKernel kernel = version.kernel(dtype);
      if (kernel == nullptr) continue;
      for (int round = 0; round < 120; ++round) {
        SCOPED_TRACE(version.name + " " + std::string(name_of(dtype)) + " round " +
                     std::to_string(round));
        const Values values = round % 2 == 0 ? Values::kFinite : Values::kEveryClass;
        const uint64_t count = random() % 400;
        const uint64_t first = round < 60 ? random() % 300 : random() >> 3;
        // The run starts at any element of its buffer, so loads are unaligned.
        const uint64_t skip = random() % 9;
        const std::vector<std::byte> bytes = random_bytes(dtype, count + skip, random(), values);
        const std::byte* data = bytes.data() + skip * size_of(dtype);
        expect_same(run(portable_kernel(dtype), data, first, count),
                    run(kernel, data, first, count));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(FingerprintVersions, AgreeForEveryCodeOfTheNarrowTypes) {
  std::vector<std::byte> bytes(65536 * 2);
  for (size_t code = 0; code < 65536; ++code) {
    const auto word = static_cast<uint16_t>(code);
    std::memcpy(&bytes[2 * code], &word, 2);
  }
  std::vector<std::byte> codes(256);
  for (size_t code = 0; code < 256; ++code) codes[code] = static_cast<std::byte>(code);
  for (const Version& version : vector_versions()) {
    for (DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3,
                        DType::kFloat8E5M2}) {
      const RunKernel kernel = version.kernel(dtype);
      if (kernel == nullptr) continue;
      SCOPED_TRACE(version.name + " " + std::string(name_of(dtype)));
      const std::vector<std::byte>& data = size_of(dtype) == 1 ? codes : bytes;
      const uint64_t count = data.size() / size_of(dtype);
      expect_same(run(portable_kernel(dtype), data.data(), 5, count),
                  run(kernel, data.data(), 5, count));
    }
  }
}

// The twin: one changed bit, or a run that starts one place later, is seen by every version.
TEST(FingerprintVersions, OneBitOrOnePlaceIsSeen) {
  std::vector<Version> versions = vector_versions();
  versions.push_back({"portable", portable_kernel});
  for (const Version& version : versions) {
    for (DType dtype : kAllTypes) {
      const RunKernel kernel = version.kernel(dtype);
      if (kernel == nullptr || dtype == DType::kBool) continue;
      SCOPED_TRACE(version.name + " " + std::string(name_of(dtype)));
      std::vector<std::byte> bytes = random_bytes(dtype, 200, 5, Values::kFinite);
      const uint64_t before = run(kernel, bytes.data(), 7, 200).region.value_digest;
      EXPECT_NE(run(kernel, bytes.data(), 8, 200).region.value_digest, before);
      for (size_t place : {0, 63, 64, 130, 199}) {
        std::byte& low = bytes[place * size_of(dtype)];
        low ^= std::byte{1};
        EXPECT_NE(run(kernel, bytes.data(), 7, 200).region.value_digest, before) << place;
        low ^= std::byte{1};
      }
    }
  }
}

#if defined(__SSE2__)
TEST(FingerprintVersions, FlushToZeroOfTheCallerChangesNothing) {
  std::vector<float> values(100, 0x1p-140F);
  const auto print = [&](bool portable) {
    PrintOptions options;
    options.portable = portable;
    return fingerprint(contiguous_view(values.data(), DType::kFloat32, {100}), whole({}, {100}),
                       options);
  };
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);  // flush to zero, denormals are zero
  const unsigned set = _mm_getcsr();
  const Prints flushed[] = {print(true), print(false)};
  EXPECT_EQ(_mm_getcsr(), set);  // given back as it was
  volatile float tiny = 0x1p-140F;
  const float doubled = tiny * 2;
  _mm_setcsr(saved);
  EXPECT_EQ(doubled, 0);  // the mode was on
  for (const Prints& prints : flushed) {
    EXPECT_EQ(prints.statistics.subnormal, 100u);
    EXPECT_EQ(prints.statistics.zero, 0u);
    EXPECT_EQ(prints.statistics.max, 0x1p-140);
    EXPECT_EQ(prints.statistics.sum, 100 * 0x1p-140);
  }
}
#endif

}  // namespace
}  // namespace nanhunt::trace
