// SPDX-License-Identifier: Apache-2.0
// after_equals_before: a step that must change its operand left it as it was, bit for bit. A
// reduction over several ranks whose result is this rank's own operand; a gradient that came out of
// clipping unclipped although the factor is not 1. On every rank that the finding names.
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

}  // namespace

std::optional<Signature> after_equals_before(const SignatureInput& input) {
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
