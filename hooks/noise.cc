// SPDX-License-Identifier: Apache-2.0
#include "hooks/noise.h"

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "hooks/tensor_view.h"
#include "trace/rules_file.h"

namespace nanhunt::hooks {
namespace {

// SplitMix64's finaliser: each input bit reaches each output bit.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint64_t mix(uint64_t state, uint64_t value) {
  return mix(state * 0x9e3779b97f4a7c15ULL + value + 0x632be59bd9b4e019ULL);
}

// std::hash may differ between libraries; runs on two machines must draw alike.
uint64_t mix(uint64_t state, const std::string& text) {
  for (const char c : text) state = mix(state, static_cast<unsigned char>(c));
  return mix(state, text.size());
}

double uniform_in_unit_ball(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
}

// Identity for autograd: the noise is no part of the function that is differentiated.
struct ReplaceValues : torch::autograd::Function<ReplaceValues> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& /*input*/,
                            const at::Tensor& values) {
    return values.clone();  // neither a view nor an input: the program may write into it
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0], at::Tensor()};
  }
};

// Of one place: of each of its elements, and what all its microbatches share.
struct Seeds {
  uint64_t element = 0, column = 0;
};

std::vector<int64_t> permutation(uint64_t seed, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[mix(seed, i) % i]);
  return order;
}

// What the roundings of a product's operands leave in it (trace::NoiseRule), relative to them.
class OperandErrors {
 public:
  // `values`: contiguous, in use as long as this is.
  OperandErrors(const at::Tensor& values, uint64_t seed)
      : value_(values.const_data_ptr<double>()),
        columns_(values.dim() > 0 ? std::max<int64_t>(1, values.size(-1)) : 1),
        row_squares_(static_cast<size_t>(values.numel() / columns_)),
        column_squares_(static_cast<size_t>(columns_)),
        seed_(seed),
        partner_(permutation(seed, columns_)) {
    for (int64_t i = 0; i < values.numel(); ++i) {
      const double square = std::isfinite(value_[i]) ? value_[i] * value_[i] : 0;
      row_squares_[row(i)] += square;
      column_squares_[column(i)] += square;
      squares_ += square;
    }
    mean_square_ = values.numel() > 0 ? squares_ / static_cast<double>(values.numel()) : 0;
  }

  // Of squares, (row / columns) (column / rows) / (all / elements) is row column / all; half of it.
  double size(int64_t i) const {
    if (is_vector() || squares_ == 0) return std::sqrt(mean_square_);
    return std::sqrt(row_squares_[row(i)] * (column_squares_[column(i)] / squares_) / 2);
  }

  double shared_by_rows(int64_t i) const {
    if (is_vector()) return 0;
    const auto at = static_cast<size_t>(column(i));
    const double other = value_[i - static_cast<int64_t>(at) + partner_[at]];
    if (!std::isfinite(other)) return 0;
    const bool positive = (mix(seed_, columns_ + at) & 1) != 0;
    return (positive ? other : -other) / std::sqrt(6.0);
  }

 private:
  bool is_vector() const { return columns_ == 1 || row_squares_.size() == 1; }
  size_t row(int64_t i) const { return static_cast<size_t>(i / columns_); }
  size_t column(int64_t i) const { return static_cast<size_t>(i % columns_); }

  const double* value_;
  int64_t columns_;
  std::vector<double> row_squares_, column_squares_;
  double squares_ = 0, mean_square_ = 0;
  uint64_t seed_;
  std::vector<int64_t> partner_;
};

at::Tensor noisy_values(const Seeds& seeds, const trace::NoiseRule& rule, const at::Tensor& tensor,
                        std::optional<trace::DType> rounded_to) {
  at::NoGradGuard no_grad;
  const at::Tensor wide = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  at::Tensor result = wide.clone();
  std::optional<OperandErrors> operands;
  if (rule.operands > 0) operands.emplace(wide, seeds.column);
  double* value = result.mutable_data_ptr<double>();
  for (int64_t i = 0; i < result.numel(); ++i) {
    if (!std::isfinite(value[i]) || value[i] == 0) continue;
    const double xi = uniform_in_unit_ball(mix(seeds.element, static_cast<uint64_t>(i)));
    const double least = std::max(rule.absolute, operands ? rule.operands * operands->size(i) : 0);
    if (rule.relative * std::abs(value[i]) >= least)
      value[i] *= 1.0 + rule.relative * xi;
    else
      value[i] += least * xi;
    if (operands) value[i] += rule.operands * operands->shared_by_rows(i);
  }
  if (rounded_to) result = result.to(scalar_type_of(*rounded_to));
  return result.to(tensor.device(), tensor.scalar_type());
}

