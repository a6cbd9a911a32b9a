// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/norm.h"

#include <ATen/TensorOperators.h>

#include <nlohmann/json.hpp>

#include "cases/mini/sites.h"

namespace nanhunt::mini {

at::Tensor rms_norm(RankContext& context, const Norm& norm, const at::Tensor& input) {
  Site site;
  site.name = norm.site;
  site.op = "rms_norm";
  site.layout = {.channels = context.config.hidden, .tokens_sharded = context.sequence_parallel()};
  site.attributes = nlohmann::json{{"eps", context.config.norm_eps}}.dump();
  const at::Tensor x = site_gradient(context, site, "grad_input", input);
  const at::Tensor mean_square = x.square().mean(-1, true);
  const at::Tensor normalised = x * (mean_square + context.config.norm_eps).rsqrt();
  return site_output(context, site, normalised * norm.weight->value);
}

}  // namespace nanhunt::mini
