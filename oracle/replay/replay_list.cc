// SPDX-License-Identifier: Apache-2.0
// The list of all replays.
#include <algorithm>
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {

const std::vector<Replay>& replays() {
  static const std::vector<Replay> list{
      linear(), add(),       embedding(),     rms_norm(),    layer_norm(), gelu(),
      silu(),   attention(), cross_entropy(), masked_mean(), quantise(),
  };
  return list;
}

const Replay* find_replay(const std::string& op) {
  for (const Replay& replay : replays()) {
    if (std::ranges::find(replay.ops, op) != replay.ops.end()) return &replay;
  }
  return nullptr;
}

std::optional<Tensor> shaped_like_target(const Call& call, const Tensor& tensor) {
  Tensor aligned = in_order_of(tensor, axes_of(call.target()));
  if (aligned.shape != call.target().local_shape) return std::nullopt;
  return aligned;
}

bool same_rows(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return a.size() == b.size() && !a.empty() && std::equal(a.begin(), a.end() - 1, b.begin());
}

bool add_to_rows(Recomputed& result, const std::vector<double>& row) {
  if (row.empty() || result.values.size() % row.size() != 0) return false;
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] += row[i % row.size()];
    result.magnitudes[i] += std::abs(row[i % row.size()]);
  }
  result.roundings += 1;
  return true;
}

Recomputed sum_of_rows(const Tensor& gradient) {
  const auto width = static_cast<size_t>(gradient.columns());
  Recomputed result{std::vector<double>(width), std::vector<double>(width),
                    static_cast<double>(gradient.rows())};
  for (size_t i = 0; i < gradient.values.size(); ++i) {
    result.values[i % width] += gradient.values[i];
    result.magnitudes[i % width] += std::abs(gradient.values[i]);
  }
  return result;
}

}  // namespace nanhunt::oracle
