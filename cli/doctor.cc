// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/utsname.h>

#include <boost/program_options.hpp>
#include <boost/version.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/case_options.h"
#include "cli/command.h"
#include "cli/doctor_python.h"
#include "trace/error.h"
#include "trace/fingerprint.h"
#include "trace/segment.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

void say(const std::string& what, const std::string& value) {
  std::printf("%-22s %s\n", what.c_str(), value.c_str());
}

// Prints a line and counts it as a problem.
struct Report {
  int problems = 0;
  void warn(const std::string& what, const std::string& value) {
    say(what, value);
    ++problems;
  }
};

std::string gib(uintmax_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

void report_space(Report& report, const std::string& what, const fs::path& folder,
                  uintmax_t least) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) {
    report.warn(what, folder.string() + ": " + error.message());
  } else if (space.available < least) {
    report.warn(what, folder.string() + ": only " + gib(space.available) + " free");
  } else {
    say(what, folder.string() + ": " + gib(space.available) + " free");
  }
}

void report_limit(Report& report, const std::string& what, int resource, rlim_t least) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  if (limit.rlim_cur == RLIM_INFINITY) {
    say(what, "no limit");
  } else if (limit.rlim_cur < least) {
    report.warn(what, std::to_string(limit.rlim_cur) + ", fewer than " + std::to_string(least));
  } else {
    say(what, std::to_string(limit.rlim_cur));
  }
}

// The line NAME:TYPE=VALUE of a CMake cache.
std::string cache_entry(const fs::path& cache, const std::string& name) {
  std::ifstream stream(cache);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(name + ":")) return line.substr(line.find('=') + 1);
  }
  return "";
}

std::string torch_version(const fs::path& torch) {
  std::ifstream stream(torch / "version.py");
  for (std::string line; std::getline(stream, line);) {
    const size_t quote = line.find('\'');
    if (line.starts_with("__version__") && quote != std::string::npos) {
      return line.substr(quote + 1, line.rfind('\'') - quote - 1);
    }
  }
  return "version unknown";
}

void report_subject(Report& report, const fs::path& build) {
  const fs::path program = build / "cases/mini/mini";
  if (!fs::exists(program)) {
    report.warn("bundled subject", program.string() + " is not built");
    return;
  }
  say("bundled subject", program.string());
  const fs::path torch = cache_entry(build / "CMakeCache.txt", "NANHUNT_TORCH");
  if (torch.empty() || !fs::exists(torch / "lib/libtorch_cpu.so")) {
    report.warn("its LibTorch", "not found beside the build");
  } else {
    say("its LibTorch", torch_version(torch) + " in " + torch.string());
  }
}

// A library beside the build, else the one that NANHUNT_LIBRARY names.
void report_python(Report& report, const Parsed& parsed, const fs::path& build) {
  const char* named = std::getenv("NANHUNT_PYTHON");
  const std::string python = parsed.has("python") ? parsed.text("python") : named ? named : "";
  if (python.empty()) {
    say("Python", "not looked at: name one with --python or NANHUNT_PYTHON");
    return;
  }
  const char* library = std::getenv("NANHUNT_LIBRARY");
  for (const PythonLine& line : look_at_python(
           python, library ? fs::path(library) : build / "hooks/torch_ops/libnanhunt_torch.so")) {
    line.problem ? report.warn(line.what, line.value) : say(line.what, line.value);
  }
}

}  // namespace

int doctor_command(const std::vector<std::string>& arguments) {
  boost::program_options::options_description options("options");
  options.add_options()("build", boost::program_options::value<std::string>(),
                        "build folder that {build} stands for")(
      "python", boost::program_options::value<std::string>(),
      "Python whose jobs are to be captured (default: NANHUNT_PYTHON)");
  const Parsed parsed = parse_options("doctor", arguments, options, {});
  if (parsed.wants_help) return 0;
  Report report;
  utsname system{};
  ::uname(&system);
  say("nanhunt", NANHUNT_VERSION);
  say("trace format",
      std::to_string(trace::kFormatMajor) + "." + std::to_string(trace::kFormatMinor));
  say("HDF5", NANHUNT_HDF5_VERSION);
  say("Boost",
      std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000));
  say("system", std::string(system.sysname) + " " + system.release + " " + system.machine);
  say("cores", std::to_string(std::thread::hardware_concurrency()));
  say("fingerprints", std::string(trace::fingerprint_version()));
  try {
    say("thresholds", read_thresholds(parsed).sha256());
  } catch (const trace::Error& error) {
    report.warn("thresholds", error.what());
  }
  const fs::path build =
      parsed.has("build") ? fs::absolute(parsed.text("build")) : ablate::own_build_folder();
  report_subject(report, build);
  report_python(report, parsed, build);
  report_space(report, "work folder", fs::current_path(), uintmax_t{1} << 30);
  report_space(report, "shared memory", "/dev/shm", uintmax_t{64} << 20);
  report_limit(report, "open files", RLIMIT_NOFILE, 256);
  report_limit(report, "processes", RLIMIT_NPROC, 128);
  report_limit(report, "core file size", RLIMIT_CORE, 0);
  std::printf("%d problem%s\n", report.problems, report.problems == 1 ? "" : "s");
  return report.problems == 0 ? 0 : 3;
}

}  // namespace nanhunt::cli
