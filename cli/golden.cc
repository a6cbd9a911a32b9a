// SPDX-License-Identifier: Apache-2.0
#include <boost/program_options.hpp>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/golden_runs.h"
#include "compare/numbers.h"
#include "golden/check.h"
#include "golden/export.h"
#include "golden/file.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;
using Words = std::vector<std::string>;

constexpr int kDefaultRuns = 5;

nlohmann::json classes_json(const golden::Table& table) {
  using golden::Class;
  return {{"layout", table.layout},
          {"runs", table.runs},
          {"bit", golden::count(table, Class::kBit)},
          {"noise", golden::count(table, Class::kNoise)},
          {"unjudged", golden::count(table, Class::kUnjudged)},
          {"losses", table.curves.size()}};
}

void print_export(const golden::Golden& golden, const std::string& path,
                  const golden::Written& written, bool as_json) {
  nlohmann::json tables = nlohmann::json::array();
  for (const auto& table : golden.tables) tables.push_back(classes_json(table));
  if (as_json) {
    const nlohmann::json json = {{"schema", "nanhunt.golden.export.1"},
                                 {"file", path},
                                 {"bytes", written.bytes},
                                 {"sha256", written.sha256},
                                 {"runs", golden.runs},
                                 {"tables", tables},
                                 {"thresholds_sha256", golden.thresholds_sha256}};
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  for (const auto& table : golden.tables) {
    using golden::Class;
    std::printf("Exported: %d %s of %s: %ld bit, %ld noise, %ld unjudged; %zu losses\n", table.runs,
                table.runs == 1 ? "run" : "runs", table.layout.c_str(),
                static_cast<long>(golden::count(table, Class::kBit)),
                static_cast<long>(golden::count(table, Class::kNoise)),
                static_cast<long>(golden::count(table, Class::kUnjudged)), table.curves.size());
    if (table.runs == 1 && !golden.repeats_by_word)
      std::printf(
          "One run shows nothing of what varies: a check can say \"same\" or \"unknown\", and "
          "\"different\" of NaN and Inf alone. Export several, or say --deterministic.\n");
  }
  std::printf("File: %s, %ld bytes, sha256 %s, thresholds %s\n", path.c_str(),
              static_cast<long>(written.bytes), written.sha256.substr(0, 16).c_str(),
              golden.thresholds_sha256.substr(0, 16).c_str());
}

std::deque<trace::TraceReader> open_traces(const std::vector<std::filesystem::path>& folders) {
  std::deque<trace::TraceReader> readers;
  for (const auto& folder : folders) readers.emplace_back(folder);
  return readers;
}

int export_golden(const Words& arguments) {
  po::options_description options = case_options();
  options.add_options()("output,o", po::value<std::string>(), "the golden file to write")(
      "runs", po::value<int>(), "of a case: how many runs to export (default: 5)")(
      "deterministic", po::bool_switch(), "the program repeats to the bit: one run shows it");
  Parsed parsed = parse_options("golden export", arguments, options, {"TRACE..."});
  if (parsed.wants_help) return 0;
  if (!parsed.has("output"))
    throw trace::Error(trace::ErrorKind::kUsage, "`nanhunt golden export` needs -o FILE");
  const int runs = parsed.has("runs") ? parsed.values["runs"].as<int>() : kDefaultRuns;
  if (runs < 1) throw trace::Error(trace::ErrorKind::kUsage, "--runs is not positive");
  const auto given = parsed.values["TRACE"].as<Words>();
  const GoldenRuns made = golden_runs(parsed, given, runs);
  if (!made.from_case && parsed.has("runs"))
    throw trace::Error(trace::ErrorKind::kUsage, "--runs is for a case; these are traces");
  const auto readers = open_traces(made.traces);
  std::vector<compare::TraceSource> sources;
  for (const auto& reader : readers) sources.push_back(compare::source_of(reader));
  const auto golden = golden::export_runs(sources, made.thresholds, {parsed.flag("deterministic")});
  const std::string path = parsed.text("output");
  print_export(golden, path, golden::write_golden(golden, path), parsed.flag("json"));
  return 0;
}

int check_golden(const Words& arguments) {
  Parsed parsed = parse_options("golden check", arguments, case_options(), {"FILE", "TRACE"});
  if (parsed.wants_help) return 0;
  const auto golden = golden::read_golden(parsed.text("FILE"));
  const GoldenRuns made = golden_runs(parsed, {parsed.text("TRACE")}, 1);
  const trace::TraceReader reader(made.traces.front());
  const auto thresholds =
      parsed.has("thresholds") ? read_thresholds(parsed) : golden::thresholds_of(golden);
  const golden::Result result = golden::check_run(golden, compare::source_of(reader), thresholds);
  if (parsed.flag("json")) {
    std::printf("%s\n", golden::to_json(result).dump(2).c_str());
  } else {
    std::fputs(golden::to_text(result).c_str(), stdout);
    if (made.from_case) std::printf("Trace: %s\n", reader.folder().c_str());
  }
  return golden::exit_status(result.verdict);
}

}  // namespace

int golden_command(const std::vector<std::string>& arguments) {
  const std::string verb = arguments.empty() ? "" : arguments.front();
  const Words rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (verb == "export") return export_golden(rest);
  if (verb == "check") return check_golden(rest);
  if (verb == "--help") {
    std::printf(
        "nanhunt golden export TRACE... -o FILE   what is expected of a run, from healthy ones\n"
        "nanhunt golden export CASE --runs N -o FILE\n"
        "nanhunt golden check FILE TRACE|CASE     a later run against it\n");
    return 0;
  }
  throw trace::Error(trace::ErrorKind::kUsage,
                     "golden takes `export TRACE... -o FILE` or `check FILE TRACE`, a case in "
                     "place of traces");
}

}  // namespace nanhunt::cli
