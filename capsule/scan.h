// SPDX-License-Identifier: Apache-2.0
// What a capsule says about itself: whether it is whole, and still what was written, and which
// kinds of state it has. What is wrong in its values is told by the rules of checkpoints
// (checkpoint/capsule_source.h).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "capsule/capsule.h"

namespace nanhunt::capsule {

struct Report {
  std::string folder;
  int64_t step = 0;
  int32_t ranks = 0;
  std::vector<Fault> faults;             // why it is not whole; no contradictions between ranks
  std::map<std::string, int64_t> kinds;  // tensors of each
  std::vector<std::string> absent;  // kinds that it does not have, with what is lost without them
  int64_t bytes = 0;                // of the files
  bool values_read = false;         // each was held against its digests
};

// read_values: reads all of it once, one record at a time in memory (verify.h).
Report scan(const Capsule& capsule, bool read_values = true);
nlohmann::json to_json(const Report& report);
std::string to_text(const Report& report);

}  // namespace nanhunt::capsule
