// SPDX-License-Identifier: Apache-2.0
#include "report/next_commands.h"

#include <algorithm>

namespace nanhunt::report {
namespace {

bool plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("./_-=:,+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::vector<NextCommand> next_commands(const compare::Verdict& verdict) {
  std::vector<NextCommand> commands;
  if (!verdict.next_command.empty()) {
    commands.push_back({verdict.next_command, "what to look at next"});
  }
  const bool judged = !verdict.thresholds_sha256.empty();
  if (!judged) return commands;
  if (!verdict.origins.empty()) {
    const std::string site = quoted(verdict.origins.front().finding.what.site);
    const bool theirs = verdict.blame() == compare::Blame::kReference;
    const std::string& other = theirs ? verdict.candidate : verdict.reference;
    if (!other.empty()) {
      commands.push_back({"nanhunt show " + quoted(other) + " " + site, "the other side of it"});
    }
  }
  if (!verdict.candidate.empty()) {
    commands.push_back({"nanhunt scan " + quoted(verdict.candidate),
                        "the candidate by rules that need no reference"});
  }
  if (!verdict.reference.empty()) {
    commands.push_back({"nanhunt scan " + quoted(verdict.reference), "the reference likewise"});
  }
  return commands;
}

}  // namespace nanhunt::report
