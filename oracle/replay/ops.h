// SPDX-License-Identifier: Apache-2.0
// The replays, one function a file, and what several of them need (op_parts.cc). A new one: a file
// with the function, its declaration here, and a place in replay_list.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oracle/replay/elementwise.h"
#include "oracle/replay/replay.h"

namespace nanhunt::oracle {

Replay add();
Replay attention();
Replay cross_entropy();
Replay dropout();
Replay elementary();
Replay embedding();
Replay gelu();
Replay layer_norm();
Replay linear();
Replay masked_mean();
Replay product_of_two();
Replay quantise();
Replay rms_norm();
Replay silu();
Replay softmax();

// In the order of the recorded tensor; nullopt when it has another shape.
std::optional<Tensor> shaped_like_target(const Call& call, const Tensor& tensor);
// Whether two tensors have the same rows, each of its own width: all dimensions but the last.
bool same_rows(const std::vector<int64_t>& a, const std::vector<int64_t>& b);
// The row of the op's only activation, in the order of the target, that `element` lies in; empty
// when there is none.
std::vector<double> row_of_element(Call& call, size_t element);
// The same of a gradient.
std::vector<double> row_of_element(const Call& call, const Tensor& gradient, size_t element);
// What is formed on the way to the gradient of a row's element `column` behind a norm, from d = g w
// and the normalised n: g w, d n and its mean, and d less n times that. Nothing when the widths
// differ.
void add_gradient_through_norm(Intermediates& to, const std::vector<double>& g,
                               const std::vector<double>& weight, const std::vector<double>& n,
                               size_t column);
// The same of its weight, from g and n of all rows: n's root arguments, the products g n of that
// column, and their sum over the rows. `what` the root is taken of, by row.
void add_weight_gradient(Intermediates& to, const std::string& what,
                         const std::vector<double>& arguments, const Tensor& g,
                         const std::vector<double>& n, size_t column);
// The sum over rows of one column: the gradient of what every row had.
void add_column(Intermediates& to, const Tensor& rows, size_t column);
// The element of a tensor that belongs to that of the target; nullopt when there is no tensor, or
// one of another shape.
std::optional<double> element_of(const Call& call, const Tensor* tensor, size_t element);
// The op's weight, one number a column, all 1 where it has none; nullopt when it has another width.
std::optional<std::vector<double>> weight_of_columns(Call& call, size_t width);
// Adds a row to each row of the result: one rounding. False when the widths do not divide.
bool add_to_rows(Recomputed& result, const std::vector<double>& row);
// The gradient of what every row had: a rounding for each row.
Recomputed sum_of_rows(const Tensor& gradient);

}  // namespace nanhunt::oracle
