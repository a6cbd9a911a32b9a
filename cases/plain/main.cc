// SPDX-License-Identifier: Apache-2.0
// The plain GPT: one rank, one microbatch, no parallelism and no fusion. Written to be read; what
// the bundled mini-Megatron computes at tp 1 is held against it. Shares no code with it.
// NANHUNT_CAPTURE names what to record. Prints one line per step.
#include <ATen/Version.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>

#include "cases/plain/gpt.h"
#include "cases/plain/optimizer.h"
#include "hooks/recorder.h"
#include "trace/error.h"

namespace nanhunt::plain {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw trace::Error(trace::ErrorKind::kUsage, "cannot read the training text '" + path + "'");
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

trace::RunFacts run_facts(const Options& options) {
  trace::RunFacts facts;
  char host[256] = {};
  facts.host = ::gethostname(host, sizeof host - 1) == 0 ? host : "unknown";
  facts.device = "cpu";
  facts.facts = {{"program", "plain"},
                 {"torch.version", TORCH_VERSION},
                 {"threads", "1"},
                 {"dtype", std::string(trace::name_of(options.dtype))}};
  return facts;
}

void train(const Options& options, const std::string& text, hooks::RankTaps& taps, bool print) {
  Parameters parameters = make_parameters(options, taps);
  for (int64_t step = 0; step < options.steps; ++step) {
    taps.begin_step(step);
    show_parameters(parameters, taps, options.dtype);
    Batch batch = drawn_batch(text, options, step);
    const double loss = forward_and_backward(options, parameters, batch, taps);
    const double norm = optimizer_step(options, parameters, step + 1, taps);
    taps.end_step();
    if (print) {
      std::printf("step %lld loss %.6f grad_norm %.6f\n", static_cast<long long>(step), loss, norm);
    }
  }
}

// A calibration runs several times, one trace folder each; the first run is not perturbed.
std::optional<trace::CapturePlan> plan_of(std::optional<trace::CapturePlan> plan, int repeat) {
  if (!plan || plan->repeats <= 1) return plan;
  char folder[16];
  std::snprintf(folder, sizeof folder, "%03d", repeat);
  plan->out /= folder;
  plan->repeats = 1;
  if (repeat == 0) plan->perturbation.reset();
  if (plan->perturbation) plan->perturbation->seed += static_cast<uint64_t>(repeat);
  return plan;
}

void run(const Options& options) {
  const std::string text = read_text(options.text);
  const auto plan = trace::capture_plan_from_environment();
  const int repeats = plan ? plan->repeats : 1;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    hooks::Recorder recorder(plan_of(plan, repeat));
    if (repeat == 0) recorder.seal_on_death();
    hooks::RankTaps taps(recorder.add_rank(run_facts(options)));
    train(options, text, taps, repeat == 0);
  }
}

}  // namespace
}  // namespace nanhunt::plain

int main(int argc, char** argv) {
  // As in the bundled subject: equal bits of equal runs are promised in this mode alone.
  ::setenv("MKL_CBWR", "AUTO,STRICT", 0);
  try {
    nanhunt::plain::run(nanhunt::plain::parse_options({argv + 1, argv + argc}));
    return 0;
  } catch (const nanhunt::trace::Error& error) {
    std::fprintf(stderr, "plain: %s\n", error.what());
    return static_cast<int>(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plain: %s\n", error.what());
    return 70;
  }
}
