// SPDX-License-Identifier: Apache-2.0
#include "cli/plant.h"

#include "ablate/ledger.h"
#include "cli/fault_draw.h"

namespace nanhunt::cli {

std::map<std::string, std::string> plant(const std::filesystem::path& case_file, uint64_t seed,
                                         const std::filesystem::path& work) {
  const DrawnFault fault = read_fault(case_file, seed);
  if (fault.name.empty()) return {};
  const std::string hash = ablate::hash_of(fault.name + " " + describe(fault)).substr(0, 8);
  const auto file = std::filesystem::absolute(work / ("side-" + hash + ".json"));
  write_fault_file(fault, file);
  return {{"NANHUNT_FAULT_FILE", file.string()}};
}

}  // namespace nanhunt::cli
