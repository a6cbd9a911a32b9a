// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of each token and the mean over the tokens that count. With m the largest logit of
// a token and z = logit - m: token loss = log(sum exp(z)) - z[label].
#pragma once

#include "cases/plain/draws.h"
#include "cases/plain/recording.h"

namespace nanhunt::plain {

struct Loss {
  double value = 0;
  Tensor logits_gradient;  // not rounded
};

// logits: [sample, token, vocabulary]. Records the phase `loss`.
Loss cross_entropy(hooks::RankTaps& taps, const Tensor& logits, const Batch& batch);

}  // namespace nanhunt::plain
