// SPDX-License-Identifier: Apache-2.0
// Growth: the error of a tensor over the error of what went into it, each as relative norm of the
// deviation from the reference. Noise that is common to a run (an early rounding that all later
// tensors carry) moves both, so healthy growth varies less than healthy errors do.
#pragma once

#include <optional>
#include <vector>

#include "oracle/logical.h"

namespace nanhunt::oracle {

// By logical tensor of the step: the logical tensors that its records link to, sorted, each once.
// Parameters are left out (their deviations are judged by rules), and a tensor itself. Empty where
// a link leads to a record that was not captured, and in phases that are not part of forward, loss
// or backward. Indices into `logicals`.
std::vector<std::vector<int>> linked_inputs(const trace::Step& step,
                                            const std::vector<Logical>& logicals);

// Root of the sum of the squared errors of the inputs. `errors`: by logical tensor, below 0 where
// not known. nullopt: no inputs, or one not known.
std::optional<double> error_in(const std::vector<int>& inputs, const std::vector<double>& errors);

// error_out over error_in, which counts for no less than what is healthy there: a candidate that is
// nearer to the reference than the perturbed runs were does not grow more by that.
double growth(double error_out, double error_in, double healthy_in);

}  // namespace nanhunt::oracle
