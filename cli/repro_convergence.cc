// SPDX-License-Identifier: Apache-2.0
#include "cli/repro_convergence.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bisect/command_template.h"
#include "cli/convergence_options.h"
#include "cli/progress.h"
#include "repro/convergence.h"
#include "repro/plan.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

using Words = std::vector<std::string>;

constexpr int kMostPlanned = 100000;

[[noreturn]] void refuse(const std::string& message) {
  throw trace::Error(trace::ErrorKind::kUsage, message);
}

std::vector<repro::CurvePair> read_pairs(const Parsed& parsed, const std::string& option,
                                         const repro::ColumnNames& names,
                                         ProgressPrinter& progress) {
  const Words words = words_of(parsed, option);
  std::vector<repro::CurvePair> pairs;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto [a, b] = split_pair(option, words[i]);
    progress.print({"reading " + a.string() + " and " + b.string(), static_cast<int>(i + 1),
                    static_cast<int>(words.size())});
    pairs.push_back({repro::read_curve(a, names), repro::read_curve(b, names)});
  }
  return pairs;
}

int print_plan(const Parsed& parsed) {
  const int seeds = parsed.values["plan"].as<int>();
  if (seeds < 2 || seeds > kMostPlanned) {
    refuse("--plan " + std::to_string(seeds) + ": from 2 to " + std::to_string(kMostPlanned) +
           " pairs can be planned");
  }
  const repro::Plan plan = repro::make_plan(seeds, parsed.values["alpha"].as<double>());
  if (parsed.flag("json")) {
    std::printf("%s\n", to_json(plan).dump(2).c_str());
  } else {
    std::fputs(to_text(plan).c_str(), stdout);
  }
  return 0;
}

}  // namespace

bool wants_convergence(const Words& arguments) {
  return std::ranges::any_of(arguments, [](const std::string& argument) {
    const std::string name = argument.substr(0, argument.find('='));
    return name == "--pair" || name == "--plan";
  });
}

int repro_convergence(const Words& arguments) {
  const Parsed parsed = parse_options("repro", arguments, convergence_options(), {});
  if (parsed.wants_help) return 0;
  if (parsed.has("plan")) return print_plan(parsed);
  if (!parsed.has("pair")) refuse("`nanhunt repro` needs --pair A=B, several of them, or --plan");
  const repro::Criteria criteria = read_criteria(parsed);
  // Registered before a curve is read.
  std::fprintf(stderr, "nanhunt: thresholds %s\n", sha256(criteria).c_str());
  ProgressPrinter progress;
  const auto pairs = read_pairs(parsed, "pair", criteria.names, progress);
  const auto same = read_pairs(parsed, "aa", criteria.names, progress);
  repro::Convergence result = judge(criteria, pairs, same);
  result.command = "nanhunt repro " + bisect::quoted(arguments);
  if (parsed.flag("json")) {
    std::printf("%s\n", to_json(result).dump(2).c_str());
  } else {
    std::fputs(to_text(result).c_str(), stdout);
  }
  return exit_status(result.decision);
}

}  // namespace nanhunt::cli
