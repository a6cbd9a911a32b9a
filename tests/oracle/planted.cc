// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/planted.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "oracle/replay/lineage.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::oracle::test {

using compare::test::copies;
using trace::DType;

namespace {

std::vector<Operand> of_values(std::vector<Operand> operands, const std::vector<Values>& values) {
  for (size_t i = 0; i < values.size(); ++i) operands[i].values = values[i];
  return operands;
}

Lineage lineage_of_values(const Program& program, DType type, const std::vector<Operand>& operands,
                          const Values& found) {
  compare::test::TraceBuilder builder;
  const auto add = [&](Operand operand) {
    if (operand.tap.storage == DType::kFloat32) operand.tap.storage = type;
    return builder.add(operand.tap, operand.values, copies(operand.shape));
  };
  for (const Operand& other : program.others) add(other);
  Tap op = program.op;
  op.storage = type;
  for (const Operand& operand : operands) op.links.push_back(add(operand));
  const int64_t at = builder.add(op, found, copies(program.shape));
  const ScratchFolder folder;
  builder.write(folder.path());
  const trace::TraceReader reader(folder.path());
  const trace::Step step = reader.read_step(0);
  return lineage_of(ReplayIndex(step), &reader,
                    step.records[static_cast<size_t>(step.find(0, at))]);
}

bool all_finite(const Values& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

TEST_P(PlantedLineage, IsNamed) {
  const auto& [name, type, kind, program, mild] = GetParam();
  const Values found = program.run({type}, program.operands);
  ASSERT_FALSE(all_finite(found));
  const Lineage told = lineage_of_values(program, type, program.operands, found);
  EXPECT_EQ(told.kind, kind) << told.detail;
}

TEST_P(PlantedLineage, TwinMakesNoneAndIsToldApart) {
  const auto& [name, type, kind, program, mild] = GetParam();
  if (mild.empty()) return;
  const auto operands = of_values(program.operands, mild);
  Values found = program.run({type}, operands);
  ASSERT_TRUE(all_finite(found));
  found.front() = kNan;
  const Lineage told = lineage_of_values(program, type, operands, found);
  EXPECT_EQ(told.kind, "not_from_operands") << told.detail;
}

}  // namespace

float Arithmetic::operator()(double value) const {
  return type == DType::kFloat16 ? static_cast<float>(static_cast<_Float16>(value))
                                 : static_cast<float>(value);
}

float Arithmetic::sum(const Values& values) const {
  float total = 0;
  for (const float value : values) total = (*this)(total + value);
  return total;
}

float Arithmetic::dot(const Values& a, const Values& b) const {
  Values terms;
  for (size_t i = 0; i < a.size(); ++i) terms.push_back((*this)(double{a[i]} * b[i]));
  return sum(terms);
}

Extremes extremes_of(DType type) {
  return type == DType::kFloat16 ? Extremes{300, 60000, 12} : Extremes{2e19f, 3e38f, 100};
}

std::vector<Plant> in_both_types(std::vector<Plant> (*in_type)(DType)) {
  std::vector<Plant> plants;
  for (const DType type : {DType::kFloat32, DType::kFloat16}) {
    for (Plant& plant : in_type(type)) {
      plant.name += "_" + std::string(trace::name_of(type));
      plants.push_back(std::move(plant));
    }
  }
  return plants;
}

std::string name_of_plant(const testing::TestParamInfo<Plant>& plant) {
  return plant.param.name;
}

Program broken(Program program, const std::vector<Values>& milder) {
  program.run = [run = program.run, milder](const Arithmetic& in, const std::vector<Operand>& of) {
    Values values = run(in, of_values(of, milder));
    values.front() = kNan;
    return values;
  };
  return program;
}

std::string attribute(const std::string& name, double value) {
  char text[64];
  std::snprintf(text, sizeof text, "{\"%s\":%.17g}", name.c_str(), value);
  return text;
}

}  // namespace nanhunt::oracle::test
