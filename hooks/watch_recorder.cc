// SPDX-License-Identifier: Apache-2.0
#include "hooks/watch_recorder.h"

#include <ATen/Parallel.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>

#include "hooks/launcher.h"
#include "trace/fingerprint.h"

namespace nanhunt::hooks {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

void add_own_facts(trace::RunFacts& facts) {
  facts.host = host_name();
  if (facts.device.empty()) facts.device = "cpu";
  facts.facts["torch.version"] = TORCH_VERSION;
  facts.facts["threads"] = std::to_string(at::get_num_threads());
  facts.facts["isa"] = trace::fingerprint_version();
  for (const char* name :
       {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "MKL_CBWR", "CUDA_VISIBLE_DEVICES"}) {
    if (const char* value = std::getenv(name)) facts.facts[std::string("env.") + name] = value;
  }
}

trace::RunFacts facts_of(const LaunchedRank& launched) {
  trace::RunFacts facts;
  facts.rank = launched.rank;
  facts.world_size = launched.world_size;
  facts.mesh_size[static_cast<size_t>(trace::MeshAxis::kDp)] = launched.world_size;
  facts.mesh_coordinate[static_cast<size_t>(trace::MeshAxis::kDp)] = launched.rank;
  facts.facts["launcher"] = launched.launcher;
  return facts;
}

LaunchedRank rank_of(const WatchOptions& options) {
  if (!options.rank || !options.world_size) return launched_rank();
  return {*options.rank, *options.world_size, ""};
}

// One writer thread per process, however many ranks run in it.
std::shared_ptr<Recorder> process_recorder(std::optional<trace::CapturePlan> plan) {
  static std::mutex mutex;
  static std::weak_ptr<Recorder> shared;
  std::lock_guard lock(mutex);
  auto recorder = shared.lock();
  if (!recorder) {
    recorder = std::make_shared<Recorder>(std::move(plan));
    recorder->seal_on_death();
    shared = recorder;
  }
  return recorder;
}

WatchedRank watched(const std::function<trace::RunFacts()>& facts_of_rank) {
  WatchedRank result;
  try {
    auto plan = trace::capture_plan_from_environment();
    if (plan) {
      trace::RunFacts facts = facts_of_rank();
      add_own_facts(facts);
      result.recorder = process_recorder(std::move(plan));
      result.rank = &result.recorder->add_rank(std::move(facts));
      return result;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nanhunt: capture is off: %s\n", error.what());
  }
  result.recorder = std::make_shared<Recorder>(std::nullopt);
  result.rank = &result.recorder->add_rank({});
  return result;
}

}  // namespace

WatchedRank watched_rank(const WatchOptions& options) {
  return watched([&] { return facts_of(rank_of(options)); });
}

WatchedRank watched_rank(const trace::RunFacts& facts) {
  return watched([&] { return facts; });
}

}  // namespace nanhunt::hooks
