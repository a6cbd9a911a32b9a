// SPDX-License-Identifier: Apache-2.0
// Collectives of a program that issues them through c10d, seen without a word in the program.
// Operands are recorded when the op is called, before it may overwrite them. Work::wait leaves no
// trace that a callback could see, so the results are recorded when they are first read after the
// call (an op, a tap, the optimizer), which in a correct program is after its wait; at the latest
// at the end of the step. When the work had not ended by then, nobody can have waited: the
// collective's complete_sequence stays -1.
// Where waits can be seen (Python), waited() tells them, and `wait_expected` marks the collectives
// whose wait would be seen: what reads their result before that reads it too early, however fast
// the work was.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
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

  // A collective between its call and its end; `work` comes when the op has returned.
  struct Issued {
    CollectiveCall call;
    std::vector<TapPoint> points;
    std::vector<at::Tensor> results;
    int segments = 0;
    Work work;
    bool wait_expected = false;
  };
  Issued issue(const C10dCall& call);
  void pending(Issued issued);

  // The program has waited for that work (Work::id), or for what this tensor holds.
  void waited(const void* work);
  void waited(const at::Tensor& result);
  // The tensor is about to be read, or overwritten, by something else.
  void before_use(const at::Tensor& tensor, bool overwritten);
  // End of the step: records what is left.
  void finish();
  bool idle() const;

 private:
  template <class Fits>
  std::vector<Issued> take(Fits fits);
  void record(const Issued& issued, bool waited);

  RankTaps& taps_;
  NamePoint name_;
  mutable std::mutex mutex_;
  std::vector<Issued> pending_;
  std::atomic<bool> idle_{true};  // pending_.empty(), asked before each op of the job
};

}  // namespace nanhunt::hooks
