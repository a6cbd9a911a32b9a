// SPDX-License-Identifier: Apache-2.0
// Points and run facts as text: how a caller that is not C++ says what a tensor is. JSON:
//   {"site": "layers.0.mlp", "phase": "forward", "role": "output", "op": "linear",
//    "attributes": {"eps": 1e-5}, "placement": PLACEMENT}
//   PLACEMENT: {"axes": ["sample", "channel"], "shape": [8, 64], "to_logical": [0, 1],
//               "mesh": {"tp": "shard", "dp": ["partial", "sum", 2.0]},
//               "regions": [[[0, 0], [4, 0], [4, 64]]]}   local start, logical start, extent
// "copied": true: the tensor has a record already. Without a placement it is unknown.
// "to_logical" may be left out (the identity), and so may "flat".
//   FACTS: {"rank": 0, "world_size": 2, "mesh": {"tp": [2, 0]}, "facts": {"torch.version": "..."}}
//   mesh: size, and this rank's coordinate.
#pragma once

#include <string>

#include "hooks/rank_taps.h"
#include "trace/run_facts.h"

namespace nanhunt::hooks {

// Throw std::invalid_argument naming the field.
TapPoint parse_point(const std::string& json);
trace::RunFacts parse_run_facts(const std::string& json);

}  // namespace nanhunt::hooks
