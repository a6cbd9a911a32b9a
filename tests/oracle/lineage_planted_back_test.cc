// SPDX-License-Identifier: Apache-2.0
// The same in the backward pass: derivatives of softmax and norms that really make a NaN or an Inf
// in the arithmetic of their type, each with its twin of milder operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "oracle/replay/lineage.h"
#include "tests/compare/trace_builder.h"

namespace nanhunt::oracle::test {
namespace {

using compare::test::copies;
using compare::test::TemporaryFolder;
using compare::test::TraceBuilder;
using compare::test::Values;
using trace::DType;
using trace::Phase;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One row: what the op read forward, its weight (none: empty), and the gradient of its output.
struct Row {
  Values x, weight, gradient;
};

struct Plant {
  std::string name;
  DType type;
  std::string kind;  // expected lineage
  std::string op;
  double eps;
  Row row, mild;  // no mild row: the mechanism has no twin

  friend void PrintTo(const Plant& plant, std::ostream* out) { *out << plant.name; }
};

// Each result is rounded to the type, as a kernel that keeps its intermediates in it.
class Kernel {
 public:
  explicit Kernel(DType type) : type_(type) {}

  // dx = p (g - sum p g)
  Values softmax(const Row& row) const {
    const float most = *std::ranges::max_element(row.x);
    Values p;
    for (const float x : row.x) p.push_back(in(std::exp(double{in(x - most)})));
    const float all = in(sum(p));
    for (float& weight : p) weight = in(weight / double{all});
    const float mean = dot(p, row.gradient);
    Values dx;
    for (size_t i = 0; i < p.size(); ++i)
      dx.push_back(in(p[i] * double{in(row.gradient[i] - mean)}));
    return dx;
  }

  // dx = r (d - mean(d) - n mean(d n)), d = g w; of RMS norm without means of x and d.
  Values norm(const Row& row, bool centred, double eps) const {
    const auto size = static_cast<double>(row.x.size());
    double mean = 0, squares = 0;  // of forward, which kept them in FP64
    for (const float x : row.x) mean += centred ? x / size : 0;
    for (const float x : row.x) squares += (x - mean) * (x - mean) / size;
    const float r = in(1 / std::sqrt(squares + in(eps)));
    Values n, d;
    for (size_t i = 0; i < row.x.size(); ++i) {
      n.push_back(in((row.x[i] - mean) * r));
      d.push_back(in(double{row.gradient[i]} * (row.weight.empty() ? 1 : row.weight[i])));
    }
    const float along = in(dot(d, n) / size), shift = centred ? in(sum(d) / size) : 0;
    Values dx;
    for (size_t i = 0; i < n.size(); ++i)
      dx.push_back(in(r * double{in(in(d[i] - shift) - in(n[i] * double{along}))}));
    return dx;
  }

 private:
  float in(double value) const {
    return type_ == DType::kFloat16 ? static_cast<float>(static_cast<_Float16>(value))
                                    : static_cast<float>(value);
  }
  float sum(const Values& values) const {
    float total = 0;
    for (const float value : values) total = in(total + value);
    return total;
  }
  float dot(const Values& a, const Values& b) const {
    Values terms;
    for (size_t i = 0; i < a.size(); ++i) terms.push_back(in(double{a[i]} * b[i]));
    return sum(terms);
  }

