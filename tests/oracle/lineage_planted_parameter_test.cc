// SPDX-License-Identifier: Apache-2.0
// Gradients of parameters: sums over the rows that had them. A row that is broken, or a sum of the
// first rows that does not fit, makes NaN or Inf of a result that is small.
#include <cmath>

#include "tests/oracle/planted.h"

namespace nanhunt::oracle::test {
namespace {

using trace::DType;
using trace::Phase;

// The gradient of own.`name`, of shape `shape`, from that of the op's output: rows [1, rows,
// width].
Program parameter(const Tap& op, const std::string& name, std::vector<int64_t> shape,
                  const Values& gradient, int64_t width, Program::Run run) {
  const std::vector<int64_t> rows{1, static_cast<int64_t>(gradient.size()) / width, width};
  return {{.site = "own." + name, .phase = Phase::kBackward, .role = "grad"},
          {{gradient, rows, {.site = "own", .phase = Phase::kBackward, .role = "grad_output"}}},
          std::move(run),
          std::move(shape),
          {{Values(gradient.size()), rows, op}}};
}

Values column_of(const Values& rows, size_t width, size_t column) {
  Values values;
  for (size_t i = column; i < rows.size(); i += width) values.push_back(rows[i]);
  return values;
}

// The sum over rows, one a column.
Values column_sums(const Arithmetic& in, const Values& rows, size_t width) {
  Values sums;
  for (size_t c = 0; c < width; ++c) sums.push_back(in.sum(column_of(rows, width, c)));
  return sums;
}

Program bias(const std::string& op, const std::string& attributes, const Values& gradient,
             int64_t width) {
  return parameter({.site = "own", .op = op, .attributes = attributes}, "bias", {width}, gradient,
                   width, [width](const Arithmetic& in, const std::vector<Operand>& of) {
                     return column_sums(in, of[0].values, static_cast<size_t>(width));
                   });
}

// In front of a dropout with p = 0.5, by a product.
Program before_dropout(const Values& gradient, const Values& mask, int64_t width) {
  Program program =
      parameter({.site = "own", .op = "dropout", .attributes = R"({"p":0.5})"}, "bias", {width},
                gradient, width, [width](const Arithmetic& in, const std::vector<Operand>& of) {
                  Values through;
                  for (size_t i = 0; i < of[0].values.size(); ++i)
                    through.push_back(in(double{of[0].values[i]} * of[1].values[i] * 2));
                  return column_sums(in, through, static_cast<size_t>(width));
                });
  program.operands.push_back(
      {mask, program.operands[0].shape, {.site = "own", .role = "mask", .storage = DType::kBool}});
  return program;
}

// Rows of a table [rows, 2] that tokens hit.
Program embedding(const std::string& attributes, const Values& ids, int64_t rows,
                  const Values& gradient) {
  Program program =
      parameter({.site = "own", .op = "embedding", .attributes = attributes}, "weight", {rows, 2},
                gradient, 2, [rows](const Arithmetic& in, const std::vector<Operand>& of) {
                  Values table(static_cast<size_t>(rows) * 2);
                  for (size_t i = 0; i < of[0].values.size(); ++i) {
                    float& at = table[static_cast<size_t>(of[1].values[i / 2]) * 2 + i % 2];
                    at = in(at + of[0].values[i]);
                  }
                  return table;
                });
  program.operands.push_back({ids,
                              {1, static_cast<int64_t>(ids.size())},
                              {.site = "data", .role = "tokens", .storage = DType::kInt64}});
  return program;
}

// dw = sum over rows of g n; forward kept mean and square in FP64.
Program norm_weight(const std::string& op, double eps, const Values& x, const Values& gradient,
                    int64_t width) {
  const bool centred = op == "layer_norm";
  Program program = parameter(
      {.site = "own", .op = op, .attributes = attribute("eps", eps)}, "weight", {width}, gradient,
      width, [=](const Arithmetic& in, const std::vector<Operand>& of) {
        const auto columns = static_cast<size_t>(width);
        Values terms;
        for (size_t start = 0; start < of[1].values.size(); start += columns) {
          const float* row = &of[1].values[start];
          double mean = 0, squares = 0;
          for (size_t c = 0; c < columns; ++c) mean += centred ? row[c] / double(columns) : 0;
          for (size_t c = 0; c < columns; ++c)
            squares += (row[c] - mean) * (row[c] - mean) / double(columns);
          const float r = in(1 / std::sqrt(double{in(squares + in(eps))}));
          for (size_t c = 0; c < columns; ++c)
            terms.push_back(in(double{of[0].values[start + c]} * in((row[c] - mean) * r)));
        }
        return column_sums(in, terms, columns);
      });
  program.operands.push_back({x, program.operands[0].shape});
  return program;
}

std::vector<Plant> of_norms(DType type) {
  const float most = extremes_of(type).most, part = most * 0.7f;
  std::vector<Plant> plants;
  for (const char* op : {"rms_norm", "layer_norm"}) {
    const bool centred = op[0] == 'l';
    const std::string name = op;
    const Values mild_x{1, 2, 3, -1}, mild_g{1, 1, 1, 1};
    const Values empty_row = centred ? Values{1, 2, 3, 3} : Values{1, 2, 0, 0};
    plants.push_back({name + "_weight_of_constant_row",
                      type,
                      "rsqrt_of_zero",
                      norm_weight(op, 0, empty_row, mild_g, 2),
                      {mild_g, mild_x}});
    // n is 1.4 in the first column.
    plants.push_back({name + "_weight_term",
                      type,
                      "overflow_in_product",
                      norm_weight(op, 0.01, {2, -1, -1, -2, 1, 1}, {most, 1, 1, most, 1, 1}, 3),
                      {{1, 1, 1, 1, 1, 1}}});
    plants.push_back({name + "_weight_first_rows",
                      type,
                      "overflow_in_accumulation",
                      norm_weight(op, 0.01, {2, -1, -1, 2, -1, -1, -2, 1, 1},
                                  {part, 1, 1, part, 1, 1, part, 1, 1}, 3),
                      {{1, 1, 1, 1, 1, 1, 1, 1, 1}}});
    plants.push_back({name + "_weight_of_inf",
                      type,
                      "zero_times_inf",
                      norm_weight(op, 0.01, {0, 1, -1}, {kInf, 1, 1}, 3),
                      {{1, 1, 1}}});
    plants.push_back({name + "_weight_of_nan",
                      type,
                      "handed_on",
                      norm_weight(op, 0.01, {0, 1, -1}, {kNan, 1, 1}, 3),
                      {}});
    // What another column makes explains nothing here.
    plants.push_back(
        {name + "_weight_of_other_column",
         type,
         "not_from_operands",
         broken(norm_weight(op, 0.01, {1, 2, -1, 1, -2, 1}, {1, most, 1, 1, most, 1}, 3),
                {Values(6, 1)}),
         {}});
  }
  return plants;
}

std::vector<Plant> of_sums(DType type) {
  const float most = extremes_of(type).most;
  const Values rows{most, 1, most, 1, -most, 1}, mild{1, 1, 1, 1, -1, 1};
  const Values infinities{kInf, 1, -kInf, 1};
  std::vector<Plant> plants;
  const auto plant = [&](const std::string& name, const char* kind, Program program,
                         std::vector<Values> milder) {
    plants.push_back({name, type, kind, std::move(program), std::move(milder)});
  };
  const auto both = [&](const std::string& name, const auto& of) {
    plant(name + "_first_rows", "overflow_in_accumulation", of(rows), {mild});
    plant(name + "_infinities", "inf_minus_inf", of(infinities), {{1, 1, -1, 1}});
    plant(name + "_of_nan", "handed_on", of({kNan, 1, 1, 1}), {});
    // The other column's sum.
    plant(name + "_other_column", "not_from_operands",
          broken(of({1, most, 1, most, 1, -most}), {mild}), {});
  };
  for (const char* op : {"linear", "layer_norm", "add"}) {
    both(std::string(op) + "_bias",
         [op](const Values& gradient) { return bias(op, R"({"eps":0.01})", gradient, 2); });
  }
  both("before_dropout", [](Values gradient) {
    for (float& value : gradient) value /= 2;
    return before_dropout(gradient, Values(gradient.size(), 1), 2);
  });
  both("embedding_row", [](const Values& gradient) {
    return embedding("", Values(gradient.size() / 2, 0), 2, gradient);
  });
  plant("parameter_dropped_by_product", "zero_times_inf",
        before_dropout({kInf, 1, 1, 1}, {0, 1, 1, 1}, 2), {{1, 1, 1, 1}});
  // Row 0 is hit once; row 1, or that of the padding, is none of it.
  plant("embedding_other_row", "not_from_operands",
        broken(embedding("", {1, 1, 0}, 2, {most, 1, most, 1, 1, 1}), {mild}), {});
  plant("embedding_padding", "not_from_operands",
        broken(embedding(R"({"padding_idx":0})", {0, 0, 1}, 2, {most, 1, most, 1, 1, 1}), {mild}),
        {});
  return plants;
}

std::vector<Plant> in_type(DType type) {
  std::vector<Plant> plants = of_norms(type);
  for (Plant& plant : of_sums(type)) plants.push_back(std::move(plant));
  return plants;
}

std::vector<Plant> all() {
  std::vector<Plant> plants = in_both_types(in_type);
  for (const char* op : {"rms_norm", "layer_norm"}) {  // what only FP16 is too narrow for
    const Values row = op[0] == 'l' ? Values{1, 2, 3, 3} : Values{1, 2, 0, 0};
    plants.push_back({std::string("eps_of_") + op + "_weight",
                      DType::kFloat16,
                      "eps_rounded_to_zero",
                      norm_weight(op, 1e-8, row, {1, 1, 1, 1}, 2),
                      {{1, 1, 1, 1}, {1, 2, 3, -1}}});
  }
  return plants;
}

INSTANTIATE_TEST_SUITE_P(Parameter, PlantedLineage, testing::ValuesIn(all()), name_of_plant);

}  // namespace
}  // namespace nanhunt::oracle::test
