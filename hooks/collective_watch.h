// SPDX-License-Identifier: Apache-2.0
// Collectives of a program that issues them through c10d, seen without a word in the program.
// Operands are recorded when the op is called, before it may overwrite them. Work::wait leaves no
// trace that a callback could see, so the results are recorded when they are first read after the
// call (an op, a tap, the optimizer), which in a correct program is after its wait; at the latest
// at the end of the step. When the work had not ended by then, nobody can have waited: the
// collective's complete_sequence stays -1.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <mutex>
#include <vector>

#include "hooks/c10d_calls.h"
#include "hooks/rank_taps.h"

namespace nanhunt::hooks {

// Names a tensor that a collective moves.
using NamePoint = std::function<TapPoint(const C10dCall& call, trace::Phase phase,
                                         const at::Tensor& tensor, size_t index)>;

// Thread safe; the thread that issues need not be the one that uses.
class CollectiveWatch {
 public:
  CollectiveWatch(RankTaps& taps, NamePoint name);

  // A collective between its call and its end; `completed` comes when the op has returned.
  struct Issued {
    CollectiveCall call;
    std::vector<TapPoint> points;
    std::vector<at::Tensor> results;
    int segments = 0;
    Completed completed;
  };
  Issued issue(const C10dCall& call);
  void pending(Issued issued);

  // The tensor is about to be read, or overwritten, by something else.
  void before_use(const at::Tensor& tensor, bool overwritten);
  // End of the step: records what is left.
  void finish();
  bool idle() const;

 private:
  void record(const Issued& issued);

  RankTaps& taps_;
  NamePoint name_;
  mutable std::mutex mutex_;
  std::vector<Issued> pending_;
};

}  // namespace nanhunt::hooks
