// SPDX-License-Identifier: Apache-2.0
// AVX-512 kernels: 16 lanes of FP32 (8 of FP64) at a time. Blocks that a run covers in part are
// read with masked loads, which touch no byte outside the run.
#include "trace/fingerprint_kernel.h"

#if defined(__x86_64__)
// GCC 12 takes the "undefined" vectors of its own intrinsics for an oversight (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "trace/fingerprint_tables.h"

#define NANHUNT_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define NANHUNT_AVX512_INLINE NANHUNT_AVX512 __attribute__((always_inline)) inline

namespace nanhunt::trace {
namespace {

constexpr int kWide = 8;     // 64-bit lanes of a vector
constexpr int kNarrow = 16;  // 32-bit lanes
constexpr int kXorOfThree = 0x96;
constexpr int kXorOfAnd = 0x78;  // a ^ (b & c)

// Loaders give FP32 bits of 16 elements; lanes outside the mask give 0.
struct Fp32 {
  static constexpr DType kType = DType::kFloat32;
  static constexpr int kSize = 4;
  NANHUNT_AVX512_INLINE static __m512i load(const void* from, __mmask16 valid) {
    return _mm512_maskz_loadu_epi32(valid, from);
  }
};

struct Bf16 {
  static constexpr DType kType = DType::kBFloat16;
  static constexpr int kSize = 2;
  NANHUNT_AVX512_INLINE static __m512i load(const void* from, __mmask16 valid) {
    return _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(valid, from)), 16);
  }
};

struct Fp16 {
  static constexpr DType kType = DType::kFloat16;
  static constexpr int kSize = 2;
  NANHUNT_AVX512_INLINE static __m512i load(const void* from, __mmask16 valid) {
    return _mm512_castps_si512(_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(valid, from)));
  }
};

struct E5m2 {  // the upper byte of an FP16
  static constexpr DType kType = DType::kFloat8E5M2;
  static constexpr int kSize = 1;
  NANHUNT_AVX512_INLINE static __m512i load(const void* from, __mmask16 valid) {
    const __m256i code = _mm256_cvtepu8_epi16(_mm_maskz_loadu_epi8(valid, from));
    return _mm512_castps_si512(_mm512_cvtph_ps(_mm256_slli_epi16(code, 8)));
  }
};

struct E4m3 {  // as FP16 bits it is 2^8 too small; its NaN, 480 by that rule, is set right after
  static constexpr DType kType = DType::kFloat8E4M3;
  static constexpr int kSize = 1;
  NANHUNT_AVX512_INLINE static __m512i load(const void* from, __mmask16 valid) {
    const __m256i code = _mm256_cvtepu8_epi16(_mm_maskz_loadu_epi8(valid, from));
    const __m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi16(0x7F));
    const __m256i sign = _mm256_sub_epi16(code, magnitude);
    const __m256i half =
        _mm256_or_si256(_mm256_slli_epi16(sign, 8), _mm256_slli_epi16(magnitude, 7));
    const __m512 value = _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256));
    const __mmask16 nan = _mm256_cmpeq_epi16_mask(magnitude, _mm256_set1_epi16(0x7F));
    return _mm512_mask_mov_epi32(_mm512_castps_si512(value), nan,
                                 _mm512_set1_epi32(static_cast<int>(kCanonicalNan)));
  }
};

// The sums in registers: two of each kind, so that additions do not wait for each other.
struct Sums {
  __m512d sum[2];
  __m512d sum_squares[2];
  __m512i digest[2];
};

NANHUNT_AVX512_INLINE Sums load_sums(const Accumulator& from) {
  Sums sums;
  for (int i = 0; i < 2; ++i) {
    sums.sum[i] = _mm512_load_pd(&from.sum[i * kWide]);
    sums.sum_squares[i] = _mm512_load_pd(&from.sum_squares[i * kWide]);
    sums.digest[i] = _mm512_load_si512(&from.digest[i * kWide]);
  }
  return sums;
}

NANHUNT_AVX512_INLINE void store_sums(const Sums& sums, Accumulator& to) {
  for (int i = 0; i < 2; ++i) {
    _mm512_store_pd(&to.sum[i * kWide], sums.sum[i]);
    _mm512_store_pd(&to.sum_squares[i * kWide], sums.sum_squares[i]);
    _mm512_store_si512(&to.digest[i * kWide], sums.digest[i]);
  }
}

struct BlockVectors {
  __m512i key, signs;
  double* sketch;  // bucket of lane 0, before reduction modulo 64
};

struct NarrowKey {  // the halves of the block's key, in each 32-bit lane
  __m512i low, high;
};

