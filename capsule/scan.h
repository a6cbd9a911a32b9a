// SPDX-License-Identifier: Apache-2.0
// What a capsule says about itself, without another one: whether it is whole, which kinds of state
// it has, and values that no training leaves behind. Findings are made from statistics that were
// taken when it was written; values are read to see whether they still are what was written.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "capsule/capsule.h"

namespace nanhunt::capsule {

struct Finding {
  // non_finite, negative_second_moment: nobody means them. all_zero, zero_moment: now and then
  // somebody does.
  std::string rule;
  bool proven = false;
  std::string tensor;
  std::vector<int32_t> ranks;
  std::string evidence;
};

struct Report {
  std::string folder;
  int64_t step = 0;
  int32_t ranks = 0;
  std::vector<Fault> faults;             // why it is not whole
  std::vector<Finding> findings;         // proven first, then by name
  std::map<std::string, int64_t> kinds;  // tensors of each
  std::vector<std::string> absent;  // kinds that it does not have, with what is lost without them
  int64_t bytes = 0;                // of the files
  bool values_read = false;         // each was held against its digests
};

// read_values: reads all of it once, one record at a time in memory (verify.h).
Report scan(const Capsule& capsule, bool read_values = true);
nlohmann::json to_json(const Report& report);
std::string to_text(const Report& report);
// 1: a finding. 3: not whole and no finding. Else 0.
int exit_status(const Report& report);

}  // namespace nanhunt::capsule
