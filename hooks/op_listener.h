// SPDX-License-Identifier: Apache-2.0
// The ops of one rank, told to whoever captures it: each op before it runs (so that a tensor can be
// recorded before it is read or overwritten), and the collectives that go through c10d. One
// listener per rank, bound to the rank's thread; a collective that another thread issues goes to
// the only listener of the process, if there is only one.
#pragma once

#include <ATen/record_function.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "hooks/collective_watch.h"

namespace nanhunt::hooks {

class OpListener {
 public:
  virtual ~OpListener() = default;
  virtual bool on() const = 0;
  // Of every op that moves no data between ranks: thousands a step, so it is called even when off.
  virtual void before_op(const at::RecordFunction& function) = 0;
  // nullopt: not recorded.
  virtual std::optional<CollectiveWatch::Issued> before_collective(
      const at::RecordFunction& function) = 0;
  // The op has returned; `issued.completed` asks its work.
  virtual void after_collective(CollectiveWatch::Issued issued) = 0;
  // The result of a functional collective has been waited for.
  virtual void after_wait(const at::Tensor& result) = 0;
  // One of the above threw.
  virtual void failed(const std::string& what) = 0;
};

// Each tensor that the op reads or writes; none for an op that only makes a view, which reads
// nothing.
void each_use(const at::RecordFunction& function,
              const std::function<void(const at::Tensor& tensor, bool overwritten)>& visit);

// Registers the observer, once per process. Observers run in the order of their registration:
// before RankTaps registers the flow observer, so that the results of a collective are recorded
// before the flow observer reads what an op's inputs carry.
void observe_ops();
void listen_on_this_thread(const std::shared_ptr<OpListener>& listener);
void stop_listening_on_this_thread();

}  // namespace nanhunt::hooks
