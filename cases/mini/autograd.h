// SPDX-License-Identifier: Apache-2.0
// Ops whose backward the subject writes itself: a forward value and a closure for the gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "trace/dtype.h"

namespace nanhunt::mini {

// Gradients of the inputs, from that of the output; called once or never.
using Backward = std::function<std::vector<at::Tensor>(const at::Tensor& grad_output)>;

// `forward` is evaluated without autograd; its result, which must not be one of the inputs, becomes
// the output of a graph node over `inputs`. The closure may hold inputs, never the output.
at::Tensor with_backward(const std::vector<at::Tensor>& inputs,
                         const std::function<at::Tensor()>& forward, Backward backward);

// The values rounded to a narrower type, to nearest even, in FP32 storage. FP32: the tensor itself.
at::Tensor rounded(const at::Tensor& values, trace::DType dtype);

}  // namespace nanhunt::mini
