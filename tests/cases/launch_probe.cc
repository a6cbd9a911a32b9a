// SPDX-License-Identifier: Apache-2.0
// A subject without a model: all-reduces fixed buffers in every order and prints what rank 0 got.
// Its environment says how a rank is to fail:
//   LAUNCH_PROBE = kill K | throw K | usage K | hang K     (K: the rank)
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string>

#include "cases/mini/launch.h"
#include "tests/cases/rank_inputs.h"
#include "trace/error.h"

namespace nanhunt::mini {
namespace {

void fail_if_told(int rank) {
  const char* told = std::getenv("LAUNCH_PROBE");
  std::istringstream words(told == nullptr ? "" : told);
  std::string how;
  int which = -1;
  words >> how >> which;
  if (which != rank) return;
  if (how == "kill") ::kill(::getpid(), SIGKILL);
  if (how == "hang") {
    std::printf("hanging\n");
    std::fflush(stdout);
    for (;;) ::pause();
  }
  if (how == "throw") throw std::runtime_error("told to fail");
  if (how == "usage") throw trace::Error(trace::ErrorKind::kUsage, "told to refuse");
}

void print(const std::vector<float>& values) {
  for (const uint32_t bits : bits_of(values)) std::printf("%08x\n", bits);
}

void rank_main(World& world, int rank) {
  std::vector<int> ranks(static_cast<size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  Group group(world, ranks, rank);
  for (const auto order : {ReduceOrder::kRank, ReduceOrder::kRing, ReduceOrder::kTree}) {
    auto buffer = rank_input(rank, 999, trace::DType::kBFloat16, true);
    group.all_reduce(buffer, {order, true, trace::DType::kBFloat16, trace::ReduceOp::kSum});
    if (rank == 0) print(buffer);
  }
  fail_if_told(rank);
  group.barrier();
  if (rank == 0) std::printf("whole\n");
}

}  // namespace
}  // namespace nanhunt::mini

int main(int argc, char** argv) {
  try {
    const auto config = nanhunt::mini::parse_config({argv + 1, argv + argc});
    return nanhunt::mini::launch(config, nanhunt::mini::rank_main);
  } catch (const nanhunt::trace::Error& error) {
    std::fprintf(stderr, "launch_probe: %s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
