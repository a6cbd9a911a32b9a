// SPDX-License-Identifier: Apache-2.0
// The bundled subject: a GPT that trains on the bytes of a text, over tensor, sequence and data
// parallelism. Prints one line per step. NANHUNT_CAPTURE names what to record, NANHUNT_FAULT_FILE a
// defect to plant.
#include <ATen/Parallel.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cases/mini/launch.h"
#include "cases/mini/releases.h"
#include "cases/mini/run_facts.h"
#include "cases/mini/run_recorders.h"
#include "cases/mini/text.h"
#include "cases/mini/trainer.h"
#include "trace/error.h"

namespace nanhunt::mini {
namespace {

void print_step(const RankContext& context, const StepResult& result) {
  if (context.mesh.rank != 0) return;
  std::printf("step %lld loss %.6f grad_norm %.6f\n", static_cast<long long>(result.step),
              result.loss, result.grad_norm);
  std::fflush(stdout);
}

struct Run {
  const Config& config;
  const Fault& fault;
  const std::string& text;
  RunRecorders& recorders;
  hooks::CapsuleWriter* capsules;

  void rank(World& world, int rank) const {
    // Said on each thread: MKL and OpenMP count for each, and two sum products in another order.
    at::set_num_threads(1);
    Mesh mesh(world, config, rank);
    for (int repeat = 0; repeat < recorders.repeats(); ++repeat) {
      once(mesh, repeat);
      recorders.leave(repeat);
    }
  }

  void once(Mesh& mesh, int repeat) const {
    hooks::RankRecorder& recorder =
        recorders.of_repeat(repeat).add_rank(run_facts(config, mesh.rank));
    hooks::RankTaps taps(recorder);
    Placements placements(config, mesh.tp_rank, mesh.dp_rank);
    RankContext context{config, fault, taps, mesh, placements};
    std::optional<hooks::RankCapsule> capsule;
    if (capsules != nullptr && repeat == 0) {
      capsule = capsules->add_rank(run_facts(config, mesh.rank));
    }
    train(context, text, capsule ? &*capsule : nullptr,
          [&](const StepResult& result, const Model&) {
            if (repeat == 0) print_step(context, result);
          });
  }
};

// One number for all ranks of the run, also where each is a process of its own.
uint64_t run_number() {
  constexpr const char* kVariable = "NANHUNT_CAPSULE_RUN";
  std::random_device random;
  const uint64_t drawn = uint64_t{random()} << 32 | random();
  ::setenv(kVariable, std::to_string(drawn).c_str(), 0);
  return std::strtoull(std::getenv(kVariable), nullptr, 10);
}

std::unique_ptr<hooks::CapsuleWriter> capsule_writer(const CapsuleOptions& options) {
  if (options.out.empty()) return nullptr;
  hooks::CapsulePlan plan;
  plan.folder = options.out;
  plan.keep = options.keep;
  plan.run = run_number();
  return std::make_unique<hooks::CapsuleWriter>(std::move(plan));
}

int run(const std::vector<std::string>& arguments) {
  Config config = parse_config(arguments);
  const Fault fault = fault_from_environment();
  set_defaults(config, fault);
  if (!config.capsules.resume.empty()) resume_config(config);
  const std::string text = load_text(config.text);
  RunRecorders recorders(trace::capture_plan_from_environment(),
                         config.processes ? 1 : static_cast<int>(config.world_size()));
  const auto capsules = capsule_writer(config.capsules);
  const Run all{config, fault, text, recorders, capsules.get()};
  return launch(config, [&](World& world, int rank) { all.rank(world, rank); });
}

}  // namespace
}  // namespace nanhunt::mini

int main(int argc, char** argv) {
  // oneMKL promises equal bits of equal runs in this mode alone ("Conditional Numerical
  // Reproducibility" of its guide), and reads it at its first call. Who sets another keeps it.
  ::setenv("MKL_CBWR", "AUTO,STRICT", 0);
  try {
    return nanhunt::mini::run({argv + 1, argv + argc});
  } catch (const nanhunt::trace::Error& error) {
    std::fprintf(stderr, "mini: %s\n", error.what());
    return static_cast<int>(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mini: %s\n", error.what());
    return 70;
  }
}
