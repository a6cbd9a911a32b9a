// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/intermediate.h"

#include <algorithm>
#include <cmath>

#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

// By size, a NaN above all.
bool is_more(double value, double than) {
  if (std::isnan(than)) return false;
  return std::isnan(value) || std::abs(value) > std::abs(than);
}

bool is_nan(double value) {
  return std::isnan(value);
}

void add_sums(Intermediates& to, const std::vector<double>& terms) {
  if (std::ranges::any_of(terms, is_nan)) return;
  double sum = 0, most = 0;
  size_t count = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    sum += terms[i];
    if (count != 0 && !is_more(sum, most)) continue;
    most = sum;
    count = i + 1;
  }
  if (terms.size() > 1)
    to.push_back({Formed::kSum, "the sum of the first " + std::to_string(count) + " terms", most});
}

// In exact arithmetic, of operands that may be Inf.
std::string fault_of(const Intermediate& formed) {
  const double v = formed.value;
  switch (formed.formed) {
    case Formed::kTerm:
      return std::isnan(v) ? "zero_times_inf" : "";
    case Formed::kSum:
      return std::isnan(v) ? "inf_minus_inf" : "";
    case Formed::kQuotient:
      return std::isnan(v) ? "inf_over_inf" : "";
    case Formed::kExponential:
      return std::isinf(v) ? "exp_overflow" : "";
    case Formed::kDivisor:
      return v == 0 ? "division_by_zero" : "";
    case Formed::kRootArgument:
      return v == 0 ? "rsqrt_of_zero" : v < 0 ? "outside_domain" : "";
    case Formed::kRadicand:
      return v < 0 ? "outside_domain" : "";
    case Formed::kLogArgument:
      return v == 0 ? "log_of_zero" : v < 0 ? "outside_domain" : "";
    case Formed::kScale:
      return v > 0 && std::isfinite(v) ? "" : "scale_not_positive";
    case Formed::kVisible:
      return v == 0 ? "all_masked" : "";
  }
  return "";
}

// Of a finite number that is beyond the type's largest value.
std::string overflow_of(Formed formed) {
  switch (formed) {
    case Formed::kTerm:
      return "overflow_in_product";
    case Formed::kSum:
      return "overflow_in_accumulation";
    case Formed::kExponential:
      return "exp_overflow";
    default:
      return "";
  }
}

// Of a positive number that the type rounds to 0: at most half its smallest value.
std::string underflow_of(Formed formed) {
  switch (formed) {
    case Formed::kDivisor:
      return "division_by_zero";
    case Formed::kRootArgument:
      return "eps_rounded_to_zero";
    case Formed::kLogArgument:
      return "log_of_zero";
    default:
      return "";
  }
}

std::optional<Diagnosis> in_type(const Intermediate& formed, trace::DType type) {
  const std::string name(trace::name_of(type));
  const double size = std::abs(formed.value);
  if (!std::isfinite(size)) return std::nullopt;
  if (size > trace::max_finite(type)) {
    if (const auto kind = overflow_of(formed.formed); !kind.empty()) {
      return Diagnosis{kind, formed.what + " is " + short_number(formed.value) + ", " + name +
                                 " ends at " + short_number(trace::max_finite(type))};
    }
  } else if (size > 0 && size <= trace::min_subnormal(type) / 2) {
    if (const auto kind = underflow_of(formed.formed); !kind.empty()) {
      return Diagnosis{kind, formed.what + " is " + short_number(formed.value) + ", 0 in " + name};
    }
  }
  return std::nullopt;
}

}  // namespace

void add_products(Intermediates& to, const std::vector<Product>& products) {
  std::vector<double> terms;
  size_t most = 0;
  for (const Product& product : products) {
    if (is_nan(product.a) || is_nan(product.b)) return;
    terms.push_back(product.a * product.b);
    if (is_more(terms.back(), terms[most])) most = terms.size() - 1;
  }
  if (terms.empty()) return;
  to.push_back({Formed::kTerm,
                "term " + std::to_string(most) + ", " + short_number(products[most].a) + " x " +
                    short_number(products[most].b) + ",",
                terms[most]});
  add_sums(to, terms);
}

void add_terms(Intermediates& to, const std::vector<double>& terms) {
  add_sums(to, terms);
}

std::optional<Diagnosis> diagnose(const Intermediates& formed, trace::DType storage) {
  for (const Intermediate& one : formed) {
    if (const auto kind = fault_of(one); !kind.empty())
      return Diagnosis{kind, one.what + " is " + short_number(one.value)};
  }
  for (const trace::DType type : {trace::DType::kFloat32, storage}) {
    for (const Intermediate& one : formed) {
      if (auto found = in_type(one, type)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace nanhunt::oracle
