// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/run_facts.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/native/DispatchStub.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace nanhunt::mini {
namespace {

std::string on_off(bool value) { return value ? "on" : "off"; }

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

int32_t& size_of(trace::RunFacts& facts, trace::MeshAxis axis) {
  return facts.mesh_size[static_cast<size_t>(axis)];
}

}  // namespace

trace::RunFacts run_facts(const Config& config, int rank) {
  trace::RunFacts facts;
  facts.rank = rank;
  facts.world_size = static_cast<int32_t>(config.world_size());
  size_of(facts, trace::MeshAxis::kTp) = static_cast<int32_t>(config.tp);
  size_of(facts, trace::MeshAxis::kDp) = static_cast<int32_t>(config.dp);
  size_of(facts, trace::MeshAxis::kMicrobatch) = static_cast<int32_t>(config.microbatches);
  facts.mesh_coordinate[static_cast<size_t>(trace::MeshAxis::kTp)] =
      static_cast<int32_t>(rank % config.tp);
  facts.mesh_coordinate[static_cast<size_t>(trace::MeshAxis::kDp)] =
      static_cast<int32_t>(rank / config.tp);
  facts.host = host_name();
  facts.device = "cpu";
  facts.facts = {{"program", "mini"},
                 {"torch.version", TORCH_VERSION},
                 {"isa", at::get_cpu_capability()},
                 {"threads", std::to_string(at::get_num_threads())},
                 {"mkldnn", on_off(at::globalContext().userEnabledMkldnn())},
                 {"launch.ranks", config.processes ? "processes" : "threads"},
                 {"dtype", std::string(trace::name_of(config.dtype))},
                 {"overlap.grad_reduce", on_off(config.overlap_grad_reduce && config.dp > 1)}};
  facts.facts["release"] = std::to_string(config.release);
  if (const char* mode = std::getenv("MKL_CBWR")) facts.facts["env.MKL_CBWR"] = mode;
  return facts;
}

}  // namespace nanhunt::mini
