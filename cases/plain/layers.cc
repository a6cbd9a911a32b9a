// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/layers.h"

#include <cmath>
#include <numbers>

namespace nanhunt::plain {
namespace {

Tensor with_channels(const Tensor& like, int64_t channels) {
  std::vector<int64_t> shape = like.shape;
  shape.back() = channels;
  return zeros(shape);
}

// 1 / sqrt(mean(x^2) + eps) of one row.
double inverse_norm(const Tensor& x, size_t row, double eps) {
  double squares = 0;
  for (size_t c = 0; c < x.channels(); ++c) {
    const double value = x[row * x.channels() + c];
    squares += value * value;
  }
  return 1.0 / std::sqrt(squares / static_cast<double>(x.channels()) + eps);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor* bias) {
  const size_t inputs = x.channels(), outputs = weight.rows();
  Tensor y = with_channels(x, weight.shape[0]);
  for (size_t row = 0; row < x.rows(); ++row) {
    for (size_t o = 0; o < outputs; ++o) {
      double sum = 0;
      for (size_t i = 0; i < inputs; ++i) {
        sum += double{x[row * inputs + i]} * weight[o * inputs + i];
      }
      if (bias != nullptr) sum += (*bias)[o];
      y[row * outputs + o] = static_cast<float>(sum);
    }
  }
  return y;
}

Tensor linear_input_gradient(const Tensor& gradient, const Tensor& weight, const Tensor& x) {
  const size_t inputs = x.channels(), outputs = gradient.channels();
  Tensor result = zeros(x.shape);
  std::vector<double> sums(inputs);
  for (size_t row = 0; row < x.rows(); ++row) {
    sums.assign(inputs, 0.0);
    for (size_t o = 0; o < outputs; ++o) {
      const double g = gradient[row * outputs + o];
      for (size_t i = 0; i < inputs; ++i) sums[i] += g * weight[o * inputs + i];
    }
    for (size_t i = 0; i < inputs; ++i) result[row * inputs + i] = static_cast<float>(sums[i]);
  }
  return result;
}

Tensor linear_weight_gradient(const Tensor& gradient, const Tensor& x) {
  const size_t inputs = x.channels(), outputs = gradient.channels();
  Tensor result = zeros({gradient.shape.back(), x.shape.back()});
  std::vector<double> sums(inputs);
  for (size_t o = 0; o < outputs; ++o) {
    sums.assign(inputs, 0.0);
    for (size_t row = 0; row < x.rows(); ++row) {
      const double g = gradient[row * outputs + o];
      for (size_t i = 0; i < inputs; ++i) sums[i] += g * x[row * inputs + i];
    }
    for (size_t i = 0; i < inputs; ++i) result[o * inputs + i] = static_cast<float>(sums[i]);
  }
  return result;
}

Tensor bias_gradient(const Tensor& gradient) {
  Tensor result = zeros({gradient.shape.back()});
  for (size_t c = 0; c < result.size(); ++c) {
    double sum = 0;
    for (size_t row = 0; row < gradient.rows(); ++row) sum += gradient[row * result.size() + c];
    result[c] = static_cast<float>(sum);
  }
  return result;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  Tensor y = zeros(x.shape);
  for (size_t row = 0; row < x.rows(); ++row) {
    const double inverse = inverse_norm(x, row, eps);
    for (size_t c = 0; c < x.channels(); ++c) {
      const size_t at = row * x.channels() + c;
      y[at] = static_cast<float>(x[at] * inverse * weight[c]);
    }
  }
  return y;
}

// With r the inverse norm and n the channels: dx = r w g - x r^3 / n * sum(w g x).
Tensor rms_norm_input_gradient(const Tensor& gradient, const Tensor& x, const Tensor& weight,
                               double eps) {
  Tensor result = zeros(x.shape);
  const size_t channels = x.channels();
  for (size_t row = 0; row < x.rows(); ++row) {
    const double inverse = inverse_norm(x, row, eps);
    double projection = 0;
    for (size_t c = 0; c < channels; ++c) {
      const size_t at = row * channels + c;
      projection += double{gradient[at]} * weight[c] * x[at];
    }
    const double pull = projection * inverse * inverse * inverse / static_cast<double>(channels);
    for (size_t c = 0; c < channels; ++c) {
      const size_t at = row * channels + c;
      result[at] = static_cast<float>(double{gradient[at]} * weight[c] * inverse - x[at] * pull);
    }
  }
  return result;
}

Tensor rms_norm_weight_gradient(const Tensor& gradient, const Tensor& x, double eps) {
  std::vector<double> sums(x.channels(), 0.0);
  for (size_t row = 0; row < x.rows(); ++row) {
    const double inverse = inverse_norm(x, row, eps);
    for (size_t c = 0; c < x.channels(); ++c) {
      const size_t at = row * x.channels() + c;
      sums[c] += gradient[at] * (x[at] * inverse);
    }
  }
  Tensor result = zeros({x.shape.back()});
  for (size_t c = 0; c < sums.size(); ++c) result[c] = static_cast<float>(sums[c]);
  return result;
}

Tensor gelu(const Tensor& x) {
  Tensor y = zeros(x.shape);
  for (size_t i = 0; i < x.size(); ++i) {
    const double distribution = 0.5 * (1.0 + std::erf(x[i] / std::numbers::sqrt2));
    y[i] = static_cast<float>(x[i] * distribution);
  }
  return y;
}

Tensor gelu_gradient(const Tensor& gradient, const Tensor& x) {
  Tensor result = zeros(x.shape);
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = x[i];
    const double distribution = 0.5 * (1.0 + std::erf(value / std::numbers::sqrt2));
    const double density = std::exp(-0.5 * value * value) / std::sqrt(2.0 * std::numbers::pi);
    result[i] = static_cast<float>(gradient[i] * (distribution + value * density));
  }
  return result;
}

Tensor look_up(const std::vector<int64_t>& ids, const Tensor& table) {
  const size_t channels = table.channels();
  Tensor rows = zeros({static_cast<int64_t>(ids.size()), table.shape[1]});
  for (size_t row = 0; row < ids.size(); ++row) {
    const size_t id = static_cast<size_t>(ids[row]);
    for (size_t c = 0; c < channels; ++c) rows[row * channels + c] = table[id * channels + c];
  }
  return rows;
}

Tensor look_up_gradient(const std::vector<int64_t>& ids, const Tensor& gradient,
                        const Tensor& table) {
  const size_t channels = table.channels();
  std::vector<double> sums(table.size(), 0.0);
  for (size_t row = 0; row < ids.size(); ++row) {
    const size_t id = static_cast<size_t>(ids[row]);
    for (size_t c = 0; c < channels; ++c) sums[id * channels + c] += gradient[row * channels + c];
  }
  Tensor result = zeros(table.shape);
  for (size_t i = 0; i < sums.size(); ++i) result[i] = static_cast<float>(sums[i]);
  return result;
}

}  // namespace nanhunt::plain
