// SPDX-License-Identifier: Apache-2.0
// cross_entropy over a vocabulary that may be cut (Megatron-LM, vocab_parallel_cross_entropy), a
// record at a time by its role:
//   logits_max = max of this rank's logits
//   target_logit = logit of the label - max, 0 where another rank has the label
//   sum_exp = sum of exp(logit - max)
//   token_loss = log(sum_exp) - target_logit
//   dlogit = g (exp(logit - max) / sum_exp - [label])
// exp turns the rounding of its argument a into |a| u of the result, hence 1 + |a|.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/replay/ops.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

constexpr double kRoundings = 8;  // exp or log, and what is around it

struct Logits {
  Tensor values;  // last dimension: vocabulary
  int64_t first = 0;
  std::vector<std::string> rows;  // names of the other dimensions
};

std::optional<Logits> logits_of(Call& call) {
  const trace::Record* record = call.record_of_role("output");
  if (record == nullptr || record->local_shape.size() < 2 || !record->placement)
    return std::nullopt;
  Logits logits{*call.of_role(record->what.role), 0, {}};
  const auto& to_logical = record->placement->to_logical;
  if (to_logical.size() != record->local_shape.size()) return std::nullopt;
  logits.first = logical_start(*record, static_cast<size_t>(to_logical.back()));
  logits.rows = logits.values.axes;
  logits.rows.pop_back();
  return logits;
}

// An operand with a value for each row of the logits.
std::optional<std::vector<double>> by_row(Call& call, const std::string& role,
                                          const Logits& logits) {
  const Tensor* tensor = call.of_role(role);
  if (tensor == nullptr) return std::nullopt;
  Tensor aligned = in_order_of(*tensor, logits.rows);
  if (aligned.size() != logits.values.rows()) return std::nullopt;
  return std::move(aligned.values);
}

// What derivative needs of each row.
struct Rows {
  std::vector<double> labels, most, sums, g;
};

std::optional<Rows> rows_of(Call& call, const Logits& logits, const Tensor& gradient) {
  auto labels = by_row(call, "labels", logits), most = by_row(call, "logits_max", logits),
       sums = by_row(call, "sum_exp", logits);
  if (!labels || !most || !sums) return std::nullopt;
  Rows rows{std::move(*labels), std::move(*most), std::move(*sums),
            in_order_of(gradient, logits.rows).values};
  if (rows.g.size() != rows.sums.size()) return std::nullopt;
  return rows;
}

Recomputed largest(const Logits& logits) {
  std::vector<double> values;
  const auto width = static_cast<size_t>(logits.values.columns());
  for (size_t start = 0; start < logits.values.values.size(); start += width) {
    double most = -std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < width; ++c) {
      const double x = logits.values.values[start + c];
      most = std::isnan(x) || std::isnan(most) ? std::nan("") : std::max(most, x);
    }
    values.push_back(most);
  }
  return exactly(std::move(values));
}

std::optional<Recomputed> target_logits(Call& call, const Logits& logits) {
  const auto labels = by_row(call, "labels", logits), most = by_row(call, "logits_max", logits);
  if (!labels || !most) return std::nullopt;
  const int64_t width = logits.values.columns();
  Recomputed result{{}, {}, 2};
  for (size_t row = 0; row < labels->size(); ++row) {
    const int64_t column = static_cast<int64_t>((*labels)[row]) - logits.first;
    const bool here = column >= 0 && column < width;
    const double x =
        here ? logits.values.values[row * static_cast<size_t>(width) + static_cast<size_t>(column)]
             : 0;
    result.values.push_back(here ? x - (*most)[row] : 0);
    result.magnitudes.push_back(here ? std::abs(x) + std::abs((*most)[row]) : 0);
  }
  return result;
}

std::optional<Recomputed> sums_of_exp(Call& call, const Logits& logits) {
  const auto most = by_row(call, "logits_max", logits);
  if (!most) return std::nullopt;
  const auto width = static_cast<size_t>(logits.values.columns());
  Recomputed result{{}, {}, static_cast<double>(width) + kRoundings};
  for (size_t row = 0; row < most->size(); ++row) {
    double total = 0, magnitude = 0;
    for (size_t c = 0; c < width; ++c) {
      const double a = logits.values.values[row * width + c] - (*most)[row];
      total += std::exp(a);
      magnitude += std::exp(a) * (1 + std::abs(a));
    }
    result.values.push_back(total);
    result.magnitudes.push_back(magnitude);
  }
  return result;
}

std::optional<Recomputed> token_losses(Call& call) {
  const Tensor* sums = call.of_role("sum_exp");
  const Tensor* targets = call.of_role("target_logit");
  if (sums == nullptr || targets == nullptr || sums->size() != targets->size()) return std::nullopt;
  Recomputed result{{}, {}, kRoundings};
  for (size_t i = 0; i < sums->values.size(); ++i) {
    const double log = std::log(sums->values[i]);
    result.values.push_back(log - targets->values[i]);
    result.magnitudes.push_back(1 + std::abs(log) + std::abs(targets->values[i]));
  }
  return result;
}

