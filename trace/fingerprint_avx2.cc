// SPDX-License-Identifier: Apache-2.0
// AVX2 kernels: 8 lanes of FP32 at a time. A block that a run covers in part is copied into a block
// of zeros first.
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

struct E5m2 {  // the upper byte of an FP16
  static constexpr DType kType = DType::kFloat8E5M2;
  static constexpr int kSize = 1;
  NANHUNT_AVX2_INLINE static __m256i load(const char* from) {
    const __m128i codes =
        _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    return _mm256_castps_si256(_mm256_cvtph_ps(_mm_slli_epi16(codes, 8)));
  }
};

struct E4m3 {  // as FP16 bits it is 2^8 too small; its NaN is 480 by that rule
  static constexpr DType kType = DType::kFloat8E4M3;
  static constexpr int kSize = 1;
  NANHUNT_AVX2_INLINE static __m256i load(const char* from) {
    const __m128i codes =
        _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    const __m128i magnitude = _mm_and_si128(codes, _mm_set1_epi16(0x7F));
    const __m128i sign = _mm_sub_epi16(codes, magnitude);
    const __m128i half = _mm_or_si128(_mm_slli_epi16(sign, 8), _mm_slli_epi16(magnitude, 7));
    const __m256 value = _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256));
    const __m256i nan = _mm256_cvtepi16_epi32(_mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7F)));
    return _mm256_blendv_epi8(_mm256_castps_si256(value),
                              _mm256_set1_epi32(static_cast<int>(kCanonicalNan)), nan);
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

template <class Word>
NANHUNT_AVX2_INLINE __m256i load_table(const Word* entry) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(entry));
}

struct BlockVectors {
  __m256i key_low, key_high;  // the halves of the block's key, in each 32-bit lane
  __m256i signs;
  double* sketch;  // bucket of lane 0, before reduction modulo 64
};

// Adds 4 finite values to sums and sketch.
NANHUNT_AVX2_INLINE void add_values(__m256d value, int lane, const BlockVectors& block,
                                    Sums& sums) {
  const int i = lane / kWide % 2;
  sums.sum[i] = _mm256_add_pd(sums.sum[i], value);
  sums.sum_squares[i] = _mm256_add_pd(sums.sum_squares[i], _mm256_mul_pd(value, value));
  const __m256i shifted = _mm256_sllv_epi64(block.signs, load_table(&kLanes.sign_shift[lane]));
  const __m256d sign = _mm256_and_pd(_mm256_castsi256_pd(shifted), _mm256_set1_pd(-0.0));
  double* bucket = block.sketch + lane;
  _mm256_storeu_pd(bucket, _mm256_add_pd(_mm256_loadu_pd(bucket), _mm256_xor_pd(value, sign)));
}

// Adds the digest terms of 8 words: a 32 x 32 bit multiply takes the lower half of each 64-bit
// lane, so even and odd words are two multiplies. Words outside the run become 0, and so does their
// product.
template <bool kFull>
NANHUNT_AVX2_INLINE void add_digest(__m256i bits, __m256i in_run, int lane,
                                    const BlockVectors& block, Sums& sums) {
  const __m256i key = _mm256_xor_si256(block.key_low, load_table(&kLanes.low_word[lane]));
  __m256i word = _mm256_xor_si256(bits, key);
  if (!kFull) word = _mm256_and_si256(word, in_run);
  const __m256i multiplier = _mm256_xor_si256(block.key_high, load_table(&kLanes.high_word[lane]));
  sums.digest[0] = _mm256_add_epi64(sums.digest[0], _mm256_mul_epu32(word, multiplier));
  sums.digest[1] = _mm256_add_epi64(
      sums.digest[1],
      _mm256_mul_epu32(_mm256_srli_epi64(word, 32), _mm256_srli_epi64(multiplier, 32)));
}

NANHUNT_AVX2_INLINE int count_lanes(__m256i mask) {
  return __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask))));
}

NANHUNT_AVX2 __attribute__((noinline)) void add_non_finite(__m256i bits, __m256i non_finite,
                                                           uint64_t first, Accumulator& all) {
  alignas(32) std::array<float, kNarrow> values;
  _mm256_store_ps(values.data(), _mm256_castsi256_ps(bits));
  auto lanes = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(non_finite)));
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

