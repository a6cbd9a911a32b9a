// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/weights.h"

namespace nanhunt::mini {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

// Finalizer of SplitMix64 (Steele, Lea, Flood 2014, with Stafford's variant 13).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// FNV-1a, 64 bits.
uint64_t hash_of(const std::string& name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

// Twelve uniform 16-bit numbers have variance 2^32 - 1 and mean 393210: their centred sum over 2^16
// is near normal with deviation 1, without a logarithm whose last bit depends on the library.
double near_normal(uint64_t key, uint64_t index) {
  int64_t sum = 0;
  for (uint64_t word = 0; word < 3; ++word) {
    const uint64_t bits = draw_bits(key, 3 * index + word);
    for (int shift = 0; shift < 64; shift += 16) {
      sum += static_cast<int64_t>((bits >> shift) & 0xFFFFu);
    }
  }
  return static_cast<double>(sum - 393210) / 65536.0;
}

}  // namespace

uint64_t stream_key(const std::string& name, uint64_t seed) {
  return mix(hash_of(name) + mix(seed + kGolden));
}

uint64_t draw_bits(uint64_t key, uint64_t index) {
  return mix(key + (index + 1) * kGolden);
}

std::vector<float> draw_weight(const std::string& name, int64_t numel, double std, uint64_t seed) {
  const uint64_t key = stream_key(name, seed);
  std::vector<float> weight(static_cast<size_t>(numel));
  for (size_t i = 0; i < weight.size(); ++i) {
    weight[i] = static_cast<float>(std * near_normal(key, i));
  }
  return weight;
}

}  // namespace nanhunt::mini
