// SPDX-License-Identifier: Apache-2.0
#include "tests/house/include_edges.h"

#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>

namespace nanhunt::house {
namespace {

using Folders = std::set<std::string>;

Folders with(Folders folders, const Folders& more) {
  folders.insert(more.begin(), more.end());
  return folders;
}

// What reads traces and knows no torch.
const Folders kAnalysis = {"trace",  "capsule", "oracle", "compare", "checkpoint",
                           "ablate", "bisect",  "repro",  "report",  "cli",    "golden"};
const Folders kBench = with(kAnalysis, {"hooks", "cases", "bench"});

const std::map<std::string, Folders> kAllowed = {
    {"trace", {"trace"}},
    {"capsule", {"trace", "capsule"}},
    {"hooks", {"trace", "capsule", "hooks"}},
    {"cases", {"trace", "capsule", "hooks", "cases"}},
    {"oracle", {"trace", "oracle"}},
    {"compare", {"trace", "oracle", "compare"}},
    {"golden", {"trace", "oracle", "compare", "golden"}},
    {"checkpoint", {"trace", "capsule", "oracle", "compare", "checkpoint"}},
    {"ablate", {"trace", "capsule", "oracle", "compare", "ablate"}},
    {"bisect", {"trace", "ablate", "bisect"}},
    {"repro", {"trace", "capsule", "oracle", "compare", "checkpoint", "ablate", "repro"}},
    {"report", {"trace", "compare", "ablate", "repro", "report"}},
    {"cli", kAnalysis},
    {"bench", kBench},
    {"tests", with(kBench, {"tests"})},
};

// Libraries that only some folders know, by the first part of the include.
const std::map<std::string, std::set<std::string>> kLibraryUsers = {
    {"torch", {"hooks", "cases", "tests", "bench"}},
    {"ATen", {"hooks", "cases", "tests", "bench"}},
    {"c10", {"hooks", "cases", "tests", "bench"}},
    {"hdf5.h", {"trace", "tests", "bench"}},
    {"cblas.h", {"oracle", "tests", "bench"}},
};

struct Include {
  std::string target;
  bool quoted = false;
};

std::optional<Include> parse_include(const std::string& line) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  std::smatch match;
  if (!std::regex_search(line, match, pattern)) return std::nullopt;
  return Include{match[2], match[1] == "\""};
}

std::string leading_part(const std::string& target) { return target.substr(0, target.find('/')); }

bool crosses_subjects(const std::string& path, const std::string& target) {
  return (path.starts_with("cases/plain/") && target.starts_with("cases/mini/")) ||
         (path.starts_with("cases/mini/") && target.starts_with("cases/plain/"));
}

// What is wrong with an include, or "".
std::string judge(const std::string& path, const Include& include) {
  const std::string from = first_folder(path);
  const std::string to = leading_part(include.target);
  if (const auto library = kLibraryUsers.find(to); library != kLibraryUsers.end()) {
    return library->second.contains(from) ? "" : from + " may not include " + include.target;
  }
  if (!include.quoted) return "";
  if (!kAllowed.contains(to)) return "not written from the root: " + include.target;
  if (!kAllowed.at(from).contains(to)) return from + " may not include " + include.target;
  if (crosses_subjects(path, include.target)) return "subjects must stay independent";
  return "";
}

}  // namespace

std::vector<Breach> forbidden_includes(const std::vector<SourceFile>& files) {
  std::vector<Breach> breaches;
  for (const SourceFile& file : files) {
    if (!has_suffix(file.path, {".h", ".cc", ".cu"}) || !kAllowed.contains(first_folder(file.path)))
      continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto include = parse_include(file.lines[i]);
      if (!include) continue;
      const std::string fault = judge(file.path, *include);
      if (!fault.empty()) breaches.push_back({file.path, i + 1, fault});
    }
  }
  return breaches;
}

}  // namespace nanhunt::house
