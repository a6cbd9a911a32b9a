// SPDX-License-Identifier: Apache-2.0
// overflow_in_product: an element of a linear layer's output (its site has a weight that its shape
// and its input's fit, whatever the op is called) is Inf, its operands are finite, and
// the product computed again in FP64 from the captured operands (plain sum over k, in order) is
// beyond the largest finite value of the output's type. Needs values.
#include <algorithm>
#include <cmath>

#include "compare/numbers.h"
#include "compare/region_cells.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

struct Operands {
  const trace::Record* input = nullptr;   // [..., K]
  const trace::Record* weight = nullptr;  // [N, K]
  const trace::Record* bias = nullptr;    // [N], may be missing
};

bool leading_equal(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return a.size() == b.size() && !a.empty() && std::equal(a.begin(), a.end() - 1, b.begin());
}

const trace::Record* parameter(const SideStep& side, const trace::Record& output,
                               const std::string& name) {
  for (const int index :
       records_at(side, output.what.site + "." + name, trace::Phase::kForward, "param")) {
    if (side.record(index).where.rank == output.where.rank) return &side.record(index);
  }
  return nullptr;
}

std::optional<Operands> operands_of(const SideStep& side, int index) {
  const auto& output = side.record(index);
  Operands operands;
  operands.weight = parameter(side, output, "weight");
  operands.bias = parameter(side, output, "bias");
  const auto* weight = operands.weight;
  if (weight == nullptr || !weight->has_values || weight->local_shape.size() != 2)
    return std::nullopt;
  if (weight->local_shape[0] != output.local_shape.back()) return std::nullopt;
  for (const int candidate : side.flow->inputs(index)) {
    const auto& input = side.record(candidate);
    if (input.where.rank != output.where.rank || !input.has_values || has_non_finite(input))
      continue;
    if (!leading_equal(input.local_shape, output.local_shape)) continue;
    if (input.local_shape.back() == weight->local_shape[1]) operands.input = &input;
  }
  if (operands.input == nullptr || has_non_finite(*weight)) return std::nullopt;
  return operands;
}

// The output at that flat index, in FP64.
double product_at(const trace::TraceReader& reader, const Operands& operands, int64_t at) {
  const int64_t k = operands.weight->local_shape[1], n = operands.weight->local_shape[0];
  const auto input = reader.read_doubles(*operands.input);
  const auto weight = reader.read_doubles(*operands.weight);
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    sum += input[static_cast<size_t>(at / n * k + i)] * weight[static_cast<size_t>(at % n * k + i)];
  }
  if (operands.bias != nullptr && operands.bias->has_values) {
    sum += reader.read_doubles(*operands.bias)[static_cast<size_t>(at % n)];
  }
  return sum;
}

}  // namespace

std::optional<Signature> overflow_in_product(const SignatureInput& input) {
  const auto* reader = input.side.source->reader;
  if (reader == nullptr || input.draft.records.empty()) return std::nullopt;
  Signature signature;
  for (const int index : input.draft.records) {
    const auto& output = input.side.record(index);
    const auto& counts = output.statistics;
    if (output.what.phase != trace::Phase::kForward) return std::nullopt;
    if (counts.nan > 0 || counts.pos_inf + counts.neg_inf == 0 || !output.has_values)
      return std::nullopt;
    const auto operands = operands_of(input.side, index);
    if (!operands) return std::nullopt;
    const auto values = reader->read_doubles(output);
    const auto found = std::ranges::find_if(values, [](double value) { return std::isinf(value); });
    if (found == values.end()) return std::nullopt;
    const double exact = product_at(*reader, *operands, found - values.begin());
    const double largest = trace::max_finite(output.storage);
    if (std::abs(exact) <= largest || std::signbit(exact) != std::signbit(*found))
      return std::nullopt;
    signature = {"overflow_in_product", "the product is " + short_number(exact) + ", " +
                                            std::string(trace::name_of(output.storage)) +
                                            " ends at " + short_number(largest)};
  }
  return signature;
}

}  // namespace nanhunt::compare
