// SPDX-License-Identifier: Apache-2.0
// How a value came to be NaN or Inf, told at one element: the first Inf of the record, else its
// first NaN, since Inf comes before the NaN that is made of it. From the values of the record and
// of what it consumed, where these were captured in full.
#pragma once

#include <string>

#include "oracle/replay/recompute.h"

namespace nanhunt::oracle {

// Kinds, in docs/verdict.md, "Lineage":
//   uninitialised          the bits of memory that nothing wrote (poison.h), of no operand
//   loaded                 it was so when the step began
//   received               an operand of the collective that another rank gave
//   overflow_in_reduction  finite operands of a reduction, which may add up to more than its types
//                          hold
//   overflow               the op's exact result is beyond the largest value of the recorded type
//   saturated_then_used    so is it, and an operand lies at the largest value of its own type
//   handed_on              an operand is not finite
//   not_from_operands      neither the op's result nor what is formed on the way explains it
//   unknown                not captured in full, or no replay of the op
// and, by what the op forms on the way (intermediate.h): overflow_in_product,
// overflow_in_accumulation, exp_overflow, eps_rounded_to_zero, rsqrt_of_zero, log_of_zero,
// division_by_zero, outside_domain, all_masked, scale_not_positive, zero_times_inf, inf_minus_inf,
// inf_over_inf.
struct Lineage {
  std::string kind = "unknown";
  std::string detail;  // where, and with which operands
};

// record: one that has non-finite values. reader: nullptr for steps in memory.
Lineage lineage_of(const ReplayIndex& index, const trace::TraceReader* reader,
                   const trace::Record& record);

// "sample 1, token 5, channel 17": where a local element lies in the logical tensor, by the
// placement; by local indices where that does not tell.
std::string place_of(const trace::Record& record, int64_t element);

}  // namespace nanhunt::oracle