NANHUNT_AVX512_INLINE void prefetch_block(uintptr_t data, int bytes) {
  for (int line = 0; line < bytes; line += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(data + kPrefetchBytes + line), _MM_HINT_T0);
  }
}

NANHUNT_AVX512_INLINE BlockVectors block_vectors(uint64_t block, Accumulator& sums) {
  const BlockHash hash = hash_block(block);
  return {_mm512_set1_epi64(static_cast<int64_t>(hash.key)),
          _mm512_set1_epi64(static_cast<int64_t>(hash.signs)),
          sums.sketch[block % Accumulator::kSets].data() + hash.rotation};
}

// Adds 8 finite values to sums and sketch.
NANHUNT_AVX512_INLINE void add_values(__m512d value, int lane, const BlockVectors& block,
                                      Sums& sums) {
  const int i = lane / kWide % 2;
  sums.sum[i] = _mm512_add_pd(sums.sum[i], value);
  sums.sum_squares[i] = _mm512_fmadd_pd(value, value, sums.sum_squares[i]);
  const __m512i shift = _mm512_load_si512(&kLanes.sign_shift[lane]);
  const __m512i sign = _mm512_sllv_epi64(block.signs, shift);
  const __m512i negated = _mm512_ternarylogic_epi64(_mm512_castpd_si512(value), sign,
                                                    _mm512_set1_epi64(INT64_MIN), kXorOfAnd);
  double* bucket = block.sketch + lane;
  _mm512_storeu_pd(bucket, _mm512_add_pd(_mm512_loadu_pd(bucket), _mm512_castsi512_pd(negated)));
}

// Adds the digest terms of 16 words: a 32 x 32 bit multiply takes the lower half of each 64-bit
// lane, so even and odd words are two multiplies. Words outside the run become 0, and so does their
// product.
NANHUNT_AVX512_INLINE void add_narrow_digest(__m512i bits, __mmask16 in_run, int lane,
                                             const NarrowKey& key, Sums& sums) {
  const __m512i word = _mm512_maskz_ternarylogic_epi32(
      in_run, bits, key.low, _mm512_load_si512(&kLanes.low_word[lane]), kXorOfThree);
  const __m512i multiplier = _mm512_xor_si512(key.high, _mm512_load_si512(&kLanes.high_word[lane]));
  sums.digest[0] = _mm512_add_epi64(sums.digest[0], _mm512_mul_epu32(word, multiplier));
  sums.digest[1] = _mm512_add_epi64(
      sums.digest[1],
      _mm512_mul_epu32(_mm512_srli_epi64(word, 32), _mm512_srli_epi64(multiplier, 32)));
}

// Adds the terms of one half (the lower 32 bits of each lane) of 8 wide elements.
NANHUNT_AVX512_INLINE void add_wide_digest(__m512i half, __mmask8 in_run, int lane, __m512i key,
                                           Sums& sums) {
  const __m512i word = _mm512_maskz_ternarylogic_epi64(
      in_run, half, key, _mm512_load_si512(&kLaneTable[lane]), kXorOfThree);
  const __m512i multiplier =
      _mm512_xor_si512(_mm512_srli_epi64(key, 32), _mm512_load_si512(&kLanes.high[lane]));
  __m512i& digest = sums.digest[lane / kWide % 2];
  digest = _mm512_add_epi64(digest, _mm512_mul_epu32(word, multiplier));
}

NANHUNT_AVX512 __attribute__((noinline)) __m512i canonical_non_finite(__m512i bits,
                                                                      uint32_t non_finite,
                                                                      uint64_t first,
                                                                      Accumulator& sums) {
  alignas(64) std::array<float, kNarrow> values;
  _mm512_store_ps(values.data(), _mm512_castsi512_ps(bits));
  for (; non_finite != 0; non_finite &= non_finite - 1) {
    const int lane = std::countr_zero(non_finite);
    sums.add_non_finite(first + static_cast<uint64_t>(lane), values[lane]);
  }
  const __m512 value = _mm512_castsi512_ps(bits);
  const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  return _mm512_mask_mov_epi32(bits, nan, _mm512_set1_epi32(static_cast<int>(kCanonicalNan)));
}

struct Extremes {
  __m512 low, high;
};

