// SPDX-License-Identifier: Apache-2.0
// The bundled subject: a GPT that trains on the bytes of a text, over tensor, sequence and data
// parallelism. Prints one line per step. NANHUNT_CAPTURE names what to record, NANHUNT_FAULT_FILE a
// defect to plant.
#include <ATen/Parallel.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "cases/mini/launch.h"
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
    train(context, text, [&](const StepResult& result, const Model&) {
      if (repeat == 0) print_step(context, result);
    });
  }
};

int run(const std::vector<std::string>& arguments) {
  const Config config = parse_config(arguments);
  const Fault fault = fault_from_environment();
  const std::string text = load_text(config.text);
  RunRecorders recorders(trace::capture_plan_from_environment(),
                         config.processes ? 1 : static_cast<int>(config.world_size()));
  const Run all{config, fault, text, recorders};
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
