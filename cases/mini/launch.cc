// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/launch.h"

#include <cstdio>
#include <thread>
#include <vector>

#include "cases/mini/rank_outcome.h"
#include "cases/mini/rank_processes.h"
#include "cases/mini/shared_block.h"

namespace nanhunt::mini {
namespace {

int report(const std::vector<RankOutcome>& outcomes) {
  int status = 0;
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.status == 0) continue;
    std::fprintf(stderr, "mini: %s\n", outcome.reason.c_str());
    if (status == 0 || status == kAbortedStatus) status = outcome.status;
  }
  return status;
}

int launch_threads(const Config& config, const RankMain& rank_main) {
  const auto size = static_cast<int>(config.world_size());
  const auto world = create_thread_world(size, kSlotBytes);
  std::vector<RankOutcome> outcomes(static_cast<size_t>(size));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    RankOutcome& outcome = outcomes[static_cast<size_t>(rank)];
    threads.emplace_back(
        [&world, &rank_main, &outcome, rank] { outcome = run_rank(*world, rank, rank_main); });
  }
  threads.clear();  // joins
  return report(outcomes);
}

}  // namespace

int launch(const Config& config, const RankMain& rank_main) {
  if (is_rank_process()) return run_rank_process(rank_main);
  return config.processes ? launch_processes(config) : launch_threads(config, rank_main);
}

}  // namespace nanhunt::mini