// 8 words of which some are zero, subnormal, non-finite or outside the run. Counts them, makes
// `bits` canonical and returns the values with 0 for what is not finite.
NANHUNT_AVX2_INLINE __m256 add_special(__m256i& bits, __m256i magnitude, __m256i in_run,
                                       uint64_t first, const NarrowFormat& format, Sums& sums,
                                       Accumulator& all) {
  const __m256 infinity = _mm256_castsi256_ps(_mm256_set1_epi32(0x7F800000));
  const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
  const __m256i small =
      _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(format.min_normal)), magnitude);
  const __m256i finite = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x7F800000), magnitude);
  const __m256i non_finite = _mm256_andnot_si256(finite, in_run);
  all.zero += static_cast<uint64_t>(count_lanes(_mm256_and_si256(zero, in_run)));
  all.subnormal += static_cast<uint64_t>(count_lanes(_mm256_andnot_si256(zero, small)));
  bits = _mm256_andnot_si256(zero, bits);
  if (!_mm256_testz_si256(non_finite, non_finite)) {
    add_non_finite(bits, non_finite, first, all);
    const __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7F800000));
    bits = _mm256_blendv_epi8(bits, _mm256_set1_epi32(static_cast<int>(kCanonicalNan)), nan);
  }
  const __m256 counts = _mm256_castsi256_ps(_mm256_and_si256(finite, in_run));
  const __m256 value = _mm256_and_ps(counts, _mm256_castsi256_ps(bits));
  sums.low = _mm256_min_ps(sums.low, _mm256_blendv_ps(infinity, value, counts));
  sums.high = _mm256_max_ps(
      sums.high, _mm256_blendv_ps(_mm256_sub_ps(_mm256_setzero_ps(), infinity), value, counts));
  return value;
}

template <class Loader, bool kFull>
NANHUNT_AVX2_INLINE void add_block(const char* data, uint64_t block, uint64_t valid,
                                   const NarrowFormat& format, Sums& sums, Accumulator& all) {
  const BlockHash hash = hash_block(block);
  const BlockVectors vectors{_mm256_set1_epi32(static_cast<int>(hash.key)),
                             _mm256_set1_epi32(static_cast<int>(hash.key >> 32)),
                             _mm256_set1_epi64x(static_cast<int64_t>(hash.signs)),
                             all.sketch[block % Accumulator::kSets].data() + hash.rotation};
  const __m256i min_normal = _mm256_set1_epi32(static_cast<int>(format.min_normal));
  const __m256i max_normal = _mm256_set1_epi32(0x7F7FFFFF);
  for (int lane = 0; lane < kBlock; lane += kNarrow) {
    const __m256i in_run = kFull ? _mm256_set1_epi32(-1) : lane_mask(valid >> lane);
    if (!kFull && _mm256_testz_si256(in_run, in_run)) continue;
    __m256i bits = Loader::load(data + lane * Loader::kSize);
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
    if constexpr (Loader::kSize == 1) {
      const __m256i largest = _mm256_set1_epi32(static_cast<int>(format.max_finite));
      all.saturated += static_cast<uint64_t>(count_lanes(_mm256_cmpeq_epi32(magnitude, largest)));
    }
    const __m256i special = _mm256_or_si256(_mm256_cmpgt_epi32(min_normal, magnitude),
                                            _mm256_cmpgt_epi32(magnitude, max_normal));
    __m256 value = _mm256_castsi256_ps(bits);
    if (_mm256_testz_si256(special, special)) [[likely]] {
      sums.low = _mm256_min_ps(sums.low, value);
      sums.high = _mm256_max_ps(sums.high, value);
    } else {
      value = add_special(bits, magnitude, in_run, block * kBlock + static_cast<uint64_t>(lane),
                          format, sums, all);
    }
    add_values(_mm256_cvtps_pd(_mm256_castps256_ps128(value)), lane, vectors, sums);
    add_values(_mm256_cvtps_pd(_mm256_extractf128_ps(value, 1)), lane + kWide, vectors, sums);
    add_digest<kFull>(bits, in_run, lane, vectors, sums);
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
    case DType::kFloat32:
      return run_narrow<Fp32>;
    case DType::kFloat16:
      return run_narrow<Fp16>;
    case DType::kBFloat16:
      return run_narrow<Bf16>;
    case DType::kFloat8E4M3:
      return run_narrow<E4m3>;
    case DType::kFloat8E5M2:
      return run_narrow<E5m2>;
    default:
      return nullptr;
  }
}

}  // namespace nanhunt::trace

#else

namespace nanhunt::trace {
RunKernel avx2_kernel(DType) { return nullptr; }
}  // namespace nanhunt::trace

#endif
