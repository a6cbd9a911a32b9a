// SPDX-License-Identifier: Apache-2.0
// Three layers, trained data-parallel by two processes. The lines marked 1 to 4 are nanhunt's.
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>

#include <cstdio>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "hooks/watch.h"  // 1
#include "socket_backend.h"

namespace hooks = nanhunt::hooks;

struct Net : torch::nn::Module {
  torch::nn::Linear in{nullptr}, middle{nullptr}, out{nullptr};

  Net() {
    in = register_module("stem", torch::nn::Linear(8, 16));
    middle = register_module("body", torch::nn::Linear(16, 16));
    out = register_module("top", torch::nn::Linear(16, 1));
  }

  at::Tensor forward(at::Tensor x, hooks::Samples samples) {
    x = hooks::tap("stem", at::gelu(in(x)), samples);          // 2
    x = hooks::tap("body", x + at::gelu(middle(x)), samples);  // 2
    return hooks::tap("top", out(x), samples);                 // 2
  }
};

// The same weights on all ranks, and other data on each.
void fill(const at::Tensor& tensor, int64_t seed) {
  at::NoGradGuard no_grad;
  const at::Tensor index = at::arange(tensor.numel(), at::kFloat).reshape(tensor.sizes());
  tensor.copy_((index * 0.7 + seed).sin() * 0.3);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "use: three_layers STORE_FILE PARAMETER_FILE\n");
    return 2;
  }
  const int rank = std::atoi(std::getenv("RANK")), world = std::atoi(std::getenv("WORLD_SIZE"));
  auto store = c10::make_intrusive<c10d::FileStore>(argv[1], world);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, world);
  group->setBackend(at::kCPU, c10d::ProcessGroup::CUSTOM,
                    c10::make_intrusive<SocketBackend>(store, rank, world));
  group->setDefaultBackend(c10d::ProcessGroup::CUSTOM);

  Net net;
  for (const auto& parameter : net.named_parameters()) fill(parameter.value(), 1);
  torch::optim::AdamW optimizer(net.parameters(), torch::optim::AdamWOptions(1e-2));
  hooks::Watch watch(net, optimizer);  // 3

  for (int step = 0; step < 3; ++step) {
    const at::Tensor x = at::empty({4, 8}), y = at::empty({4, 1});
    fill(x, 10 + step * world + rank);
    fill(y, 100 + step * world + rank);
    at::Tensor loss = (net.forward(x, {rank * 4, world * 4}) - y).square().mean();
    loss = hooks::tap_loss(loss);  // 2
    loss.backward();
    std::vector<c10::intrusive_ptr<c10d::Work>> reductions;
    for (at::Tensor& parameter : net.parameters()) {
      std::vector<at::Tensor> gradient{parameter.mutable_grad().div_(world)};
      reductions.push_back(group->allreduce(gradient));
    }
    for (auto& reduction : reductions) reduction->wait();
    watch.step();  // 4: was optimizer.step()
    optimizer.zero_grad();
  }

  std::FILE* file = std::fopen(argv[2], "wb");
  for (const at::Tensor& parameter : net.parameters()) {
    std::fwrite(parameter.const_data_ptr(), parameter.itemsize(), parameter.numel(), file);
  }
  return std::fclose(file);
}
