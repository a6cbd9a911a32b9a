// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/loss.h"

#include <algorithm>
#include <cmath>

namespace nanhunt::plain {
namespace {

struct TokenLosses {
  Tensor logits_max, target_logit, sum_exp, token_loss;  // [sample, token]
};

TokenLosses token_losses(const Tensor& logits, const Batch& batch) {
  const Tensor empty = zeros({logits.shape[0], logits.shape[1]});
  TokenLosses result{empty, empty, empty, empty};
  const size_t vocabulary = logits.channels();
  for (size_t row = 0; row < logits.rows(); ++row) {
    const float* z = &logits.values[row * vocabulary];
    // By hand, since std::max_element takes a NaN for small.
    float largest = z[0];
    for (size_t v = 1; v < vocabulary; ++v) {
      if (z[v] > largest || std::isnan(z[v])) largest = z[v];
      if (std::isnan(largest)) break;
    }
    double sum = 0;
    for (size_t v = 0; v < vocabulary; ++v) sum += std::exp(double{z[v]} - largest);
    const double target = double{z[batch.labels[row]]} - largest;
    result.logits_max[row] = largest;
    result.target_logit[row] = static_cast<float>(target);
    result.sum_exp[row] = static_cast<float>(sum);
    result.token_loss[row] = static_cast<float>(std::log(sum) - target);
  }
  return result;
}

void show_losses(hooks::RankTaps& taps, TokenLosses& losses, const Tensor& logits) {
  const auto record = [&](const char* role, Tensor& tensor, const Sources& from) {
    show(taps,
         {"loss",
          trace::Phase::kLoss,
          role,
          {"sample", "token"},
          trace::DType::kFloat32,
          true,
          "cross_entropy"},
         tensor, from);
  };
  record("logits_max", losses.logits_max, {&logits});
  record("target_logit", losses.target_logit, {&logits, &losses.logits_max});
  record("sum_exp", losses.sum_exp, {&logits, &losses.logits_max});
  record("token_loss", losses.token_loss, {&losses.target_logit, &losses.sum_exp});
}

// Of the mean: mask / counted * (softmax - onehot).
Tensor gradient_of(const Tensor& logits, const TokenLosses& losses, const Batch& batch) {
  Tensor gradient = zeros(logits.shape);
  const size_t vocabulary = logits.channels();
  for (size_t row = 0; row < logits.rows(); ++row) {
    const double share = batch.loss_mask[row] / static_cast<double>(batch.counted);
    for (size_t v = 0; v < vocabulary; ++v) {
      const size_t at = row * vocabulary + v;
      const double softmax =
          std::exp(double{logits[at]} - losses.logits_max[row]) / losses.sum_exp[row];
      const double onehot = static_cast<int64_t>(v) == batch.labels[row] ? 1.0 : 0.0;
      gradient[at] = static_cast<float>((softmax - onehot) * share);
    }
  }
  return gradient;
}

}  // namespace

Loss cross_entropy(hooks::RankTaps& taps, const Tensor& logits, const Batch& batch) {
  TokenLosses losses = token_losses(logits, batch);
  show_losses(taps, losses, logits);
  double sum = 0;
  for (size_t row = 0; row < losses.token_loss.size(); ++row) {
    sum += double{losses.token_loss[row]} * batch.loss_mask[row];
  }
  Tensor mean = zeros({});
  mean[0] = static_cast<float>(sum / static_cast<double>(batch.counted));
  show(taps, {"loss", trace::Phase::kLoss, "loss", {}, trace::DType::kFloat32, true, "masked_mean"},
       mean, {&losses.token_loss});
  Tensor gradient = gradient_of(logits, losses, batch);
  gradient.records = logits.records;
  for (const Tensor* part : {&losses.logits_max, &losses.sum_exp}) {
    gradient.records.insert(gradient.records.end(), part->records.begin(), part->records.end());
  }
  return {mean[0], gradient};
}

}  // namespace nanhunt::plain
