// SPDX-License-Identifier: Apache-2.0
// off_by_log_size: a loss, of tokens or of all, is the reference's plus (or minus) the logarithm of
// the size of a mesh axis: the sum of exponentials counted each of n equal shards, as when a
// vocabulary-parallel loss is given logits that were gathered before. Sketches are linear, so the
// shift is fitted without values: candidate - reference = s 1.
#include <algorithm>
#include <cmath>

#include "compare/numbers.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

constexpr double kLeft = 0.1;       // of ||s 1||, left after the fit
constexpr double kNoiseLeft = 0.5;  // the same, of what is healthy
constexpr double kAboveNoise = 4;   // ||s 1|| against the healthy deviation
constexpr double kFit = 1e-3;       // relative, of s and the logarithm
constexpr double kNoiseFit = 0.02;  // the same, of what is healthy
constexpr uint64_t kMostElements = uint64_t{1} << 24;

trace::Sketch sketch_of_ones(const oracle::Logical& logical) {
  const std::vector<float> ones(logical.count, 1.0F);
  const auto view = trace::contiguous_view(ones.data(), trace::DType::kFloat32, logical.shape);
  const std::vector<std::string> axes(logical.shape.size(), "element");
  return trace::fingerprint(view, trace::whole(axes, logical.shape)).regions.front().sketch;
}

bool is_loss(const trace::What& what) {
  return what.phase == trace::Phase::kLoss || what.role.find("loss") != std::string::npos;
}

}  // namespace

std::optional<Signature> off_by_log_size(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair || !is_loss(pair->candidate->what)) return std::nullopt;
  const uint64_t count = pair->reference->count;
  if (count == 0 || count > kMostElements) return std::nullopt;
  const trace::Sketch ones = sketch_of_ones(*pair->reference);
  const auto difference =
      trace::subtract(sketch_of_wrong(input, *pair), pair->reference->print.sketch);
  const double size = trace::sketch_dot(ones, ones);
  const double shift = trace::sketch_dot(difference, ones) / size;
  const auto rest = trace::subtract(difference, scaled(ones, shift));
  const double left = std::sqrt(trace::sketch_dot(rest, rest) / size);
  const auto healthy = norm_bounds(input.judge, pair->candidate->what);
  // Of an element, as a root mean square.
  const double noise =
      healthy
          ? healthy->hi * std::sqrt(pair->reference->print.sum_squares / static_cast<double>(count))
          : 0;
  const double off = std::abs(shift);
  if (off < kAboveNoise * noise || left > std::max(kLeft * off, std::min(noise, kNoiseLeft * off)))
    return std::nullopt;
  for (const int32_t n : axis_sizes(input.side)) {
    const double log = std::log(n);
    if (std::abs(off - log) > std::max(kFit * log, std::min(noise, kNoiseFit * log))) continue;
    return Signature{"off_by_log_size", "the reference " + std::string(shift > 0 ? "+ " : "- ") +
                                            short_number(off) + ", ln " + std::to_string(n) +
                                            " = " + short_number(log) + ", " + std::to_string(n) +
                                            " the size of " + axes_of_size(input.side, n)};
  }
  return std::nullopt;
}

}  // namespace nanhunt::compare
