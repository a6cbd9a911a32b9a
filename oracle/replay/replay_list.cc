// SPDX-License-Identifier: Apache-2.0
// The list of all replays.
#include <algorithm>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {

const std::vector<Replay>& replays() {
  static const std::vector<Replay> list{
      linear(),        add(),         embedding(),  rms_norm(),       layer_norm(),
      gelu(),          silu(),        attention(),  softmax(),        dropout(),
      cross_entropy(), masked_mean(), elementary(), product_of_two(), quantise(),
  };
  return list;
}

const Replay* find_replay(const std::string& op) {
  for (const Replay& replay : replays()) {
    if (std::ranges::find(replay.ops, op) != replay.ops.end()) return &replay;
  }
  return nullptr;
}

}  // namespace nanhunt::oracle
