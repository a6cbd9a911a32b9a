// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_pairs.h"

#include <fstream>
#include <map>
#include <sstream>
#include <tuple>
#include <vector>

namespace nanhunt::cli {
namespace {

using Key = std::tuple<trace::What, int32_t, int32_t>;
using Digests = std::map<Key, std::vector<uint64_t>>;

Digests digests_of(const trace::Step& step) {
  Digests digests;
  for (const trace::Record& record : step.records) {
    auto& list = digests[{record.what, record.where.rank, record.where.microbatch}];
    for (const trace::RegionPrint& region : record.regions) list.push_back(region.value_digest);
    if (record.regions.empty()) list.push_back(record.raw_digest);
  }
  return digests;
}

}  // namespace

std::string digest_difference(const trace::TraceReader& a, const trace::TraceReader& b) {
  if (a.steps() != b.steps()) return "the steps differ";
  for (const int64_t number : a.steps()) {
    const Digests left = digests_of(a.read_step(number)), right = digests_of(b.read_step(number));
    for (const auto& [key, digests] : left) {
      const auto other = right.find(key);
      const auto& [what, rank, microbatch] = key;
      const std::string place = trace::describe(what) + " rank " + std::to_string(rank) +
                                " microbatch " + std::to_string(microbatch);
      if (other == right.end()) return place + " is missing";
      if (other->second != digests) return place + " has another value digest";
    }
    if (left.size() != right.size()) {
      return "step " + std::to_string(number) + " has " + std::to_string(right.size()) +
             " records instead of " + std::to_string(left.size());
    }
  }
  return "";
}

std::string file_that_holds(const std::filesystem::path& folder, const std::string& text) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << stream.rdbuf();
    if (bytes.str().find(text) != std::string::npos) return entry.path().string();
  }
  return "";
}

}  // namespace nanhunt::cli