// 16 words of which some are zero, subnormal, non-finite or outside the run. Counts them, makes
// `bits` canonical and returns the values with 0 for what is not finite.
NANHUNT_AVX512_INLINE __m512 add_special(__m512i& bits, __m512i magnitude, __mmask16 in_run,
                                         uint64_t first, const NarrowFormat& format,
                                         Extremes& extremes, Accumulator& all) {
  const __mmask16 nonzero = _mm512_test_epi32_mask(magnitude, magnitude);
  const __mmask16 non_finite = _mm512_cmpge_epu32_mask(magnitude, _mm512_set1_epi32(0x7F800000));
  const __mmask16 subnormal = _mm512_mask_cmplt_epu32_mask(
      nonzero, magnitude, _mm512_set1_epi32(static_cast<int>(format.min_normal)));
  all.zero += static_cast<uint64_t>(__builtin_popcount(in_run & ~nonzero & 0xFFFF));
  all.subnormal += static_cast<uint64_t>(__builtin_popcount(subnormal));
  bits = _mm512_maskz_mov_epi32(nonzero, bits);
  if (non_finite != 0) [[unlikely]]
    bits = canonical_non_finite(bits, non_finite, first, all);
  const auto finite = static_cast<__mmask16>(in_run & ~non_finite);
  const __m512 value = _mm512_castsi512_ps(_mm512_maskz_mov_epi32(finite, bits));
  extremes.low = _mm512_mask_min_ps(extremes.low, finite, extremes.low, value);
  extremes.high = _mm512_mask_max_ps(extremes.high, finite, extremes.high, value);
  return value;
}

template <class Loader, bool kFull>
NANHUNT_AVX512_INLINE void add_narrow_block(uintptr_t data, uint64_t block, uint64_t valid,
                                            const NarrowFormat& format, Sums& sums,
                                            Extremes& extremes, Accumulator& all) {
  prefetch_block(data, kBlock * Loader::kSize);
  const BlockVectors vectors = block_vectors(block, all);
  const __m512i odd_words = _mm512_shuffle_epi32(vectors.key, _MM_PERM_DDBB);
  const __m512i even_words = _mm512_shuffle_epi32(vectors.key, _MM_PERM_CCAA);
  const NarrowKey key{even_words, odd_words};
  // Normal numbers are those with magnitude - min_normal below this, unsigned.
  const __m512i min_normal = _mm512_set1_epi32(static_cast<int>(format.min_normal));
  const __m512i normal_range = _mm512_set1_epi32(static_cast<int>(0x7F800000 - format.min_normal));
#pragma GCC unroll 4
  for (int lane = 0; lane < kBlock; lane += kNarrow) {
    const auto in_run =
        kFull ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>(valid >> lane);
    if (!kFull && in_run == 0) continue;
    __m512i bits = Loader::load(reinterpret_cast<const void*>(data + lane * Loader::kSize), in_run);
    const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MAX));
    if constexpr (Loader::kSize == 1) {
      all.saturated += static_cast<uint64_t>(__builtin_popcount(_mm512_cmpeq_epi32_mask(
          magnitude, _mm512_set1_epi32(static_cast<int>(format.max_finite)))));
    }
    __m512 value = _mm512_castsi512_ps(bits);
    if (_mm512_cmpge_epu32_mask(_mm512_sub_epi32(magnitude, min_normal), normal_range) == 0)
        [[likely]] {
      extremes.low = _mm512_min_ps(extremes.low, value);
      extremes.high = _mm512_max_ps(extremes.high, value);
    } else {
      value = add_special(bits, magnitude, in_run, block * kBlock + static_cast<uint64_t>(lane),
                          format, extremes, all);
    }
    add_values(_mm512_cvtps_pd(_mm512_castps512_ps256(value)), lane, vectors, sums);
    add_values(_mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1)), lane + kWide, vectors, sums);
    add_narrow_digest(bits, in_run, lane, key, sums);
  }
}

template <class Loader>
NANHUNT_AVX512 void run_narrow(const void* run, uint64_t first, uint64_t count, Accumulator& all) {
  const NarrowFormat format = narrow_format(Loader::kType);
  all.count += count;
  Sums sums = load_sums(all);
  Extremes extremes{_mm512_load_ps(all.min.data()), _mm512_load_ps(all.max.data())};
  uint64_t block = first / kBlock;
  int begin = static_cast<int>(first % kBlock);
  // Address that lane 0 of the block would have: before the run when it starts inside a block.
  uintptr_t data = reinterpret_cast<uintptr_t>(run) - static_cast<uintptr_t>(begin * Loader::kSize);
  while (count > 0) {
    const int end = static_cast<int>(std::min<uint64_t>(kBlock, begin + count));
    if (end - begin == kBlock) {
      add_narrow_block<Loader, true>(data, block, 0, format, sums, extremes, all);
    } else {
      add_narrow_block<Loader, false>(data, block, valid_lanes(begin, end), format, sums, extremes,
                                      all);
    }
    count -= static_cast<uint64_t>(end - begin);
    data += static_cast<uintptr_t>(kBlock * Loader::kSize);
    begin = 0;
    ++block;
  }
  store_sums(sums, all);
  _mm512_store_ps(all.min.data(), extremes.low);
  _mm512_store_ps(all.max.data(), extremes.high);
}