  DType type_;
};

Values derivative(const Plant& plant, const Row& row) {
  const Kernel kernel(plant.type);
  return plant.op == "softmax" ? kernel.softmax(row)
                               : kernel.norm(row, plant.op == "layer_norm", plant.eps);
}

Lineage lineage_of_row(const Plant& plant, const Row& row, const Values& found) {
  TraceBuilder builder;
  const auto placement = copies({1, 1, static_cast<int64_t>(row.x.size())});
  const std::string eps = R"({"eps":)" + std::to_string(plant.eps) + "}";
  std::vector<int64_t> links{
      builder.add({.site = "before", .storage = plant.type}, row.x, placement)};
  if (!row.weight.empty()) {
    links.push_back(builder.add({.site = "own.weight", .role = "param", .storage = plant.type},
                                row.weight, copies({static_cast<int64_t>(row.x.size())})));
  }
  builder.add({.site = "own",
               .links = links,
               .storage = plant.type,
               .op = plant.op,
               .attributes = plant.op == "softmax" ? "" : eps},
              Values(row.x.size()), placement);
  links.push_back(builder.add(
      {.site = "own", .phase = Phase::kBackward, .role = "grad_output", .storage = plant.type},
      row.gradient, placement));
  const auto at = builder.add({.site = "own",
                               .phase = Phase::kBackward,
                               .role = "grad_input",
                               .links = links,
                               .storage = plant.type},
                              found, placement);
  const TemporaryFolder folder;
  builder.write(folder.path());
  const trace::TraceReader reader(folder.path());
  const trace::Step step = reader.read_step(0);
  return lineage_of(ReplayIndex(step), &reader,
                    step.records[static_cast<size_t>(step.find(0, at))]);
}

bool all_finite(const Values& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

class PlantedLineageBack : public testing::TestWithParam<Plant> {};

TEST_P(PlantedLineageBack, IsNamed) {
  const Plant& plant = GetParam();
  const Values found = derivative(plant, plant.row);
  ASSERT_FALSE(all_finite(found));
  const Lineage told = lineage_of_row(plant, plant.row, found);
  EXPECT_EQ(told.kind, plant.kind) << told.detail;
}

TEST_P(PlantedLineageBack, TwinMakesNoneAndIsToldApart) {
  const Plant& plant = GetParam();
  if (plant.mild.x.empty()) return;
  Values found = derivative(plant, plant.mild);
  ASSERT_TRUE(all_finite(found));
  found.front() = kNan;
  const Lineage told = lineage_of_row(plant, plant.mild, found);
  EXPECT_EQ(told.kind, "not_from_operands") << told.detail;
}

std::vector<Plant> all() {
  std::vector<Plant> plants;
  for (const DType type : {DType::kFloat32, DType::kFloat16}) {
    const bool half = type == DType::kFloat16;
    const float root_of_max = half ? 300.0f : 2e19f;  // its square is beyond the type
    const float most = half ? 60000.0f : 3e38f;       // twice it, too
    const std::string of_type = "_" + std::string(trace::name_of(type));
    const auto add = [&](const std::string& name, const char* kind, const char* op, double eps,
                         Row row, Row mild) {
      plants.push_back({name + of_type, type, kind, op, eps, std::move(row), std::move(mild)});
    };
    // A weight near 0 times what is beyond the type; in exact arithmetic it is small.
    add("softmax_difference", "overflow_in_accumulation", "softmax", 0,
        {{0, -12}, {}, {most, -most}}, {{0, -12}, {}, {1, -1}});
    add("softmax_all_hidden", "all_masked", "softmax", 0, {{-kInf, -kInf}, {}, {1, 2}}, {});
    add("softmax_hidden_of_inf", "zero_times_inf", "softmax", 0, {{0, -kInf}, {}, {1, kInf}}, {});
    for (const char* op : {"rms_norm", "layer_norm"}) {
      const bool centred = op[0] == 'l';
      add(std::string(op) + "_of_constant", "rsqrt_of_zero", op, 0,
          {centred ? Values{2, 2} : Values{0, 0}, {}, {1, 2}}, {{1, 2}, {}, {1, 2}});
      add(std::string(op) + "_weight", "overflow_in_product", op, 0.01,
          {{100, -100, 50}, {root_of_max, 1, 1}, {root_of_max, 1, 1}},
          {{100, -100, 50}, {1, 1, 1}, {1, 1, 1}});
      // The mean that a layer norm takes off is Inf, too; an RMS norm leaves an Inf beside the NaN.
      add(std::string(op) + "_of_inf", centred ? "inf_minus_inf" : "handed_on", op, 0.01,
          {{1, 2}, {}, {kInf, 1}}, {});
    }
  }
  return plants;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedLineageBack, testing::ValuesIn(all()),
                         [](const auto& plant) { return plant.param.name; });

}  // namespace
}  // namespace nanhunt::oracle::test
