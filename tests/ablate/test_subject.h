// SPDX-License-Identifier: Apache-2.0
// A small subject file for the tests of this folder.
#pragma once

#include "ablate/subject.h"

namespace nanhunt::ablate {

inline const char* const kSubjectText = R"(
command = {build}/job --steps={steps} 'two words' {toggles} {trace}
timeout_s = 5
[toggle.parallel.tp]
values = 1 2 4
reference = 1
arg = --tp={value}
effective = mesh tp
moves = layout.sp
[toggle.layout.sp]
values = off on
reference = off
arg = --sp={value}
effective = placement norm:output tp shard
needs = on: parallel.tp = 2 4
[toggle.precision.fp8]
values = off on
reference = off
arg = env = JOB_FP8={value}
effective = dtype fc1:input
effective_values = off=none|bf16 on=fp8_e4m3
[param.seed]
default = 7
arg = --seed={value}
[param.extra]
arg = --extra={value}
)";

inline Subject test_subject() {
  return parse_subject(kSubjectText, "job.subject");
}

}  // namespace nanhunt::ablate
