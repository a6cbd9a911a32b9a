// SPDX-License-Identifier: Apache-2.0
#include "cli/bisect_options.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "ablate/ledger.h"
#include "cli/options.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;

constexpr double kForever_s = 1e9;

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

po::options_description described() {
  po::options_description options("options");
  auto add = options.add_options();
  add("list", po::value<std::string>()->value_name("FILE"), "items, one a line, good ones first");
  add("commits", po::value<std::string>()->value_name("GOOD..BAD"),
      "commits, each run in a git worktree of its own");
  add("range", po::value<std::string>()->value_name("FIRST..LAST[:STEP]"), "whole numbers");
  add("repository", po::value<std::string>()->default_value("."), "of --commits");
  add("ends-known", po::bool_switch(), "do not run the first (good) and the last (bad)");
  add("survey", po::value<int64_t>()->default_value(0)->value_name("N"),
      "first try N items evenly between the ends: shows a good one after a bad one");
  add("bad", po::value<std::string>()->value_name("LIST"),
      "what is bad: statuses, ranges, signals (1,3..5,SIGSEGV,signals); every other end but 0 then "
      "cannot be tested (default: as git, 1..124,126,127, and from 128 on the search stops)");
  add("timeout", po::value<double>()->value_name("SECONDS"), "of one run (default: none)");
  add("timeout-is", po::value<std::string>()->default_value("untestable"),
      "what a time-out says: good, bad or untestable");
  add("fails-at-least", po::value<double>()->default_value(1, "1")->value_name("RATE"),
      "a bad item fails in at least this share of its runs");
  add("good-fails-at-most", po::value<double>()->default_value(0, "0")->value_name("RATE"),
      "a good item fails in at most this share of its runs");
  add("error", po::value<double>()->default_value(1e-5, "1e-5")->value_name("P"),
      "of one decision");
  add("max-runs", po::value<int64_t>()->default_value(0, "as needed")->value_name("N"),
      "of one item; then it is undecided");
  add("ledger", po::value<std::string>()->value_name("FILE"),
      "keeps each run; the same command goes on from it");
  add("out", po::value<std::string>()->value_name("DIR"),
      "outputs of the runs (default: nanhunt-out/bisect-HASH)");
  add("price", po::bool_switch(), "print what the search costs, and run nothing");
  add("json", po::bool_switch(), "result as JSON");
  return options;
}

void set_list(const Parsed& parsed, BisectOptions& options) {
  const std::vector<std::pair<std::string, ListKind>> kinds = {
      {"list", ListKind::kFile}, {"commits", ListKind::kCommits}, {"range", ListKind::kRange}};
  int given = 0;
  for (const auto& [name, kind] : kinds) {
    if (!parsed.has(name)) continue;
    ++given;
    options.kind = kind;
    options.list = parsed.text(name);
  }
  if (given != 1) refuse("`nanhunt bisect` needs one of --list, --commits and --range");
}

bisect::Meaning meaning_named(const std::string& word) {
  if (word == "good") return bisect::Meaning::kGood;
  if (word == "bad") return bisect::Meaning::kBad;
  if (word == "untestable") return bisect::Meaning::kUntestable;
  refuse("--timeout-is '" + word + "': it may be good, bad or untestable");
}

double timeout_of(const Parsed& parsed) {
  if (!parsed.has("timeout")) return kForever_s;
  const double timeout = parsed.values["timeout"].as<double>();
  if (!(timeout > 0)) refuse("--timeout is not positive");
  return std::min(timeout, kForever_s);
}

// A folder of its own for each search, the same when it is started again.
std::filesystem::path default_out(const BisectOptions& options) {
  std::string text = std::to_string(static_cast<int>(options.kind)) + "\n" + options.list + "\n" +
                     options.repository.string() + "\n";
  for (const std::string& word : options.command) text += word + "\n";
  return std::filesystem::path("nanhunt-out") / ("bisect-" + ablate::hash_of(text).substr(0, 8));
}

}  // namespace

std::optional<BisectOptions> parse_bisect_options(const std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const Parsed parsed = parse_options("bisect", {arguments.begin(), dashes}, described(), {});
  if (parsed.wants_help) return std::nullopt;
  BisectOptions options;
  set_list(parsed, options);
  options.repository = parsed.text("repository");
  options.command = bisect::command_template(
      dashes == arguments.end() ? bisect::Words{} : bisect::Words{dashes + 1, arguments.end()});
  options.rates = {.bad_at_least = parsed.values["fails-at-least"].as<double>(),
                   .good_at_most = parsed.values["good-fails-at-most"].as<double>(),
                   .error = parsed.values["error"].as<double>(),
                   .max_runs = parsed.values["max-runs"].as<int64_t>()};
  if (parsed.has("bad")) options.statuses.bad = bisect::parse_statuses(parsed.text("bad"));
  options.statuses.timeout = meaning_named(parsed.text("timeout-is"));
  options.timeout_s = timeout_of(parsed);
  options.ends_known = parsed.flag("ends-known");
  const auto survey = parsed.values["survey"].as<int64_t>();
  if (survey < 0) refuse("--survey is negative");
  options.survey = static_cast<size_t>(survey);
  if (parsed.has("ledger")) options.ledger = parsed.text("ledger");
  options.out =
      parsed.has("out") ? std::filesystem::path(parsed.text("out")) : default_out(options);
  options.price = parsed.flag("price");
  options.json = parsed.flag("json");
  return options;
}

}  // namespace nanhunt::cli
