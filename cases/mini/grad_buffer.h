// SPDX-License-Identifier: Apache-2.0
// Gradients of one rank: accumulated over microbatches in FP32 (main_grad), then summed over data
// parallelism in buckets (Megatron-LM core/distributed/param_and_grad_buffer.py; the loss is
// divided by the step's token count beforehand, so the sum needs no divisor). Parameters are in
// reverse order of the model; the bucket layout is the same with and without overlap, so both give
// equal bits.
//
// With overlap.grad_reduce a bucket is reduced on the communication thread as soon as its last
// gradient of the last microbatch is there, and waited for in finish(). All records are made on the
// compute thread: operands when the bucket is launched, results after its wait.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cases/mini/collectives.h"
#include "cases/mini/communication_thread.h"
#include "cases/mini/parameters.h"

namespace nanhunt::mini {

class GradBuffer {
 public:
  // Hooks each parameter's gradient. The context and the parameters must outlive the buffer.
  GradBuffer(RankContext& context, Parameters& parameters);
  ~GradBuffer();

  void begin_step();                 // main_grad = 0
  void begin_microbatch(bool last);  // before backward
  void end_microbatch();             // after backward; drops autograd's own gradients
  void finish();                     // main_grad holds the sum over data parallelism

 private:
  struct Bucket {
    std::vector<Parameter*> parameters;
    size_t missing = 0;  // gradients of the last microbatch that are not there yet
    at::Tensor flat;
    std::optional<TappedCollective> collective;
    std::promise<void> wait_reached;
    std::future<void> done;
    bool held = false;
  };

  void accumulate(Parameter& parameter, const at::Tensor& gradient);
  void launch(Bucket& bucket);
  void complete(Bucket& bucket);
  // The parameter whose range this rank reads too early, if this bucket holds it.
  Parameter* read_early(const Bucket& bucket) const;

  RankContext& context_;
  std::vector<Bucket> buckets_;
  std::unordered_map<const Parameter*, Bucket*> bucket_of_;
  std::vector<std::pair<Parameter*, unsigned>> hooks_;
  bool last_microbatch_ = false;
  std::unique_ptr<CommunicationThread> thread_;
};

}  // namespace nanhunt::mini
