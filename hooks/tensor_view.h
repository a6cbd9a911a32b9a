// SPDX-License-Identifier: Apache-2.0
// A LibTorch tensor as the recorder sees it: memory on the host, dense, of a type that a record can
// hold. What already is one is viewed in place; all else is copied.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "trace/fingerprint.h"

namespace nanhunt::hooks {

std::optional<trace::DType> dtype_of(at::ScalarType type);
at::ScalarType scalar_type_of(trace::DType dtype);

// The view and the tensor that keeps its memory.
struct HostTensor {
  at::Tensor owner;
  trace::TensorView view;
};

// nullopt with the reason in *refused (when given): undefined, quantised, complex, no memory.
// `rounded_to` converts the elements; exact when the program rounded them already.
std::optional<HostTensor> host_tensor(const at::Tensor& tensor,
                                      std::optional<trace::DType> rounded_to = std::nullopt,
                                      std::string* refused = nullptr);

}  // namespace nanhunt::hooks
