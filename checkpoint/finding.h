// SPDX-License-Identifier: Apache-2.0
// A finding in a checkpoint: a rule that a tensor breaks, with the evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/tensor_pass.h"
#include "oracle/finding.h"

namespace nanhunt::checkpoint {

struct Peer {
  std::string tensor, file;
};

struct Finding {
  std::string rule;  // docs/checkpoints.md
  oracle::Severity severity = oracle::Severity::kProven;
  std::string tensor, file;
  std::vector<int32_t> ranks;  // of a capsule: that hold the first such element, or any
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  int64_t affected = 0;  // elements that break the rule; of C64 parts of elements
  std::optional<Element> first;
  std::vector<int64_t> place;  // of `first`, one index a dimension
  std::string other_value;     // there, in the peer or the older checkpoint; "" without one
  std::vector<Peer> peers;     // what it was held against
  std::string evidence;        // one line
};

}  // namespace nanhunt::checkpoint
