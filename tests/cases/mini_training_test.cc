// SPDX-License-Identifier: Apache-2.0
// The training step in this process: gradients against differences of the loss, and capture that
// changes no bit of the parameters.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "cases/mini/grad_buffer.h"
#include "cases/mini/launch.h"
#include "cases/mini/run_facts.h"
#include "cases/mini/trainer.h"
#include "tests/cases/mini_run.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::mini {
namespace {

constexpr char kText[] =
    "In the beginning God created the heaven and the earth. And the earth was without form, and "
    "void; and darkness was upon the face of the deep.";

Config tiny() {
  Config config;
  config.layers = 2;
  config.hidden = 16;
  config.heads = 2;
  config.ffn = 32;
  config.sequence = 8;
  config.global_batch = 2;
  config.learned_positions = true;
  config.qkv_bias = true;
  config.init_std = 0.1;
  config.dtype = trace::DType::kFloat32;
  return config;
}

// One rank, nothing recorded.
struct OneRank {
  explicit OneRank(const Config& of) : config(of) { at::set_num_threads(1); }

  Config config;
  Fault fault;
  std::unique_ptr<World> world = create_thread_world(1, 1 << 20);
  hooks::Recorder recorder{std::nullopt};
  hooks::RankTaps taps{recorder.add_rank(run_facts(config, 0))};
  Mesh mesh{*world, config, 0};
  Placements placements{config, 0, 0};
  RankContext context{config, fault, taps, mesh, placements};
};

double loss_of(OneRank& rank, const Model& model, int64_t batch_of_step) {
  const at::NoGradGuard no_grad;
  const Batch batch = draw_batch(kText, rank.config, batch_of_step);
  return forward_loss(rank.context, model, local_batch(rank.context, batch)).item<double>();
}

// Slope of the loss along each parameter's own gradient, over the squared length of that gradient:
// 1 where the gradient is right.
std::map<std::string, double> slopes(OneRank& rank, int64_t batch_of_step) {
  Model model = build_model(rank.context);
  GradBuffer gradients(rank.context, model.parameters);
  const Batch batch = draw_batch(kText, rank.config, 0);
  gradients.begin_step();
  gradients.begin_microbatch(true);
  forward_loss(rank.context, model, local_batch(rank.context, batch)).backward();
  gradients.end_microbatch();

  std::map<std::string, double> result;
  const at::NoGradGuard no_grad;
  for (Parameter& parameter : model.parameters.in_model_order()) {
    const double square = parameter.main_grad.square().sum(at::kDouble).item<double>();
    const double step = 2e-2 / std::sqrt(square);
    const at::Tensor start = parameter.value.detach().clone();
    const at::Tensor value = parameter.value.detach();
    value.copy_(start.add(parameter.main_grad, step));
    const double above = loss_of(rank, model, batch_of_step);
    value.copy_(start.sub(parameter.main_grad, step));
    const double below = loss_of(rank, model, batch_of_step);
    value.copy_(start);
    result[parameter.name] = (above - below) / (2 * step * square);
  }
  return result;
}

class Gradients : public testing::TestWithParam<bool> {};

TEST_P(Gradients, AreTheSlopeOfTheLoss) {
  Config config = tiny();
  config.fused_attention = GetParam();
  OneRank rank(config);
  for (const auto& [name, slope] : slopes(rank, 0)) EXPECT_NEAR(slope, 1, 0.02) << name;
}

INSTANTIATE_TEST_SUITE_P(Attention, Gradients, testing::Bool());

TEST(GradientsTwin, AreNotTheSlopeOfAnotherBatchesLoss) {
  OneRank rank(tiny());
  int wrong = 0;
  for (const auto& [name, slope] : slopes(rank, 1)) wrong += std::abs(slope - 1) > 0.02;
  EXPECT_GT(wrong, 10);
}

// Parameters of all ranks after the run.
std::vector<at::Tensor> trained(Config config, std::optional<trace::CapturePlan> plan) {
  at::set_num_threads(1);
  hooks::Recorder recorder(std::move(plan));
  std::mutex mutex;
  std::map<std::string, at::Tensor> parameters;
  const Fault fault;
  const int status = launch(config, [&](World& world, int rank) {
    Mesh mesh(world, config, rank);
    hooks::RankTaps taps(recorder.add_rank(run_facts(config, rank)));
    Placements placements(config, mesh.tp_rank, mesh.dp_rank);
    RankContext context{config, fault, taps, mesh, placements};
    train(context, kText, nullptr, [&](const StepResult& result, const Model& model) {
      if (result.step + 1 < config.steps) return;
      const std::lock_guard lock(mutex);
      for (const Parameter& parameter : model.parameters.in_model_order()) {
        parameters[std::to_string(rank) + parameter.name] = parameter.master.clone();
      }
    });
  });
  EXPECT_EQ(status, 0);
  std::vector<at::Tensor> list;
  for (const auto& [name, tensor] : parameters) list.push_back(tensor);
  return list;
}

bool bit_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const auto x = elements(a[i]), y = elements(b[i]);
    if (x.size() != y.size() || std::memcmp(x.data(), y.data(), x.size_bytes()) != 0) return false;
  }
  return !a.empty() && a.size() == b.size();
}

TEST(MiniCapture, ChangesNoParameter) {
  Config config = tiny();
  config.dtype = trace::DType::kBFloat16;
  config.tp = config.dp = 2;
  config.sequence_parallel = config.overlap_grad_reduce = true;
  const auto off = trained(config, std::nullopt);
  for (const trace::Level level : {trace::Level::kStats, trace::Level::kFull}) {
    const ScratchFolder folder;
    trace::CapturePlan plan;
    plan.out = folder.path();
    plan.level = level;
    EXPECT_TRUE(bit_equal(off, trained(config, plan))) << trace::name_of(level);
    for (const auto& rank : trace::TraceReader(folder.path()).progress(config.steps - 1)) {
      EXPECT_TRUE(rank.complete) << rank.rank;
    }
  }
  config.learning_rate *= 1 + 1e-6;
  EXPECT_FALSE(bit_equal(off, trained(config, std::nullopt)));
}

}  // namespace
}  // namespace nanhunt::mini
