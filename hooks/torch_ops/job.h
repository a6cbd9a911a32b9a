// SPDX-License-Identifier: Apache-2.0
// One rank of a PyTorch job, as the Python package drives it (hooks/python): the package says when
// steps begin and end and what each tensor is; statistics, fingerprints, values, links and
// collectives are done here, on the tensor in place.
//
// Everything runs on the job's own threads and never throws into it; what goes wrong ends the
// capture and is written down. All methods are no-ops when the rank is off.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hooks/collective_watch.h"

namespace nanhunt::hooks {

class Job {
 public:
  // Facts as in point_text.h. Reads NANHUNT_CAPTURE; without it the rank is off. The thread that
  // makes it is the one whose ops are followed.
  explicit Job(const std::string& facts);
  ~Job();

  bool on() const;
  std::string plan() const;  // capture plan as JSON; "" when off
  bool wants(const std::string& site, const std::string& phase) const;

  void begin_step(int64_t step);
  void end_step();

  // Registers what a tap will say (point_text.h); the number that taps name it by, -1 when it
  // cannot be understood.
  int64_t point(const std::string& json);
  // Sites of the records that the tensor's memory carries, the latest first; "" where a record is
  // not known by name.
  std::vector<std::string> sources(const at::Tensor& tensor) const;
  // Records the tensor now. Returns it, or, in calibration runs, the one with the planned noise.
  // `attributes`: JSON object of what differs from call to call, "" for those of the point.
  at::Tensor tap(int64_t point, const at::Tensor& tensor, int64_t microbatch,
                 const std::string& attributes);
  // Taps of tensors that belong to no microbatch: one call for all parameters of a step.
  void tap_each(const std::vector<int64_t>& points, const std::vector<at::Tensor>& tensors,
                const std::vector<std::string>& attributes);
  void scalar(int64_t point, double value);

  void fact(const std::string& key, const std::string& value);
  void keep(const at::Tensor& parameter);
  void perturb_parameter(const std::string& name, at::Tensor parameter);

  // A process group: its global ranks, and the mesh axis that it lies along ("" unknown).
  void group(const std::string& name, const std::vector<int64_t>& ranks, const std::string& axis);
  // The module whose forward runs now: names the collectives issued inside it.
  void enter(const std::string& site);
  void leave();
  // True while the program is inside a torch.distributed function: its collectives come with a
  // work that it must wait for, and waited() tells that it did.
  void issuing(bool by_program);
  void waited(const void* work);
  // This memory is that parameter's gradient, until the step ends: names collectives on it.
  void name_gradient(const std::string& site, const at::Tensor& gradient);

  void fail(const std::string& what);
  // The program is ending by that exception: seals what there is with its words.
  void died(const std::string& what);
  // Stops the writer. A step that was not ended stays so: its trace says how far it came.
  void close();

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace nanhunt::hooks
