// SPDX-License-Identifier: Apache-2.0
#include "hooks/tensor_view.h"

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>

#include <string>
#include <utility>

namespace nanhunt::hooks {
namespace {

constexpr std::pair<at::ScalarType, trace::DType> kTypes[] = {
    {at::kDouble, trace::DType::kFloat64},
    {at::kFloat, trace::DType::kFloat32},
    {at::kHalf, trace::DType::kFloat16},
    {at::kBFloat16, trace::DType::kBFloat16},
    {at::kFloat8_e4m3fn, trace::DType::kFloat8E4M3},
    {at::kFloat8_e5m2, trace::DType::kFloat8E5M2},
    {at::kLong, trace::DType::kInt64},
    {at::kInt, trace::DType::kInt32},
    {at::kShort, trace::DType::kInt16},
    {at::kChar, trace::DType::kInt8},
    {at::kByte, trace::DType::kUInt8},
    {at::kBool, trace::DType::kBool},
};

std::string why_not(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  if (tensor.layout() != at::kStrided) return "not dense";
  if (!tensor.has_storage() || tensor.is_meta()) return "without memory";
  if (!dtype_of(tensor.scalar_type()))
    return std::string("of type ") + c10::toString(tensor.scalar_type());
  return "";
}

}  // namespace

std::optional<trace::DType> dtype_of(at::ScalarType type) {
  for (const auto& [torch_type, dtype] : kTypes) {
    if (torch_type == type) return dtype;
  }
  return std::nullopt;
}

at::ScalarType scalar_type_of(trace::DType dtype) {
  for (const auto& [torch_type, own] : kTypes) {
    if (own == dtype) return torch_type;
  }
  return at::kFloat;
}

std::optional<HostTensor> host_tensor(const at::Tensor& tensor,
                                      std::optional<trace::DType> rounded_to,
                                      std::string* refused) {
  if (std::string reason = why_not(tensor); !reason.empty()) {
    if (refused != nullptr) *refused = reason;
    return std::nullopt;
  }
  at::DisableRecordFunctionGuard unseen;
  at::NoGradGuard no_grad;
  at::Tensor host = tensor.detach();
  if (host.is_neg()) host = host.clone();
  if (!host.device().is_cpu()) host = host.cpu();
  if (rounded_to && scalar_type_of(*rounded_to) != host.scalar_type()) {
    host = host.to(scalar_type_of(*rounded_to));
  }
  HostTensor result;
  result.view.data = host.const_data_ptr();
  result.view.dtype = *dtype_of(host.scalar_type());
  result.view.shape.assign(host.sizes().begin(), host.sizes().end());
  result.view.strides.assign(host.strides().begin(), host.strides().end());
  result.owner = std::move(host);
  return result;
}

}  // namespace nanhunt::hooks
