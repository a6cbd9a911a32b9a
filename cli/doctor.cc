// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/utsname.h>

#include <boost/program_options.hpp>
#include <boost/version.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/case_options.h"
#include "cli/command.h"
#include "trace/error.h"
#include "trace/fingerprint.h"
#include "trace/segment.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

int problems = 0;

void say(const std::string& what, const std::string& value) {
  std::printf("%-22s %s\n", what.c_str(), value.c_str());
}

void warn(const std::string& what, const std::string& value) {
  say(what, value);
  ++problems;
}

std::string gib(uintmax_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

void report_space(const std::string& what, const fs::path& folder, uintmax_t least) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) {
    warn(what, folder.string() + ": " + error.message());
  } else if (space.available < least) {
    warn(what, folder.string() + ": only " + gib(space.available) + " free");
  } else {
    say(what, folder.string() + ": " + gib(space.available) + " free");
  }
}

void report_limit(const std::string& what, int resource, rlim_t least) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  if (limit.rlim_cur == RLIM_INFINITY) {
    say(what, "no limit");
  } else if (limit.rlim_cur < least) {
    warn(what, std::to_string(limit.rlim_cur) + ", fewer than " + std::to_string(least));
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

void report_subject(const fs::path& build) {
  const fs::path program = build / "cases/mini/mini";
  if (!fs::exists(program)) {
    warn("bundled subject", program.string() + " is not built");
    return;
  }
  say("bundled subject", program.string());
  const fs::path torch = cache_entry(build / "CMakeCache.txt", "NANHUNT_TORCH");
  if (torch.empty() || !fs::exists(torch / "lib/libtorch_cpu.so")) {
    warn("its LibTorch", "not found beside the build");
  } else {
    say("its LibTorch", torch_version(torch) + " in " + torch.string());
  }
}

}  // namespace

int doctor_command(const std::vector<std::string>& arguments) {
  boost::program_options::options_description options("options");
  options.add_options()("build", boost::program_options::value<std::string>(),
                        "build folder that {build} stands for");
  const Parsed parsed = parse_options("doctor", arguments, options, {});
  if (parsed.wants_help) return 0;
  problems = 0;
  utsname system{};
  ::uname(&system);
  say("nanhunt", NANHUNT_VERSION);
  say("trace format",
      std::to_string(trace::kFormatMajor) + "." + std::to_string(trace::kFormatMinor));
  say("HDF5", NANHUNT_HDF5_VERSION);
  say("Boost", std::to_string(BOOST_VERSION / 100000) + "." +
                   std::to_string(BOOST_VERSION / 100 % 1000));
  say("system", std::string(system.sysname) + " " + system.release + " " + system.machine);
  say("cores", std::to_string(std::thread::hardware_concurrency()));
  say("fingerprints", std::string(trace::fingerprint_version()));
  try {
    say("thresholds", read_thresholds(parsed).sha256());
  } catch (const trace::Error& error) {
    warn("thresholds", error.what());
  }
  report_subject(parsed.has("build") ? fs::absolute(parsed.text("build"))
                                     : ablate::own_build_folder());
  report_space("work folder", fs::current_path(), uintmax_t{1} << 30);
  report_space("shared memory", "/dev/shm", uintmax_t{64} << 20);
  report_limit("open files", RLIMIT_NOFILE, 256);
  report_limit("processes", RLIMIT_NPROC, 128);
  report_limit("core file size", RLIMIT_CORE, 0);
  std::printf(problems == 0 ? "no problem found\n" : "%d problems\n", problems);
  return problems == 0 ? 0 : 3;
}

}  // namespace nanhunt::cli
