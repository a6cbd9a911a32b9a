// SPDX-License-Identifier: Apache-2.0
#include "compare/signatures/signature.h"

namespace nanhunt::compare {

const std::vector<Recogniser>& recognisers() {
  static const std::vector<Recogniser> list = {
      after_equals_before,
      stale,
      wrong_group,
      missing_reduction,
      reduced_twice,
      norm_counts_replicas,
      masked_row,
      overflow_in_product,
      adam_bias_correction,
      scale_of_amax_group,
      loss_scale_left_in,
      off_by_log_size,
      constant_ratio,
      shifted,
      order_swapped,
      lines_swapped,
      only_masked_positions,
      only_late_positions,
      lane_pattern,
      one_rank,
  };
  return list;
}

std::optional<Signature> recognise(const SignatureInput& input) {
  for (const Recogniser recogniser : recognisers()) {
    if (auto signature = recogniser(input)) return signature;
  }
  return std::nullopt;
}

}  // namespace nanhunt::compare
