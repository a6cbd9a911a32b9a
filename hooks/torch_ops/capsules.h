// SPDX-License-Identifier: Apache-2.0
// Capsules of a PyTorch job, as the Python package drives them (hooks/python/nanhunt/capsule.py).
// Writing keeps the promises of hooks/capsule_writer.h. Loading is asked for by the job and throws:
// what cannot be loaded must not be trained on.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "capsule/load.h"
#include "hooks/capsule_writer.h"

namespace nanhunt::hooks {

class JobCapsules {
 public:
  // plan: {"folder": "capsules", "keep": 2, "run": 17, "queue_bytes": 4294967296, "wait": true};
  // all but the folder may be left out (CapsulePlan); facts as in point_text.h. Throws
  // std::invalid_argument.
  JobCapsules(const std::string& plan, const std::string& facts);

  void begin(int64_t step);
  // point: {"site", "role", "placement"} (point_text.h). False: the tensor cannot be written
  // (quantised, complex); the caller says so.
  bool add(const std::string& point, const at::Tensor& tensor);
  void end();
  void close();

 private:
  CapsuleWriter writer_;
  RankCapsule rank_;
};

class LoadedCapsule {
 public:
  // step < 0: the newest whole one. Throws trace::Error when it is not whole.
  LoadedCapsule(const std::string& folder, int64_t step, const std::string& facts);

  int64_t step() const { return capsule_.step().step; }
  // JSON: [{"site", "role", "kind", "dtype", "shape", "lost"}, ...] of all tensors, logical shapes;
  // "lost": one line, what a program loses that has no such tensor ("" of the writer's number).
  std::string tensors() const;
  // "" when it was loaded into the local tensor, in place; else why not and what is lost.
  std::string load(const std::string& point, const at::Tensor& tensor) const;

 private:
  trace::RunFacts facts_;
  capsule::Capsule capsule_;
};

}  // namespace nanhunt::hooks
