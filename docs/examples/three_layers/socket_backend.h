// SPDX-License-Identifier: Apache-2.0
// A c10d backend of two ranks over one socket, as a stand-in for gloo or NCCL: sums FP32 tensors,
// rank 0's addend first. Reductions are done by a thread of the backend, so they are really
// asynchronous.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

class SocketBackend : public c10d::Backend {
 public:
  SocketBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size);
  ~SocketBackend() override;

  const std::string getBackendName() const override { return "socket"; }
  c10::intrusive_ptr<c10d::Work> allreduce(
      std::vector<at::Tensor>& tensors,
      const c10d::AllreduceOptions& options = c10d::AllreduceOptions()) override;

 private:
  class Reduction;
  void run();
  void sum_with_peer(at::Tensor& tensor);

  int socket_ = -1;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<c10::intrusive_ptr<Reduction>> queue_;
  bool stopping_ = false;
  std::thread thread_;
};