template <class Bits, int kExponentBits, int kMantissaBits>
void move_codes(uint64_t seed, Bits* codes, int64_t count) {
  constexpr Bits kSign = Bits(1) << (kExponentBits + kMantissaBits);
  constexpr Bits kInfinity = ((Bits(1) << kExponentBits) - 1) << kMantissaBits;
  for (int64_t i = 0; i < count; ++i) {
    const Bits magnitude = codes[i] & Bits(kSign - 1);
    if (magnitude >= kInfinity) continue;
    const bool away = (mix(seed, static_cast<uint64_t>(i)) & 1) != 0;
    // Neighbouring codes are neighbouring values; zero has a neighbour on the far side only.
    if (magnitude == 0 || (away && magnitude + 1 < kInfinity)) {
      codes[i] = static_cast<Bits>(codes[i] + 1);
    } else {
      codes[i] = static_cast<Bits>(codes[i] - 1);
    }
  }
}

}  // namespace

const trace::NoiseRule* planned_noise(const trace::Perturbation& plan, const NoisePlace& place) {
  for (const trace::NoiseRule& rule : plan.noise) {
    if (!rule.role.empty() && rule.role != place.role) continue;
    if (!rule.phase.empty() && rule.phase != trace::name_of(place.phase)) continue;
    if (!trace::match_site(rule.site, place.site, nullptr)) continue;
    return rule.relative > 0 || rule.absolute > 0 || rule.operands > 0 ? &rule : nullptr;
  }
  return nullptr;
}

at::Tensor with_noise(const trace::Perturbation& plan, const NoisePlace& place,
                      const at::Tensor& tensor, std::optional<trace::DType> rounded_to) {
  if (!tensor.defined() || !tensor.is_floating_point()) return tensor;
  const trace::NoiseRule* rule = planned_noise(plan, place);
  if (rule == nullptr) return tensor;
  Seeds seeds;
  seeds.column = mix(mix(plan.seed), place.site);
  seeds.column = mix(mix(seeds.column, static_cast<uint64_t>(place.phase)), place.role);
  seeds.element = mix(mix(seeds.column, static_cast<uint64_t>(place.microbatch)),
                      static_cast<uint64_t>(place.step));
  at::DisableRecordFunctionGuard unseen;
  const at::Tensor values = noisy_values(seeds, *rule, tensor, rounded_to);
  return tensor.requires_grad() && at::GradMode::is_enabled() ? ReplaceValues::apply(tensor, values)
                                                              : values;
}

void move_by_one_ulp(uint64_t seed, const std::string& name, at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point()) return;
  at::NoGradGuard no_grad;
  at::DisableRecordFunctionGuard unseen;
  seed = mix(mix(seed), name);
  at::Tensor moved = tensor.detach().to(at::kCPU).contiguous().clone();
  void* data = moved.mutable_data_ptr();
  const int64_t count = moved.numel();
  switch (moved.scalar_type()) {
    case at::kDouble:
      move_codes<uint64_t, 11, 52>(seed, static_cast<uint64_t*>(data), count);
      break;
    case at::kFloat:
      move_codes<uint32_t, 8, 23>(seed, static_cast<uint32_t*>(data), count);
      break;
    case at::kHalf:
      move_codes<uint16_t, 5, 10>(seed, static_cast<uint16_t*>(data), count);
      break;
    case at::kBFloat16:
      move_codes<uint16_t, 8, 7>(seed, static_cast<uint16_t*>(data), count);
      break;
    default:
      return;
  }
  tensor.detach().copy_(moved);
}

}  // namespace nanhunt::hooks
