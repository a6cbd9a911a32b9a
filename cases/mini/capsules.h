// SPDX-License-Identifier: Apache-2.0
// Capsules of the subject: written before steps, and loaded into any layout to go on from.
#pragma once

#include "capsule/capsule.h"
#include "cases/mini/model.h"
#include "hooks/capsule_writer.h"

namespace nanhunt::mini {

// Not of the capsule that the run goes on from: it stays as it is.
bool capsule_is_due(const Config& config, int64_t step);

// The state that context.step starts from.
void write_capsule(RankContext& context, Model& model, const Batch& next, hooks::RankCapsule& out);

// Sets what the capsule of config.resume knows better than the command line: the first step, the
// seed, the optimizer's settings; each that differs is said on stderr. Throws trace::Error: the
// capsule cannot be opened or is not whole.
void resume_config(Config& config);

// Fills the rank's parameters and moments from it, and checks the first batch. Throws
// trace::Error(kUnreadable) naming what one of both lacks, capsule or program, and what is lost by
// it; with --resume-rebuild that is said on stderr instead, once, and the run goes on.
void resume_rank(RankContext& context, Model& model, const Batch& next);

}  // namespace nanhunt::mini
