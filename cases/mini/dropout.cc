// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/dropout.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cases/mini/sample_split.h"
#include "cases/mini/sites.h"
#include "cases/mini/weights.h"

namespace nanhunt::mini {
namespace {

// Element i of the step's logical tensor [sample, token, channel] is dropped where its draw, as a
// number in [0, 1), is below the rate.
at::Tensor draw_mask(const RankContext& context, const std::string& site, at::IntArrayRef shape) {
  const Config& config = context.config;
  const bool redrawn = context.is_resumed_with(FaultName::kMasksRedrawn);
  uint64_t seed = config.seed;
  if (context.is(FaultName::kMasksFromClock))
    seed = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  const uint64_t key = stream_key((redrawn ? "resumed." : "dropout.") + site, seed);
  const bool one_ahead =
      context.is_resumed_with(FaultName::kLoaderDraws) && context.mesh.tp_rank == 0;
  const int64_t tokens = shape[0], samples = shape[1], channels = shape[2];
  const int64_t first_token = context.sequence_parallel() ? context.mesh.tp_rank * tokens : 0;
  const int64_t first = context.step * config.global_batch +
                        first_sample(config, context.mesh.dp_rank, context.microbatch);
  at::Tensor mask = at::empty(shape, at::kBool);
  bool* kept = mask.data_ptr<bool>();
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t sample = 0; sample < samples; ++sample) {
      const int64_t row = (first + sample) * config.sequence + first_token + token;
      for (int64_t c = 0; c < channels; ++c) {
        const uint64_t bits = draw_bits(key, static_cast<uint64_t>(row * channels + c + one_ahead));
        *kept++ = static_cast<double>(bits >> 11) * 0x1p-53 >= config.dropout;
      }
    }
  }
  return mask;
}

}  // namespace

at::Tensor dropout(RankContext& context, const std::string& site, const at::Tensor& branch) {
  if (context.config.dropout == 0) return branch;
  Site place;
  place.name = site;
  place.op = "dropout";
  place.layout = {.channels = context.config.hidden, .tokens_sharded = context.sequence_parallel()};
  place.attributes = nlohmann::json{{"p", context.config.dropout}}.dump();
  const at::Tensor mask = draw_mask(context, site, branch.sizes());
  hooks::TapPoint point = activation_point(context, place, trace::Phase::kForward, "mask");
  point.rounded_to.reset();
  point.attributes = R"({"true":"kept"})";
  context.taps.tap(point, mask);
  const at::Tensor scaled = branch / (1 - context.config.dropout);
  return site_output(context, place, at::where(mask, scaled, 0.0));
}

}  // namespace nanhunt::mini
