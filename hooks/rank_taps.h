// SPDX-License-Identifier: Apache-2.0
// Taps for LibTorch programs that know their placements. One RankTaps per rank, owned by the rank's
// compute thread; collectives may be tapped from its communication thread too.
//
// A tap returns the tensor (`x = taps.tap(point, x)`): the same one, except in calibration runs,
// where it carries the planned noise. Links: each op's output storage inherits the records of its
// inputs (flow, by RecordFunction, thread local); a tap resets it to itself. No tap throws.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hooks/recorder.h"

namespace nanhunt::hooks {

struct TapPoint {
  std::string site;
  trace::Phase phase = trace::Phase::kForward;
  std::string role = "output";
  int32_t microbatch = -1;
  std::shared_ptr<const trace::Placement> placement;
  trace::DType compute = trace::DType::kFloat32;
  // Type the elements are rounded to, when the program holds e.g. BF16 values in FP32 storage; the
  // record's storage type is this one, and values are stored in it. Default: the tensor's own type.
  std::optional<trace::DType> rounded_to;
  std::string op;
  std::string attributes;
  // The tensor has a record already, under another name (a container hands on what its child made):
  // its noise is in it.
  bool copied = false;
};

// A collective between its issue and its wait.
struct CollectiveCall {
  int64_t log_index = -1;
  std::vector<int64_t> inputs;
  bool waited = true;  // false: complete() records the results, the log says that nobody waited
};

class RankTaps {
 public:
  explicit RankTaps(RankRecorder& recorder);
  ~RankTaps();

  bool on() const;
  RankRecorder& recorder();

  // Clears the flow map but for parameters and moments, and begins / ends the step in the recorder.
  void begin_step(int64_t step);
  void end_step();

  // Records the tensor as it is now.
  at::Tensor tap(const TapPoint& point, const at::Tensor& tensor);
  // Records the tensor now, and the gradient that flows back through this place when it comes
  // (backward point's phase and role). Noise applies to both.
  at::Tensor tap(const TapPoint& point, const TapPoint& backward, const at::Tensor& tensor);
  // Records only the gradient that flows back through this place.
  at::Tensor tap_gradient(const TapPoint& backward, const at::Tensor& tensor);
  // Records with links that the program declares (own kernels, optimizer): sequence numbers.
  at::Tensor tap(const TapPoint& point, const at::Tensor& tensor,
                 const std::vector<int64_t>& links);
  // Sequence numbers of the records that this tensor's storage carries now.
  std::vector<int64_t> carried(const at::Tensor& tensor) const;
  // A scalar: loss, norm, clip factor, learning rate, loss scale.
  int64_t scalar(const TapPoint& point, double value, const std::vector<int64_t>& links = {});

  // Before the collective is issued (operands are read now), and after its wait (results are read
  // now). `segments`: equal pieces along dimension 0 for gather, scatter and all-to-all. The
  // results are linked to the operands (declared) and become what their storage carries. issue may
  // run on another thread than complete.
  CollectiveCall issue(trace::Collective collective, const std::vector<TapPoint>& points,
                       const std::vector<at::Tensor>& operands, int segments = 0);
  std::vector<at::Tensor> complete(const CollectiveCall& call, const std::vector<TapPoint>& points,
                                   const std::vector<at::Tensor>& results, int segments = 0);

  // Parameters and moments stay known over steps; call once each. Their links do not: a sequence
  // number means something within its step only, so a kept tensor carries nothing until it is
  // tapped again.
  void keep(const at::Tensor& parameter);
  // Calibration: moves the initial parameter as the plan says (in place, called before the first
  // step).
  void perturb_parameter(const std::string& name, at::Tensor& parameter);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with the gradient hooks in the autograd graph
};

}  // namespace nanhunt::hooks
