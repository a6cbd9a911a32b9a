// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/verdict_json.h"

#include <nlohmann/json.hpp>

#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using Json = nlohmann::json;

std::string place_of(const Json& finding) {
  return finding.at("site").get<std::string>() + " " + finding.at("phase").get<std::string>() +
         " " + finding.at("role").get<std::string>();
}

void read_coverage(const Json& coverage, Hunted& hunted) {
  for (const Json& line : coverage.at("incomplete")) {
    hunted.incomplete += line.get<std::string>() + "\n";
  }
  coverage.at("missing").get_to(hunted.missing);
  coverage.at("replayed").get_to(hunted.replayed);
  coverage.at("not_replayed").get_to(hunted.not_replayed);
  coverage.at("sites_fired").get_to(hunted.sites_fired);
  coverage.at("sites_expected").get_to(hunted.sites_expected);
  coverage.at("records_compared").get_to(hunted.records_compared);
}

void read_origins(const Json& origins, Hunted& hunted) {
  for (const Json& origin : origins) hunted.places.push_back(place_of(origin.at("finding")));
  if (origins.empty()) return;
  const Json& first = origins.front().at("finding");
  first.at("ranks").get_to(hunted.ranks);
  first.at("step").get_to(hunted.step);
  origins.front().at("signature").get_to(hunted.signature);
  origins.front().at("lineage").get_to(hunted.lineage);
  first.at("rule").get_to(hunted.rule);
  hunted.leading = first.dump();
}

}  // namespace

std::string Hunted::describe() const {
  return "status " + std::to_string(status) + ", " + kind + " " + reason + " " + place() + "\n" +
         leading + "\n" + incomplete + errors;
}

Hunted verdict_of(const Ended& ended) {
  Hunted hunted;
  hunted.status = ended.status;
  hunted.errors = ended.errors;
  const Json verdict = Json::parse(ended.output, nullptr, false);
  if (!verdict.is_object()) return hunted;
  hunted.is_json = true;
  verdict.at("verdict").get_to(hunted.kind);
  verdict.at("reason").get_to(hunted.reason);
  verdict.at("blame").get_to(hunted.blame);
  verdict.at("controls_passed").get_to(hunted.controls_passed);
  read_coverage(verdict.at("coverage"), hunted);
  read_origins(verdict.at("origins"), hunted);
  return hunted;
}

Hunted capture_and_scan(const std::string& name, const fs::path& out,
                        const std::vector<std::string>& more) {
  std::vector<std::string> words = {"capture", (cases_folder() / name).string(), "--out",
                                    out.string()};
  words.insert(words.end(), more.begin(), more.end());
  const Ended captured = nanhunt(words);
  if (captured.status != 0) return verdict_of(captured);
  const size_t start = captured.output.find("trace: ") + 7;
  const std::string trace =
      captured.output.substr(start, captured.output.find('\n', start) - start);
  return verdict_of(nanhunt({"scan", trace, "--json"}));
}

Hunted hunt(const fs::path& case_file, const std::vector<std::string>& words,
            const Environment& added) {
  const ScratchFolder work;
  std::vector<std::string> all = {"run", case_file.string(), "--json", "--out",
                                  work.path().string()};
  all.insert(all.end(), words.begin(), words.end());
  return verdict_of(nanhunt(all, added));
}

}  // namespace nanhunt::e2e
