// SPDX-License-Identifier: Apache-2.0
// One record computed again from the records that it links to: forward by its op's replay, backward
// as the sum of what each gradient among its operands hands on.
#pragma once

#include <optional>
#include <string>

#include "oracle/replay/elementwise.h"
#include "oracle/replay/replay.h"
#include "oracle/replay/replay_index.h"

namespace nanhunt::oracle {

// Whether a replay is tried at all: values, and operands that were captured; not what was loaded,
// what a collective gave (collective_residual judges that) or what the optimizer did
// (update_recomputed).
bool is_replayable(const trace::Record& record);

// nullopt, with the reason in `why_not`, when no replay explains every operand of the record.
std::optional<Recomputed> recompute(const ReplayIndex& index, const trace::TraceReader& reader,
                                    const trace::Record& record, std::string& why_not);

// The same beside what was recorded, in blocks of kBlockElements at most, in order. What is
// elementwise is computed block by block; the rest slice by slice along the first dimension where
// the ops allow it and the record is large, else in one piece. False, with the reason, when no
// replay explains the record: nothing was taken then.
bool recompute_by_blocks(const ReplayIndex& index, const trace::TraceReader& reader,
                         const trace::Record& record, const TakeCompared& take,
                         std::string& why_not);
// Bytes that this takes at once, about: result and operands in FP64, as read, in another order,
// recomputed, with magnitudes; of what is cut into slices or blocks, those of one.
int64_t recompute_bytes(const ReplayIndex& index, const trace::TraceReader& reader,
                        const trace::Record& record);

// What implementations form on their way to one element of the record (a gradient: the sum of what
// its consumers handed on). Empty where no replay tells.
Intermediates intermediates(const ReplayIndex& index, const trace::TraceReader& reader,
                            const trace::Record& record, size_t element);

}  // namespace nanhunt::oracle
