// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <optional>

#include "ablate/parallel.h"
#include "cli/case_check.h"
#include "cli/case_options.h"
#include "cli/command.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

po::options_description options_of_cases() {
  po::options_description options("options");
  options.add_options()("check", po::bool_switch(),
                        "hunt each case with a drawn fault and score the verdict")(
      "seed", po::value<uint64_t>()->default_value(1), "of the draw")(
      "only", po::value<std::string>(), "the one case of that name")(
      "jobs", po::value<int>(), "cases at a time (default: cores)")(
      "folder", po::value<std::string>(), "where the case files are")(
      "out", po::value<std::string>(), "work folder (default: nanhunt-out/check-SEED)")(
      "build", po::value<std::string>(), "build folder that {build} stands for")(
      "keep", po::bool_switch(), "keep the runs of cases that passed");
  return options;
}

// Beside the installed program, else in the source tree that was built.
fs::path cases_folder(const Parsed& parsed) {
  if (parsed.has("folder")) return parsed.text("folder");
  const fs::path installed = ablate::own_build_folder() / "share/nanhunt/cases";
  return fs::is_directory(installed) ? installed : fs::path(NANHUNT_CASES_FOLDER);
}

std::vector<fs::path> case_files(const Parsed& parsed) {
  const fs::path folder = cases_folder(parsed);
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".case") continue;
    if (parsed.has("only") && entry.path().stem() != parsed.text("only")) continue;
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       folder.string() + ": no case file" +
                           (parsed.has("only") ? " '" + parsed.text("only") + "'" : ""));
  }
  return files;
}

// The comment lines that a case file starts with.
std::string headline(const fs::path& file) {
  std::ifstream stream(file);
  std::string text;
  for (std::string line; std::getline(stream, line) && line.starts_with("#");) {
    text += (text.empty() ? "" : " ") + line.substr(std::min<size_t>(2, line.size()));
  }
  return text;
}

int list_cases(const Parsed& parsed) {
  for (const fs::path& file : case_files(parsed)) {
    const ablate::Case the_case = ablate::read_case(file);
    std::printf("%s\n    %s\n    failing side: %s\n", file.c_str(), headline(file).c_str(),
                ablate::describe(the_case.subject, the_case.failing).c_str());
  }
  return 0;
}

struct Tally {
  std::mutex mutex;
  int passed = 0, failed = 0;

  void add(const std::vector<CheckRow>& rows) {
    const std::lock_guard lock(mutex);
    for (const CheckRow& row : rows) {
      std::fputs(to_text(row).c_str(), stdout);
      ++(row.passed() ? passed : failed);
    }
    std::fflush(stdout);
  }
};

int check_cases(const Parsed& parsed) {
  const std::vector<fs::path> files = case_files(parsed);
  const uint64_t seed = parsed.values["seed"].as<uint64_t>();
  const fs::path work = parsed.has("out")
                            ? fs::path(parsed.text("out"))
                            : fs::path("nanhunt-out") / ("check-" + std::to_string(seed));
  const oracle::Thresholds thresholds = oracle::Thresholds::installed();
  const fs::path build =
      parsed.has("build") ? fs::absolute(parsed.text("build")) : ablate::own_build_folder();
  const int jobs = parsed.has("jobs") ? parsed.values["jobs"].as<int>() : default_jobs();
  if (jobs < 1) throw trace::Error(trace::ErrorKind::kUsage, "jobs is not positive");
  const auto started = std::chrono::steady_clock::now();
  ablate::ChildRunner children;
  Tally tally;
  ablate::for_each_parallel(files.size(), jobs, [&](size_t i) {
    // Folders are numbered: no path that a run sees may name its fault.
    const CheckOptions options{seed, 1, build, work / std::to_string(i + 1), thresholds};
    const std::vector<CheckRow> rows = check_case(files[i], options, children);
    tally.add(rows);
    const bool all_passed =
        std::all_of(rows.begin(), rows.end(), [](const CheckRow& row) { return row.passed(); });
    std::error_code ignored;
    if (all_passed && !parsed.flag("keep")) fs::remove_all(options.work, ignored);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  std::printf("seed %lu, %.0f s, thresholds %s\n%d passed, %d failed\n",
              static_cast<unsigned long>(seed), seconds.count(), thresholds.sha256().c_str(),
              tally.passed, tally.failed);
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace

int cases_command(const std::vector<std::string>& arguments) {
  const Parsed parsed = parse_options("cases", arguments, options_of_cases(), {});
  if (parsed.wants_help) return 0;
  return parsed.flag("check") ? check_cases(parsed) : list_cases(parsed);
}

}  // namespace nanhunt::cli