NANHUNT_AVX512 __attribute__((noinline)) __m512i canonical_non_finite_wide(__m512i bits,
                                                                           uint32_t non_finite,
                                                                           uint64_t first,
                                                                           Accumulator& sums) {
  alignas(64) std::array<double, kWide> values;
  _mm512_store_pd(values.data(), _mm512_castsi512_pd(bits));
  for (; non_finite != 0; non_finite &= non_finite - 1) {
    const int lane = std::countr_zero(non_finite);
    sums.add_non_finite(first + static_cast<uint64_t>(lane), values[lane]);
  }
  const __m512d value = _mm512_castsi512_pd(bits);
  const __mmask8 nan = _mm512_cmp_pd_mask(value, value, _CMP_UNORD_Q);
  return _mm512_mask_mov_epi64(bits, nan,
                               _mm512_set1_epi64(static_cast<int64_t>(kCanonicalWideNan)));
}

NANHUNT_AVX512_INLINE void add_wide_block(uintptr_t data, uint64_t block, uint64_t valid,
                                          Sums& sums, __m512d& low, __m512d& high,
                                          Accumulator& all) {
  prefetch_block(data, kBlock * 8);
  const BlockVectors vectors = block_vectors(block, all);
  const __m512i odd = _mm512_set1_epi64(static_cast<int64_t>(kOddMultiplier));
  const __m512i low_key = _mm512_or_si512(
      odd, _mm512_xor_si512(vectors.key, _mm512_set1_epi64(static_cast<int64_t>(kFloat64Tag.low))));
  const __m512i high_key = _mm512_or_si512(
      odd,
      _mm512_xor_si512(vectors.key, _mm512_set1_epi64(static_cast<int64_t>(kFloat64Tag.high))));
  for (int lane = 0; lane < kBlock; lane += kWide) {
    const auto in_run = static_cast<__mmask8>(valid >> lane);
    if (in_run == 0) continue;
    __m512i bits = _mm512_maskz_loadu_epi64(in_run, reinterpret_cast<const void*>(data + lane * 8));
    const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi64(INT64_MAX));
    const __mmask8 nonzero = _mm512_test_epi64_mask(magnitude, magnitude);
    const __mmask8 non_finite =
        _mm512_cmpge_epu64_mask(magnitude, _mm512_set1_epi64(0x7FF0000000000000));
    const __mmask8 subnormal =
        _mm512_mask_cmple_epu64_mask(nonzero, magnitude, _mm512_set1_epi64(0x000FFFFFFFFFFFFF));
    all.zero += static_cast<uint64_t>(__builtin_popcount(in_run & ~nonzero & 0xFF));
    all.subnormal += static_cast<uint64_t>(__builtin_popcount(subnormal));
    bits = _mm512_maskz_mov_epi64(nonzero, bits);
    if (non_finite != 0) [[unlikely]] {
      bits = canonical_non_finite_wide(bits, non_finite,
                                       block * kBlock + static_cast<uint64_t>(lane), all);
    }
    const auto finite = static_cast<__mmask8>(in_run & ~non_finite);
    const __m512d value = _mm512_castsi512_pd(_mm512_maskz_mov_epi64(finite, bits));
    low = _mm512_mask_min_pd(low, finite, low, value);
    high = _mm512_mask_max_pd(high, finite, high, value);
    add_values(value, lane, vectors, sums);
    add_wide_digest(bits, in_run, lane, low_key, sums);
    add_wide_digest(_mm512_srli_epi64(bits, 32), in_run, lane, high_key, sums);
  }
}

NANHUNT_AVX512 void run_float64(const void* run, uint64_t first, uint64_t count, Accumulator& all) {
  all.count += count;
  Sums sums = load_sums(all);
  __m512d low = _mm512_load_pd(all.wide_min.data());
  __m512d high = _mm512_load_pd(all.wide_max.data());
  uint64_t block = first / kBlock;
  int begin = static_cast<int>(first % kBlock);
  uintptr_t data = reinterpret_cast<uintptr_t>(run) - static_cast<uintptr_t>(begin * 8);
  while (count > 0) {
    const int end = static_cast<int>(std::min<uint64_t>(kBlock, begin + count));
    add_wide_block(data, block, valid_lanes(begin, end), sums, low, high, all);
    count -= static_cast<uint64_t>(end - begin);
    data += kBlock * 8;
    begin = 0;
    ++block;
  }
  store_sums(sums, all);
  _mm512_store_pd(all.wide_min.data(), low);
  _mm512_store_pd(all.wide_max.data(), high);
}

}  // namespace

RunKernel avx512_kernel(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return run_float64;
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
RunKernel avx512_kernel(DType) { return nullptr; }
}  // namespace nanhunt::trace

#endif
