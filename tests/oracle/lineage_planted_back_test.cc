// SPDX-License-Identifier: Apache-2.0
// The same in the backward pass: derivatives with respect to what an op read, of softmax, norms,
// activations and dropout. Those of parameters, attention and loss have files of their own.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/oracle/planted.h"

namespace nanhunt::oracle::test {
namespace {

using trace::DType;
using trace::Phase;

// One row: what the op read forward, its weight (none: empty), and the gradient of its output.
struct Row {
  Values x, weight, gradient;
};

Program derivative(const std::string& op, const std::string& attributes, const Row& row,
                   Program::Run run) {
  const auto width = static_cast<int64_t>(row.x.size());
  Program program{
      {.site = "own", .phase = Phase::kBackward, .role = "grad_input"},
      {{row.x, {1, 1, width}},
       {row.gradient,
        {1, 1, width},
        {.site = "own", .phase = Phase::kBackward, .role = "grad_output"}}},
      std::move(run),
      {1, 1, width},
      {{Values(row.x.size()), {1, 1, width}, {.site = "own", .op = op, .attributes = attributes}}}};
  if (!row.weight.empty())
    program.operands.push_back({row.weight, {width}, {.site = "own.weight", .role = "param"}});
  return program;
}

// dx = p (g - sum p g)
Values softmax_back(const Arithmetic& in, const std::vector<Operand>& of) {
  const Values &x = of[0].values, &gradient = of[1].values;
  const float most = *std::ranges::max_element(x);
  Values p, dx;
  for (const float value : x) p.push_back(in(std::exp(double{in(value - most)})));
  const float all = in.sum(p);
  for (float& weight : p) weight = in(weight / double{all});
  const float mean = in.dot(p, gradient);
  for (size_t i = 0; i < p.size(); ++i) dx.push_back(in(p[i] * double{in(gradient[i] - mean)}));
  return dx;
}

// dx = r (d - mean(d) - n mean(d n)), d = g w; of RMS norm without means of x and d.
Program::Run norm_back(bool centred, double eps) {
  return [=](const Arithmetic& in, const std::vector<Operand>& of) {
    const Values &x = of[0].values, &gradient = of[1].values;
    const auto size = static_cast<double>(x.size());
    double mean = 0, squares = 0;  // of forward, which kept them in FP64
    for (const float value : x) mean += centred ? value / size : 0;
    for (const float value : x) squares += (value - mean) * (value - mean) / size;
    const float r = in(1 / std::sqrt(squares + in(eps)));
    Values n, d, dx;
    for (size_t i = 0; i < x.size(); ++i) {
      n.push_back(in((x[i] - mean) * r));
      d.push_back(in(double{gradient[i]} * (of.size() < 3 ? 1 : of[2].values[i])));
    }
    const float along = in(in.dot(d, n) / size), shift = centred ? in(in.sum(d) / size) : 0;
    for (size_t i = 0; i < n.size(); ++i)
      dx.push_back(in(r * double{in(in(d[i] - shift) - in(n[i] * double{along}))}));
    return dx;
  };
}

// dx = g slope(x)
Program activation(const std::string& op, const std::string& attributes, Values x, Values gradient,
                   float (*slope)(const Arithmetic&, double)) {
  return derivative(op, attributes, {std::move(x), {}, std::move(gradient)},
                    [slope](const Arithmetic& in, const std::vector<Operand>& of) {
                      Values dx;
                      for (size_t i = 0; i < of[0].values.size(); ++i)
                        dx.push_back(in(double{of[1].values[i]} * slope(in, of[0].values[i])));
                      return dx;
                    });
}

// 0.5 (1 + t) + 0.5 x (1 - t^2) inner, as frameworks write it.
float slope_of_tanh_form(const Arithmetic& in, double x) {
  constexpr double kCubic = 0.044715, kRoot = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const double square = in(x * x), cube = in(square * x);
  const double t = in(std::tanh(double{in(kRoot * in(x + in(kCubic * cube)))}));
  const double inner = in(kRoot * in(1 + in(3 * kCubic * square)));
  const double right = in(in(0.5 * x * in(1 - in(t * t))) * inner);
  return in(in(0.5 * in(1 + t)) + right);
}

// Phi(x) + x phi(x)
float slope_of_erf_form(const Arithmetic& in, double x) {
  constexpr double kDensity = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  const double power = in(std::exp(double{in(-0.5 * in(x * x))}));
  return in(in(0.5 * std::erfc(-x / std::numbers::sqrt2)) + in(x * in(power * kDensity)));
}

// s (1 + x (1 - s))
float slope_of_silu(const Arithmetic& in, double x) {
  const double s = in(1 / double{in(1 + in(std::exp(-x)))});
  return in(s * in(1 + in(x * in(1 - s))));
}

Program dropout(Values x, Values gradient, Values mask) {
  const auto width = static_cast<int64_t>(x.size());
  Program program = derivative("dropout", R"({"p":0.5})", {std::move(x), {}, std::move(gradient)},
                               [](const Arithmetic& in, const std::vector<Operand>& of) {
                                 Values dx;
                                 for (size_t i = 0; i < of[1].values.size(); ++i)
                                   dx.push_back(in(double{of[1].values[i]} * of[0].values[i] * 2));
                                 return dx;
                               });
  program.operands[0] = {
      std::move(mask), {1, 1, width}, {.site = "own", .role = "mask", .storage = DType::kBool}};
  return program;
}

std::vector<Plant> of_norms(DType type) {
  const float root_of_max = extremes_of(type).root_of_max;
  std::vector<Plant> plants;
  for (const char* op : {"rms_norm", "layer_norm"}) {
    const bool centred = op[0] == 'l';
    const auto norm = [&](double eps, const Row& row) {
      return derivative(op, attribute("eps", eps), row, norm_back(centred, eps));
    };
    const std::string name = op;
    plants.push_back({name + "_of_constant",
                      type,
                      "rsqrt_of_zero",
                      norm(0, {centred ? Values{2, 2} : Values{0, 0}, {}, {1, 2}}),
                      {{1, 2}, {1, 2}}});
    plants.push_back({name + "_weight",
                      type,
                      "overflow_in_product",
                      norm(0.01, {{100, -100, 50}, {root_of_max, 1, 1}, {root_of_max, 1, 1}}),
                      {{100, -100, 50}, {1, 1, 1}, {1, 1, 1}}});
    // The mean that a layer norm takes off is Inf, too; an RMS norm leaves an Inf beside the NaN.
    plants.push_back({name + "_of_inf",
                      type,
                      centred ? "inf_minus_inf" : "handed_on",
                      norm(0.01, {{1, 2}, {}, {kInf, 1}}),
                      {}});
  }
  return plants;
}

std::vector<Plant> of_activations(DType type) {
  const float root_of_max = extremes_of(type).root_of_max, most = extremes_of(type).most;
  const std::string tanh = R"({"tanh":true})";
  // The twins are where exponential, cube or square overflow and do no harm.
  return {
      {"gelu_tanh_square",
       type,
       "overflow_in_product",
       activation("gelu", tanh, {-root_of_max, 1}, {1, 1}, slope_of_tanh_form),
       {{60, 1}}},
      {"gelu_tanh_of_inf",
       type,
       "zero_times_inf",
       activation("gelu", tanh, {kInf, 1}, {1, 1}, slope_of_tanh_form),
       {{2, 1}}},
      {"gelu_of_inf",
       type,
       "zero_times_inf",
       activation("gelu", "", {-kInf, 1}, {1, 1}, slope_of_erf_form),
       {{root_of_max, 1}}},
      {"silu_of_inf",
       type,
       "zero_times_inf",
       activation("silu", "", {kInf, 1}, {1, 1}, slope_of_silu),
       {{-most, 1}}},
      {"silu_of_minus_inf",
       type,
       "zero_times_inf",
       activation("silu", "", {-kInf, 1}, {1, 1}, slope_of_silu),
       {{most, 1}}},
      {"silu_of_nan",
       type,
       "handed_on",
       activation("silu", "", {kNan, 1}, {1, 1}, slope_of_silu),
       {}},
      {"dropped_by_product",
       type,
       "zero_times_inf",
       dropout({1, 1}, {kInf, 1}, {0, 1}),
       {{0, 1}, {1, 1}}},
  };
}

std::vector<Plant> in_type(DType type) {
  const float most = extremes_of(type).most;
  const auto softmax = [](Values x, Values gradient) {
    return derivative("softmax", "", {std::move(x), {}, std::move(gradient)}, softmax_back);
  };
  std::vector<Plant> plants{
      // A weight near 0 times what is beyond the type; in exact arithmetic it is small.
      {"softmax_difference",
       type,
       "overflow_in_accumulation",
       softmax({0, -12}, {most, -most}),
       {{0, -12}, {1, -1}}},
      {"softmax_all_hidden", type, "all_masked", softmax({-kInf, -kInf}, {1, 2}), {}},
      {"softmax_hidden_of_inf", type, "zero_times_inf", softmax({0, -kInf}, {1, kInf}), {}},
  };
  for (auto* more : {of_norms, of_activations}) {
    for (Plant& plant : more(type)) plants.push_back(std::move(plant));
  }
  return plants;
}

INSTANTIATE_TEST_SUITE_P(Backward, PlantedLineage, testing::ValuesIn(in_both_types(in_type)),
                         name_of_plant);

}  // namespace
}  // namespace nanhunt::oracle::test
