// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/text.h"

#include <fstream>
#include <sstream>

#include "cases/mini/weights.h"
#include "trace/error.h"

namespace nanhunt::mini {
namespace {

std::vector<int64_t> draw_lengths(const Config& config, int64_t step) {
  const auto samples = static_cast<uint64_t>(config.global_batch);
  std::vector<int64_t> lengths(samples, config.sequence);
  if (!config.ragged) return lengths;
  const auto first = static_cast<uint64_t>(step) * samples;
  const uint64_t key = stream_key("batch.length", config.seed);
  for (uint64_t i = 0; i < samples && config.sequence > 1; ++i) {
    const uint64_t range = static_cast<uint64_t>(config.sequence) - 1;
    lengths[i] = 2 + static_cast<int64_t>(draw_bits(key, first + i) % range);
  }
  const uint64_t single = draw_bits(stream_key("batch.single", config.seed), first) % samples;
  lengths[single] = 1;
  return lengths;
}

}  // namespace

std::string load_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    throw trace::Error(trace::ErrorKind::kUsage, "cannot read the training text '" + path + "'");
  }
  return bytes.str();
}

Batch draw_batch(const std::string& text, const Config& config, int64_t step) {
  if (static_cast<int64_t>(text.size()) <= config.sequence) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       "the training text has " + std::to_string(text.size()) +
                           " bytes, a sample needs " + std::to_string(config.sequence + 1));
  }
  Batch batch;
  batch.samples = config.global_batch;
  batch.sequence = config.sequence;
  batch.lengths = draw_lengths(config, step);
  const uint64_t starts = text.size() - static_cast<uint64_t>(config.sequence);
  const uint64_t key = stream_key("batch.position", config.seed);
  for (int64_t i = 0; i < batch.samples; ++i) {
    const int64_t id = step * batch.samples + i;
    const uint64_t start = draw_bits(key, static_cast<uint64_t>(id)) % starts;
    batch.sample_ids.push_back(id);
    batch.valid_tokens += batch.lengths[i];
    for (int64_t t = 0; t < batch.sequence; ++t) {
      const bool counts = t < batch.lengths[i];
      batch.tokens.push_back(counts ? static_cast<unsigned char>(text[start + t]) : 0);
      batch.labels.push_back(counts ? static_cast<unsigned char>(text[start + t + 1]) : 0);
      batch.loss_mask.push_back(counts ? 1.0f : 0.0f);
    }
  }
  return batch;
}

}  // namespace nanhunt::mini
