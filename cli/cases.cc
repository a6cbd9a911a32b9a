// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>

#include "ablate/nearest.h"
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
      "only", po::value<std::string>(), "the cases of these names, joined by commas")(
      "jobs", po::value<int>(), "cases at a time (default: cores)")(
      "folder", po::value<std::string>(), "where the case files are")(
      "out", po::value<std::string>(), "work folder (default: nanhunt-out/check-[GROUP-]SEED)")(
      "build", po::value<std::string>(), "build folder that {build} stands for")(
      "no-ablation", po::bool_switch(), "search no causes, and score none")(
      "keep", po::bool_switch(), "keep the runs of cases that passed");
  return options;
}

// Beside the installed program, else in the source tree that was built.
fs::path cases_folder(const Parsed& parsed) {
  if (parsed.has("folder")) return parsed.text("folder");
  const fs::path installed = ablate::own_build_folder() / "share/nanhunt/cases";
  return fs::is_directory(installed) ? installed : fs::path(NANHUNT_CASES_FOLDER);
}

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

// The case files that lie in a folder itself, by name.
std::map<std::string, fs::path> files_in(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".case") files[entry.path().stem()] = entry.path();
  }
  return files;
}

// A group is a folder with case files beside the ungrouped ones.
fs::path group_folder(const fs::path& folder, const std::string& group) {
  std::vector<std::string> known;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_directory() || files_in(entry.path()).empty()) continue;
    if (entry.path().filename() == group) return entry.path();
    known.push_back(entry.path().filename());
  }
  std::sort(known.begin(), known.end());
  std::string listed;
  for (const std::string& each : known) listed += " " + each;
  refuse(folder.string() + " has no group '" + group +
         "'; groups:" + (known.empty() ? " none" : listed) + ablate::did_you_mean(group, known));
}

// "a,b"
std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

std::vector<fs::path> case_files(const Parsed& parsed) {
  fs::path folder = cases_folder(parsed);
  if (parsed.has("GROUP")) folder = group_folder(folder, parsed.text("GROUP"));
  const std::map<std::string, fs::path> all = files_in(folder);
  std::vector<std::string> known;
  for (const auto& [name, file] : all) known.push_back(name);
  const auto wanted = parsed.has("only") ? names_of(parsed.text("only")) : known;
  std::set<fs::path> files;
  for (const std::string& name : wanted) {
    const auto found = all.find(name);
    if (found == all.end()) {
      refuse(folder.string() + ": no case file '" + name + "'" + ablate::did_you_mean(name, known));
    }
    files.insert(found->second);
  }
  if (files.empty()) refuse(folder.string() + ": no case file");
  return {files.begin(), files.end()};
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
  const std::string group = parsed.has("GROUP") ? parsed.text("GROUP") + "-" : "";
  const fs::path work = parsed.has("out")
                            ? fs::path(parsed.text("out"))
                            : fs::path("nanhunt-out") / ("check-" + group + std::to_string(seed));
  const oracle::Thresholds thresholds = oracle::Thresholds::installed();
  const fs::path build =
      parsed.has("build") ? fs::absolute(parsed.text("build")) : ablate::own_build_folder();
  const int jobs = parsed.has("jobs") ? parsed.values["jobs"].as<int>() : default_jobs();
  if (jobs < 1) refuse("jobs is not positive");
  const auto started = std::chrono::steady_clock::now();
  ablate::ChildRunner children(jobs);
  Tally tally;
  ablate::for_each_parallel(files.size(), jobs, [&](size_t i) {
    // Folders are numbered: no path that a run sees may name its fault.
    const CheckOptions options{.seed = seed,
                               .ablate = !parsed.flag("no-ablation"),
                               .build = build,
                               .work = work / std::to_string(i + 1),
                               .thresholds = thresholds};
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
  const Parsed parsed = parse_options("cases", arguments, options_of_cases(), {"GROUP?"});
  if (parsed.wants_help) return 0;
  return parsed.flag("check") ? check_cases(parsed) : list_cases(parsed);
}

}  // namespace nanhunt::cli
