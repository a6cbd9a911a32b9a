// SPDX-License-Identifier: Apache-2.0
// Shows the plain GPT's tensors to nanhunt's taps: whole tensors, links declared by the records
// that went into them. Nothing is computed here; a calibration run may hand back a value with its
// planned noise.
#pragma once

#include <string>
#include <vector>

#include "cases/plain/tensor.h"
#include "hooks/rank_taps.h"

namespace nanhunt::plain {

struct Point {
  std::string site;
  trace::Phase phase;
  std::string role;
  std::vector<std::string> axes;
  trace::DType dtype = trace::DType::kFloat32;  // the type that the values are rounded to
  bool in_microbatch = true;
  std::string op = {};
  std::string attributes = {};  // JSON
};

using Sources = std::vector<const Tensor*>;

// Records the tensor, linked to the records of `from`; the tensor then stands for its own record.
void show(hooks::RankTaps& taps, const Point& point, Tensor& tensor, const Sources& from);
// A scalar of the optimizer; its record.
std::vector<int64_t> show_scalar(hooks::RankTaps& taps, const Point& point, double value,
                                 const std::vector<int64_t>& from);
// Batches and masks: integers and booleans, [sample, ...].
void show_tokens(hooks::RankTaps& taps, const std::string& role, std::vector<int64_t>& values,
                 const std::vector<int64_t>& shape);
void show_mask(hooks::RankTaps& taps, const Point& point, std::vector<uint8_t>& values,
               const std::vector<int64_t>& shape);

}  // namespace nanhunt::plain
