// SPDX-License-Identifier: Apache-2.0
// AVX2 kernels: 8 lanes of FP32 at a time. A block that a run covers in part is copied into a block of
// zeros first.
#include "trace/fingerprint_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "trace/fingerprint_tables.h"

#define NANHUNT_AVX2 __attribute__((target("avx2,f16c")))
#define NANHUNT_AVX2_INLINE NANHUNT_AVX2 __attribute__((always_inline)) inline

namespace nanhunt::trace {
namespace {

constexpr int kWide = 4;    // 64-bit lanes of a vector
constexpr int kNarrow = 8;  // 32-bit lanes

// Loaders give FP32 bits of 8 elements.
struct Fp32 {
  static constexpr DType kType = DType::kFloat32;
  static constexpr int kSize = 4;
  NANHUNT_AVX2_INLINE static __m256i load(const char* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
};

struct Bf16 {
  static constexpr DType kType = DType::kBFloat16;
  static constexpr int kSize = 2;
  NANHUNT_AVX2_INLINE static __m256i load(const char* from) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_slli_epi32(_mm256_cvtepu16_epi32(codes), 16);
  }
};

struct Fp16 {
  static constexpr DType kType = DType::kFloat16;
  static constexpr int kSize = 2;
  NANHUNT_AVX2_INLINE static __m256i load(const char* from) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castps_si256(_mm256_cvtph_ps(codes));
  }
};

struct Sums {
  __m256d sum[2];
  __m256d sum_squares[2];
  __m256i digest[2];
  __m256 low, high;
};

NANHUNT_AVX2_INLINE Sums load_sums(const Accumulator& from) {
  Sums sums;
  for (int i = 0; i < 2; ++i) {
    sums.sum[i] = _mm256_load_pd(&from.sum[i * kWide]);
    sums.sum_squares[i] = _mm256_load_pd(&from.sum_squares[i * kWide]);
    sums.digest[i] = _mm256_load_si256(reinterpret_cast<const __m256i*>(&from.digest[i * kWide]));
  }
  sums.low = _mm256_load_ps(from.min.data());
  sums.high = _mm256_load_ps(from.max.data());
  return sums;
}

NANHUNT_AVX2_INLINE void store_sums(const Sums& sums, Accumulator& to) {
  for (int i = 0; i < 2; ++i) {
    _mm256_store_pd(&to.sum[i * kWide], sums.sum[i]);
    _mm256_store_pd(&to.sum_squares[i * kWide], sums.sum_squares[i]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(&to.digest[i * kWide]), sums.digest[i]);
  }
  _mm256_store_ps(to.min.data(), sums.low);
  _mm256_store_ps(to.max.data(), sums.high);
}

NANHUNT_AVX2_INLINE __m256i load_table(const uint64_t* entry) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(entry));
}

struct BlockVectors {
  __m256i key, high, signs;
  double* sketch;  // bucket of lane 0, before reduction modulo 64
};

// Adds 4 finite values to sums and sketch, and 4 words to the digest. Lanes outside the run have
// value 0, and `in_run` 0.
template <bool kFull>
NANHUNT_AVX2_INLINE void add_four(__m256d value, __m128i bits, __m128i in_run, int lane,
                                  const BlockVectors& block, Sums& sums) {
  const int i = lane / kWide % 2;
  sums.sum[i] = _mm256_add_pd(sums.sum[i], value);
  sums.sum_squares[i] = _mm256_add_pd(sums.sum_squares[i], _mm256_mul_pd(value, value));
  const __m256i shifted = _mm256_sllv_epi64(block.signs, load_table(&kLanes.sign_shift[lane]));
  const __m256d sign = _mm256_and_pd(_mm256_castsi256_pd(shifted), _mm256_set1_pd(-0.0));
  double* bucket = block.sketch + lane;
  _mm256_storeu_pd(bucket, _mm256_add_pd(_mm256_loadu_pd(bucket), _mm256_xor_pd(value, sign)));

  const __m256i key = _mm256_xor_si256(block.key, load_table(&kLaneTable[lane]));
  const __m256i multiplier = _mm256_xor_si256(block.high, load_table(&kLanes.high[lane]));
  __m256i term = _mm256_mul_epu32(_mm256_xor_si256(_mm256_cvtepu32_epi64(bits), key), multiplier);
  if (!kFull) term = _mm256_and_si256(term, _mm256_cvtepi32_epi64(in_run));
  sums.digest[i] = _mm256_add_epi64(sums.digest[i], term);
}

NANHUNT_AVX2_INLINE int count_lanes(__m256i mask) {
  return __builtin_popcount(
      static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask))));
}

NANHUNT_AVX2 __attribute__((noinline)) void add_non_finite(__m256i bits, __m256i non_finite,
                                                           uint64_t first, Accumulator& all) {
  alignas(32) std::array<float, kNarrow> values;
  _mm256_store_ps(values.data(), _mm256_castsi256_ps(bits));
  auto lanes =
      static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(non_finite)));
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    all.add_non_finite(first + static_cast<uint64_t>(lane), values[lane]);
  }
}

// All ones in the lanes whose bit is set.
NANHUNT_AVX2_INLINE __m256i lane_mask(uint64_t valid) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i spread = _mm256_set1_epi32(static_cast<int>(valid & 0xFF));
  return _mm256_cmpeq_epi32(_mm256_and_si256(spread, bit), bit);
}

