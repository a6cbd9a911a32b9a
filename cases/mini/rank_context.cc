// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/rank_context.h"

namespace nanhunt::mini {
namespace {

std::vector<int> every(int64_t first, int64_t count, int64_t stride) {
  std::vector<int> ranks;
  for (int64_t i = 0; i < count; ++i) ranks.push_back(static_cast<int>(first + i * stride));
  return ranks;
}

std::vector<int> tp_ranks(const Config& config, int rank) {
  return every(rank / config.tp * config.tp, config.tp, 1);
}

std::vector<int> dp_ranks(const Config& config, int rank) {
  return every(rank % config.tp, config.dp, config.tp);
}

}  // namespace

Mesh::Mesh(World& shared, const Config& config, int of_rank)
    : rank(of_rank),
      tp_rank(static_cast<int>(of_rank % config.tp)),
      dp_rank(static_cast<int>(of_rank / config.tp)),
      tp(shared, tp_ranks(config, of_rank), of_rank),
      dp(shared, dp_ranks(config, of_rank), of_rank),
      dp_overlapped(shared, dp_ranks(config, of_rank), of_rank, 1),
      world(shared, every(0, config.world_size(), 1), of_rank) {}

}  // namespace nanhunt::mini
