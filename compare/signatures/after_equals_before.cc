// SPDX-License-Identifier: Apache-2.0
// after_equals_before: a step that must change its operand left it as it was. A reduction over
// several ranks whose result is this rank's own operand, bit for bit; a gradient that came out of
// clipping unclipped although the factor is not 1; a reduced gradient that is this rank's operand
// of the reduction, times a factor when the job has clipped it, and not what the reduction made. On
// every rank that the finding names.
#include <algorithm>

#include "compare/numbers.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

// The operand of the reduction that this record is the result of, on the same rank; nullptr: none.
const trace::Record* operand_of(const SideStep& side, const trace::Record& result) {
  const int entry = side.step->find_collective(result.where.rank, result.collective);
  if (entry < 0) return nullptr;
  const auto& call = side.step->collectives[static_cast<size_t>(entry)];
  if (!call.is_reduction() || call.group.size() < 2) return nullptr;
  for (size_t k = 0; k < call.outputs.size() && k < call.inputs.size(); ++k) {
    if (call.outputs[k] != result.where.sequence) continue;
    const int input = side.step->find(result.where.rank, call.inputs[k]);
    return input < 0 ? nullptr : &side.record(input);
  }
  return nullptr;
}

// The gradient before clipping, when the factor on that rank is not 1.
const trace::Record* unclipped(const SideStep& side, const trace::Record& clipped) {
  bool shrunk = false;
  for (const auto& record : side.step->records) {
    if (record.what.phase != trace::Phase::kClipped || record.what.role != "clip_factor") continue;
    const auto factor = scalar_of(record);
    shrunk = shrunk || (record.where.rank == clipped.where.rank && factor && *factor != 1.0);
  }
  if (!shrunk) return nullptr;
  for (const int index :
       records_at(side, clipped.what.site, trace::Phase::kUnscaled, clipped.what.role)) {
    if (side.record(index).where.rank == clipped.where.rank) return &side.record(index);
  }
  return nullptr;
}

const trace::Record* before(const SideStep& side, const trace::Record& after) {
  if (after.what.phase == trace::Phase::kPostCollective) return operand_of(side, after);
  if (after.what.phase == trace::Phase::kClipped) return unclipped(side, after);
  return nullptr;
}

constexpr double kMultiple = 1e-4;  // of what the result of the reduction leaves

// The record of the phase at this place on the same rank; nullptr: none, or several.
const trace::Record* only_one(const SideStep& side, const trace::Record& like, trace::Phase phase,
                              const std::string& role) {
  const trace::Record* found = nullptr;
  for (const int index : records_at(side, like.what.site, phase, role)) {
    const auto& record = side.record(index);
    if (record.where.rank != like.where.rank) continue;
    if (found != nullptr) return nullptr;
    found = &record;
  }
  return found;
}

bool is_own_operand(const SideStep& side, const trace::Record& gradient) {
  const auto* result = only_one(side, gradient, trace::Phase::kPostCollective, "result");
  const auto* operand = result == nullptr ? nullptr : operand_of(side, *result);
  if (operand == nullptr || gradient.statistics.sum_squares == 0) return false;
  const auto left = [&](const trace::Record& from) {
    const trace::Sketch sketch = print_of(from).sketch;
    return trace::sketch_dot(sketch, sketch) == 0
               ? 1.0
               : fit_sketches(print_of(gradient).sketch, sketch).left;
  };
  return left(*operand) <= kMultiple * left(*result);
}

std::optional<Signature> read_before_reduction(const SignatureInput& input) {
  const auto& records = input.draft.records;
  const bool all = !records.empty() && std::ranges::all_of(records, [&](int index) {
    return is_own_operand(input.side, input.side.record(index));
  });
  if (!all) return std::nullopt;
  return Signature{"after_equals_before", "a multiple of the operand of its reduction on ranks " +
                                              list_of(input.draft.origin.finding.ranks)};
}

}  // namespace

std::optional<Signature> after_equals_before(const SignatureInput& input) {
  if (input.draft.origin.finding.what.phase == trace::Phase::kUnscaled) {
    return read_before_reduction(input);
  }
  for (const int index : input.draft.records) {
    const auto& after = input.side.record(index);
    const auto* operand = before(input.side, after);
    if (operand == nullptr || after.statistics.sum_squares == 0) return std::nullopt;
    if (operand->raw_digest != after.raw_digest || operand->local_shape != after.local_shape) {
      return std::nullopt;
    }
  }
  if (input.draft.records.empty()) return std::nullopt;
  const auto& first = input.side.record(input.draft.records.front());
  return Signature{"after_equals_before", std::string(trace::name_of(first.what.phase)) +
                                              " holds the bits from before on ranks " +
                                              list_of(input.draft.origin.finding.ranks)};
}

}  // namespace nanhunt::compare