template <class Loader, bool kFull>
NANHUNT_AVX2_INLINE void add_block(const char* data, uint64_t block, uint64_t valid,
                                   const NarrowFormat& format, Sums& sums, Accumulator& all) {
  const BlockHash hash = hash_block(block);
  const BlockVectors vectors{_mm256_set1_epi64x(static_cast<int64_t>(hash.key)),
                             _mm256_set1_epi64x(static_cast<int64_t>(hash.key >> 32)),
                             _mm256_set1_epi64x(static_cast<int64_t>(hash.signs)),
                             all.sketch[block % Accumulator::kSets].data() + hash.rotation};
  const __m256i min_normal = _mm256_set1_epi32(static_cast<int>(format.min_normal));
  const __m256 infinity = _mm256_castsi256_ps(_mm256_set1_epi32(0x7F800000));
  const __m256 minus_infinity = _mm256_sub_ps(_mm256_setzero_ps(), infinity);
  for (int lane = 0; lane < kBlock; lane += kNarrow) {
    const __m256i in_run = kFull ? _mm256_set1_epi32(-1) : lane_mask(valid >> lane);
    if (!kFull && _mm256_testz_si256(in_run, in_run)) continue;
    __m256i bits = Loader::load(data + lane * Loader::kSize);
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
    const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
    const __m256i small = _mm256_cmpgt_epi32(min_normal, magnitude);
    const __m256i non_finite = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7F7FFFFF));
    all.zero += static_cast<uint64_t>(count_lanes(_mm256_and_si256(zero, in_run)));
    all.subnormal += static_cast<uint64_t>(count_lanes(_mm256_andnot_si256(zero, small)));
    bits = _mm256_andnot_si256(zero, bits);
    __m256 value = _mm256_castsi256_ps(bits);
    __m256 for_min = value;
    __m256 for_max = value;
    const __m256i left_out =
        _mm256_or_si256(non_finite, _mm256_andnot_si256(in_run, _mm256_set1_epi32(-1)));
    if (!kFull || !_mm256_testz_si256(non_finite, non_finite)) {
      if (!_mm256_testz_si256(non_finite, non_finite)) {
        add_non_finite(bits, non_finite, block * kBlock + static_cast<uint64_t>(lane), all);
        const __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7F800000));
        bits = _mm256_blendv_epi8(bits, _mm256_set1_epi32(static_cast<int>(kCanonicalNan)), nan);
      }
      const __m256 mask = _mm256_castsi256_ps(left_out);
      value = _mm256_andnot_ps(mask, value);
      for_min = _mm256_blendv_ps(value, infinity, mask);
      for_max = _mm256_blendv_ps(value, minus_infinity, mask);
    }
    sums.low = _mm256_min_ps(sums.low, for_min);
    sums.high = _mm256_max_ps(sums.high, for_max);
    add_four<kFull>(_mm256_cvtps_pd(_mm256_castps256_ps128(value)), _mm256_castsi256_si128(bits),
                    _mm256_castsi256_si128(in_run), lane, vectors, sums);
    add_four<kFull>(_mm256_cvtps_pd(_mm256_extractf128_ps(value, 1)),
                    _mm256_extracti128_si256(bits, 1), _mm256_extracti128_si256(in_run, 1),
                    lane + kWide, vectors, sums);
  }
}

template <class Loader>
NANHUNT_AVX2 void run_narrow(const void* run, uint64_t first, uint64_t count, Accumulator& all) {
  const NarrowFormat format = narrow_format(Loader::kType);
  all.count += count;
  Sums sums = load_sums(all);
  const char* data = static_cast<const char*>(run);
  uint64_t block = first / kBlock;
  int begin = static_cast<int>(first % kBlock);
  while (count > 0) {
    const int end = static_cast<int>(std::min<uint64_t>(kBlock, begin + count));
    const auto bytes = static_cast<size_t>((end - begin) * Loader::kSize);
    for (int line = 0; line < kBlock * Loader::kSize; line += 64) {
      const auto ahead = reinterpret_cast<uintptr_t>(data) + kPrefetchBytes;
      _mm_prefetch(reinterpret_cast<const char*>(ahead + static_cast<uintptr_t>(line)),
                   _MM_HINT_T0);
    }
    if (end - begin == kBlock) {
      add_block<Loader, true>(data, block, 0, format, sums, all);
    } else {
      alignas(32) std::array<char, kBlock * Loader::kSize> padded{};
      std::memcpy(padded.data() + begin * Loader::kSize, data, bytes);
      add_block<Loader, false>(padded.data(), block, valid_lanes(begin, end), format, sums, all);
    }
    count -= static_cast<uint64_t>(end - begin);
    data += bytes;
    begin = 0;
    ++block;
  }
  store_sums(sums, all);
}

}  // namespace

RunKernel avx2_kernel(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return run_narrow<Fp32>;
    case DType::kFloat16: return run_narrow<Fp16>;
    case DType::kBFloat16: return run_narrow<Bf16>;
    default: return nullptr;
  }
}

}  // namespace nanhunt::trace

#else

namespace nanhunt::trace {
RunKernel avx2_kernel(DType) { return nullptr; }
}  // namespace nanhunt::trace

#endif
