// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/reported.h"

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {

std::string Reported::different_parts() const {
  std::set<std::string> parts;
  for (const auto& [name, verdict] : verdicts) {
    const size_t comma = name.find(", ");
    if (comma != std::string::npos && verdict == "different") parts.insert(name.substr(comma + 2));
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

Reported reported(const std::vector<std::string>& words) {
  std::vector<std::string> all{"repro"};
  all.insert(all.end(), words.begin(), words.end());
  all.push_back("--json");
  const Ended ended = nanhunt(all);
  Reported reported{ended.status, ended.errors, {}, {}, {}};
  const auto json = nlohmann::json::parse(ended.output, nullptr, false);
  if (json.is_discarded()) return reported;
  for (const auto& level : json.at("levels")) {
    const std::string part = level.at("part");
    const std::string name = std::string(level.at("level")) + (part.empty() ? "" : ", " + part);
    reported.verdicts[name] = level.at("verdict");
    reported.implies[name] = level.at("implies");
    for (const std::string line : level.at("evidence")) reported.evidence[name] += line + "\n";
  }
  return reported;
}

Reported repro(const fs::path& the_case, const std::vector<std::string>& more) {
  const ScratchFolder work;
  std::vector<std::string> words{the_case.string(), "--out", (work / "work").string()};
  words.insert(words.end(), more.begin(), more.end());
  return reported(words);
}

}  // namespace nanhunt::e2e
