// SPDX-License-Identifier: Apache-2.0
// AdamW's update of one parameter, as far as its records tell (Loshchilov and Hutter, Decoupled
// Weight Decay Regularization, 2019, algorithm 2):
//   master = (1 - lr wd) master' - lr (m / c1) / (sqrt(v / c2) + eps),  c = 1 - beta^t
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::oracle {

// The update phase of one parameter on one rank; nullptr where it was not captured. Without a
// master the parameter is its own.
struct OptimizerState {
  const trace::Record *param = nullptr, *master = nullptr, *exp_avg = nullptr,
                      *exp_avg_sq = nullptr;
};

// By rank and site. Refers to the step.
std::map<std::pair<int32_t, std::string>, OptimizerState> optimizer_states(const trace::Step& step);

// How an op that keeps Adam's two moments treats weight decay.
enum class Decay { kApart, kInGradient };

// nullopt: not an op whose moments are known to follow from the gradient, though it may have states
// of these names (Lion, Adafactor, an optimizer of the program's own).
std::optional<Decay> keeps_adam_moments(const trace::Record& record);

struct AdamW {
  double lr, beta1, beta2, eps, weight_decay, step;
};

// From op and attributes; nullopt for other optimizers, also those that have these numbers, and for
// AMSGrad, which divides by the largest second moment so far.
std::optional<AdamW> adamw_of(const trace::Record& master);

// The update divides the first moment by the root of the recorded second: Adam's, with any decay.
bool divides_by_recorded_moment(const trace::Record& update);

struct BiasCorrection {
  double first = 1, second = 1;  // c1, c2; 1: none
};

BiasCorrection bias_correction(const AdamW& optimizer, double step);

// Values of one update, in local order.
struct UpdateValues {
  std::vector<double> master, before, exp_avg, exp_avg_sq;
};

// nullopt where one of them was not captured in full.
std::optional<UpdateValues> update_values(const trace::TraceReader& reader,
                                          const OptimizerState& now, const OptimizerState& before);

// Largest |difference| / allowed over the elements, in FP64: allowed 16 u (|master'| + |update|)
// and a subnormal, u the roundoff in which the master was computed.
double worst_update(const UpdateValues& values, const trace::Record& master, const AdamW& optimizer,
                    const BiasCorrection& correction);

}  // namespace nanhunt::oracle
