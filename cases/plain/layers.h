// SPDX-License-Identifier: Apache-2.0
// The mathematics of the plain GPT: each layer and its derivative, nothing rounded but FP64 to FP32
// at the end of each result. Rows are tokens of samples, [sample][token]; weights are [out][in].
#pragma once

#include "cases/plain/tensor.h"

namespace nanhunt::plain {

// y = x w^T + b; `bias` may be null.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor* bias);
Tensor linear_input_gradient(const Tensor& gradient, const Tensor& weight, const Tensor& x);
Tensor linear_weight_gradient(const Tensor& gradient, const Tensor& x);
Tensor bias_gradient(const Tensor& gradient);  // sum over the rows

// y = x / sqrt(mean(x^2) + eps) * weight
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps);
Tensor rms_norm_input_gradient(const Tensor& gradient, const Tensor& x, const Tensor& weight,
                               double eps);
Tensor rms_norm_weight_gradient(const Tensor& gradient, const Tensor& x, double eps);

// y = x Phi(x), Phi the normal distribution function.
Tensor gelu(const Tensor& x);
Tensor gelu_gradient(const Tensor& gradient, const Tensor& x);

// Rows of the table that the ids name; its derivative adds each row back to its id.
Tensor look_up(const std::vector<int64_t>& ids, const Tensor& table);
Tensor look_up_gradient(const std::vector<int64_t>& ids, const Tensor& gradient,
                        const Tensor& table);

}  // namespace nanhunt::plain