std::optional<Recomputed> forward(Call& call) {
  const std::string& role = call.target().what.role;
  if (role == "token_loss") return token_losses(call);
  const auto logits = logits_of(call);
  if (!logits) {  // behind the reduction over the vocabulary
    const Tensor* reduced = call.activation();
    if (reduced == nullptr) return std::nullopt;
    return exactly(reduced->values);
  }
  if (role == "logits_max") return largest(*logits);
  if (role == "target_logit") return target_logits(call, *logits);
  if (role == "sum_exp") return sums_of_exp(call, *logits);
  return std::nullopt;
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const auto logits = logits_of(call);
  if (!logits) return std::nullopt;
  const auto rows = rows_of(call, *logits, gradient);
  if (!rows) return std::nullopt;
  const auto width = static_cast<size_t>(logits->values.columns());
  Recomputed result{{}, {}, kRoundings};
  for (size_t row = 0; row < rows->g.size(); ++row) {
    const double g = rows->g[row];
    const int64_t label = static_cast<int64_t>(rows->labels[row]) - logits->first;
    for (size_t c = 0; c < width; ++c) {
      const double a = logits->values.values[row * width + c] - rows->most[row];
      const double p = std::exp(a) / rows->sums[row];
      const double hit = static_cast<int64_t>(c) == label ? 1 : 0;
      result.values.push_back(g * (p - hit));
      result.magnitudes.push_back(std::abs(g) * (p * (1 + std::abs(a)) + hit));
    }
  }
  return result;
}

Intermediates of_token_loss(Call& call, size_t element) {
  const Tensor* sums = call.of_role("sum_exp");
  const Tensor* targets = call.of_role("target_logit");
  if (sums == nullptr || targets == nullptr || element >= sums->values.size() ||
      element >= targets->values.size())
    return {};
  const double total = sums->values[element];
  Intermediates formed{{Formed::kLogArgument, "the sum of exponentials", total}};
  add_terms(formed, {std::log(total), -targets->values[element]});
  return formed;
}

// Two infinities alone: a difference beyond the type is far below 0, and its exponential 0.
void add_shifted(Intermediates& to, double logit, double most) {
  const double a = logit - most;
  if (std::isnan(a) && !std::isnan(logit) && !std::isnan(most))
    to.push_back({Formed::kSum, "a logit less the maximum", a});
}

// As far as the row's maximum was not taken off first.
Intermediates of_row(Call& call, size_t element) {
  const auto logits = logits_of(call);
  if (!logits || static_cast<int64_t>(element) >= logits->values.rows()) return {};
  const auto most = by_row(call, "logits_max", *logits);
  const auto width = static_cast<size_t>(logits->values.columns());
  double largest = -std::numeric_limits<double>::infinity();
  Intermediates formed;
  for (size_t c = 0; c < width; ++c) {
    const double x = logits->values.values[element * width + c];
    largest = std::max(largest, x);
    if (most) add_shifted(formed, x, (*most)[element]);
  }
  if (std::isfinite(largest) && call.target().what.role == "sum_exp") {
    formed.push_back({Formed::kExponential,
                      "exp(" + short_number(largest) + "), unless the maximum is taken off,",
                      std::exp(largest)});
  }
  return formed;
}

Intermediates on_the_way(Call& call, size_t element) {
  return call.target().what.role == "token_loss" ? of_token_loss(call, element)
                                                 : of_row(call, element);
}

// From the maximum and the sum that forward kept.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const auto logits = logits_of(call);
  if (!logits || element >= logits->values.values.size()) return {};
  const auto rows = rows_of(call, *logits, gradient);
  if (!rows) return {};
  const auto width = static_cast<size_t>(logits->values.columns());
  const size_t row = element / width;
  const double x = logits->values.values[element], most = rows->most[row], total = rows->sums[row];
  const double a = x - most, power = std::exp(a);
  const int64_t label = static_cast<int64_t>(rows->labels[row]) - logits->first;
  const double hit = static_cast<int64_t>(element % width) == label ? 1 : 0;
  Intermediates formed;
  add_shifted(formed, x, most);
  if (std::isfinite(a)) {
    formed.push_back(
        {Formed::kExponential,
         "exp(" + short_number(x) + " - " + short_number(most) + ") of a logit less the maximum",
         power});
  }
  formed.push_back({Formed::kDivisor, "the sum of exponentials", total});
  if (!std::isnan(a) && !std::isnan(total))
    formed.push_back({Formed::kQuotient, "the exponential over their sum", power / total});
  add_products(formed, {{rows->g[row], power / total - hit}});
  return formed;
}

}  // namespace

Replay cross_entropy() {
  return {{"cross_entropy"}, forward, backward, on_the_way, on_the_way_back};
}

}  // namespace nanhunt::oracle
