// SPDX-License-Identifier: Apache-2.0
// Capture for a LibTorch program that knows nothing of placements. docs/hooks.md shows it in use.
//
//     nanhunt::hooks::Watch watch(*model, optimizer);  // parameters, collectives, optimizer
//     x = nanhunt::hooks::tap("encoder.layer1", x);    // an activation and its gradient
//     watch.step();                                    // in place of optimizer.step()
//
// Without NANHUNT_CAPTURE in the environment all of these do nothing. None of them throws what the
// program would not throw without them, or changes a value. One Watch per rank: per process, or per
// thread when ranks are threads; it is used on the thread that made it. model and optimizer must
// outlive it.
//
// A step begins when a parameter is first read with gradients enabled, or by a tap, and ends in
// step().
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace nanhunt::hooks {

class RankTaps;

struct WatchOptions {
  // Default: what torchrun, mpirun or srun say (launcher.h); contradictions switch the capture off.
  std::optional<int32_t> rank;
  std::optional<int32_t> world_size;
};

// Samples of an activation: dimension 0 holds samples first, first + 1, ... of a global batch of
// `total`.
struct Samples {
  int64_t first = 0;
  int64_t total = 0;
};

class Watch {
 public:
  Watch(torch::nn::Module& model, torch::optim::Optimizer& optimizer,
        const WatchOptions& options = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  bool on() const;

  // Records the gradients as the optimizer gets them, steps, records moments and parameters.
  void step();
  // The two halves of step(), for a program that steps in its own way.
  void before_optimizer();
  void after_optimizer();

  at::Tensor tap(const std::string& site, const at::Tensor& activation,
                 std::optional<Samples> samples = std::nullopt);
  at::Tensor tap_loss(const at::Tensor& loss);

  // Global ranks of a process group that is not the whole world, by its name; c10d does not know
  // them.
  void group(const std::string& name, const std::vector<int32_t>& ranks);

  // The taps below, for a program that knows its placements (rank_taps.h).
  RankTaps& taps();

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

// The same on the thread's Watch; the tensor itself when the thread has none.
at::Tensor tap(const std::string& site, const at::Tensor& activation,
               std::optional<Samples> samples = std::nullopt);
at::Tensor tap_loss(const at::Tensor& loss);

}  // namespace nanhunt::hooks
