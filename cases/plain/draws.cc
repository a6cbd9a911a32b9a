// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/draws.h"

#include <utility>

#include "trace/error.h"

namespace nanhunt::plain {
namespace {

constexpr uint64_t kG = 0x9E3779B97F4A7C15;

uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9;
  x ^= x >> 27;
  x *= 0x94D049BB133111EB;
  x ^= x >> 31;
  return x;
}

// A named stream of random numbers; any of them can be asked for.
class Stream {
 public:
  Stream(const std::string& name, uint64_t seed) {
    uint64_t fnv = 0xCBF29CE484222325;
    for (const unsigned char byte : name) {
      fnv ^= byte;
      fnv *= 0x100000001B3;
    }
    key_ = mix(fnv + mix(seed + kG));
  }
  uint64_t draw(uint64_t i) const { return mix(key_ + (i + 1) * kG); }

 private:
  uint64_t key_ = 0;
};

uint64_t sum_of_quarters(uint64_t bits) {
  return (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
}

}  // namespace

Tensor drawn_weight(const std::string& name, std::vector<int64_t> shape, double deviation,
                    uint64_t seed) {
  Tensor weight = zeros(std::move(shape));
  const Stream stream(name, seed);
  for (size_t i = 0; i < weight.size(); ++i) {
    uint64_t sum = 0;
    for (uint64_t j = 3 * i; j < 3 * i + 3; ++j) sum += sum_of_quarters(stream.draw(j));
    const double normal = (static_cast<double>(sum) - 393210.0) / 65536.0;
    weight[i] = static_cast<float>(deviation * normal);
  }
  return weight;
}

Batch drawn_batch(const std::string& text, const Options& options, int64_t step) {
  const auto samples = static_cast<uint64_t>(options.global_batch);
  const auto sequence = static_cast<uint64_t>(options.sequence);
  if (text.size() <= sequence) {
    throw trace::Error(trace::ErrorKind::kUsage, "the training text is shorter than a sample");
  }
  const Stream positions("batch.position", options.seed), lengths("batch.length", options.seed);
  const uint64_t first = static_cast<uint64_t>(step) * samples;
  const uint64_t single = Stream("batch.single", options.seed).draw(first) % samples;
  Batch batch;
  for (uint64_t i = 0; i < samples; ++i) {
    const uint64_t start = positions.draw(first + i) % (text.size() - sequence);
    uint64_t length = sequence;
    if (options.ragged && sequence > 1) length = 2 + lengths.draw(first + i) % (sequence - 1);
    if (options.ragged && i == single) length = 1;
    for (uint64_t t = 0; t < sequence; ++t) {
      const auto byte = [&](uint64_t at) { return static_cast<unsigned char>(text[at]); };
      batch.tokens.push_back(t < length ? byte(start + t) : 0);
      batch.labels.push_back(t < length ? byte(start + t + 1) : 0);
      batch.loss_mask.push_back(t < length ? 1.0f : 0.0f);
    }
    batch.lengths.push_back(static_cast<int64_t>(length));
    batch.counted += batch.lengths.back();
  }
  return batch;
}

}  // namespace nanhunt::plain
