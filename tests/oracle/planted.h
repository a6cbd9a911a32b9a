// SPDX-License-Identifier: Apache-2.0
// Set-up of the tests of lineage: an op recorded with its operands, and what a program that keeps
// its intermediates in a type makes of them. Each plant has its twin: the same program of milder
// operands makes no NaN and no Inf, and a NaN put behind it is told apart from one that it made.
// The two tests are in planted.cc, the plants in lineage_planted_*_test.cc, each instantiated by
//   INSTANTIATE_TEST_SUITE_P(Name, PlantedLineage, testing::ValuesIn(plants), name_of_plant);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/compare/trace_builder.h"

namespace nanhunt::oracle::test {

using compare::test::Tap;
using compare::test::Values;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Every result is rounded to the type, as by a kernel that keeps its intermediates in it.
struct Arithmetic {
  trace::DType type;

  float operator()(double value) const;
  float sum(const Values& values) const;
  float dot(const Values& a, const Values& b) const;
};

// In FP32 or in FP16: a number whose square is beyond the type, one that twice is, and one whose
// exponential is.
struct Extremes {
  float root_of_max, most, exponent;
};
Extremes extremes_of(trace::DType type);

struct Operand {
  Values values;
  std::vector<int64_t> shape;
  Tap tap = {.site = "before"};  // of the plant's type, unless it names one other than FP32
};

// One op: its operands, and what a program makes of them.
struct Program {
  using Run = std::function<Values(const Arithmetic&, const std::vector<Operand>&)>;

  Tap op;  // the record that is judged
  std::vector<Operand> operands;
  Run run;
  std::vector<int64_t> shape;
  std::vector<Operand> others = {};  // recorded, not consumed: what an op gave in forward
};

struct Plant {
  std::string name;
  trace::DType type;
  std::string kind;  // expected lineage
  Program program;
  std::vector<Values> mild;  // operands of the twin; empty: the mechanism has none

  friend void PrintTo(const Plant& plant, std::ostream* out) { *out << plant.name; }
};

// Those of FP32 and of FP16, named after the type.
std::vector<Plant> in_both_types(std::vector<Plant> (*in_type)(trace::DType));
std::string name_of_plant(const testing::TestParamInfo<Plant>& plant);
// A record whose values nobody made of its operands: its first is NaN, the others of milder ones.
Program broken(Program program, const std::vector<Values>& milder = {});
// {"name":value}
std::string attribute(const std::string& name, double value);

class PlantedLineage : public testing::TestWithParam<Plant> {};

}  // namespace nanhunt::oracle::test
