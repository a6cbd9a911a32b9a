// SPDX-License-Identifier: Apache-2.0
// The plain GPT's parameters, in the order of the model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cases/plain/options.h"
#include "cases/plain/recording.h"

namespace nanhunt::plain {

struct Parameter {
  std::string name;
  std::vector<std::string> axes;
  Tensor master;    // FP32
  Tensor value;     // the master rounded to the training type
  Tensor gradient;  // FP32, of the step so far
  Tensor exp_avg, exp_avg_sq;
};

using Parameters = std::vector<Parameter>;

// Drawn by name; norm weights are 1. `taps`: a calibration run moves each value by an ulp.
Parameters make_parameters(const Options& options, hooks::RankTaps& taps);

Parameter& by_name(Parameters& parameters, const std::string& name);

// Records the values that the step starts from.
void show_parameters(Parameters& parameters, hooks::RankTaps& taps, trace::DType dtype);

}  // namespace nanhunt::plain
