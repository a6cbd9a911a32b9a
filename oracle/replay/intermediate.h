// SPDX-License-Identifier: Apache-2.0
// What implementations of an op form on their way to one element of its result, and which of it
// makes the result NaN or Inf though the formula has a finite value there: exp before its maximum
// was taken off, a square in FP16, an eps below the type's smallest value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/dtype.h"

namespace nanhunt::oracle {

enum class Formed {
  kTerm,          // a product
  kSum,           // a sum, or a part of one
  kExponential,   // exp of a finite number
  kQuotient,      // of two numbers
  kDivisor,       // divided by
  kRootArgument,  // its root is taken, and divided by
  kRadicand,      // its root is taken
  kLogArgument,   // its logarithm is taken
  kScale,         // of a quantiser
  kVisible,       // how many terms a mask lets through
};

struct Intermediate {
  Formed formed;
  std::string what;  // "term 3, 200 x 300"
  double value;      // in exact arithmetic, of the captured operands
};

using Intermediates = std::vector<Intermediate>;

struct Product {
  double a, b;
};

// The largest of the terms and the largest sum of the first of them; of either the first that is
// NaN, where there is one: products whose sum an op forms in that order. Nothing where a factor is
// NaN already, which no product makes.
void add_products(Intermediates& to, const std::vector<Product>& products);
// The same of numbers that are added up as they are. Nothing where one is NaN.
void add_terms(Intermediates& to, const std::vector<double>& terms);

struct Diagnosis {
  std::string kind;    // docs/verdict.md, "Lineage"
  std::string detail;  // the intermediate, and what it does in which type
};

// The first intermediate that makes a result NaN or Inf: in exact arithmetic, else when formed in
// FP32, else when formed in `storage`. nullopt: none does.
std::optional<Diagnosis> diagnose(const Intermediates& formed, trace::DType storage);

}  // namespace nanhunt::oracle
