// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <algorithm>
#include <cstdio>

#include "ablate/nearest.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

void print_help() {
  std::printf(
      "nanhunt: which tensor of a failing training step went bad first, and which switch "
      "did it\n\n");
  for (const Command& command : commands()) {
    std::printf("  nanhunt %-8s %-18s %s\n", command.name.c_str(), command.arguments.c_str(),
                command.summary.c_str());
  }
  std::printf("\nnanhunt COMMAND --help lists the options of a command.\n");
}

int run_named(const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const Command& command : commands()) {
    if (command.name == name) return command.run(arguments);
    known.push_back(command.name);
  }
  throw trace::Error(trace::ErrorKind::kUsage,
                     "no command '" + name + "'" + ablate::did_you_mean(name, known));
}

int guarded(const std::vector<std::string>& arguments) {
  try {
    if (arguments.empty() || arguments[0] == "help" || arguments[0] == "--help" ||
        arguments[0] == "-h") {
      print_help();
      return arguments.empty() ? 2 : 0;
    }
    if (arguments[0] == "--version") {
      std::printf("nanhunt %s\n", NANHUNT_VERSION);
      return 0;
    }
    return run_named(arguments[0], {arguments.begin() + 1, arguments.end()});
  } catch (const trace::Error& error) {
    std::fprintf(stderr, "nanhunt: %s\n", error.what());
    return static_cast<int>(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nanhunt: internal error: %s\n", error.what());
    return static_cast<int>(trace::ErrorKind::kInternal);
  }
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"run", "CASE", "the whole hunt: capture, locate, explain", run_command},
      {"capture", "CASE", "only run and record", capture_command},
      {"scan", "TRACE|CHECKPOINT", "rules that need no reference", scan_command},
      {"compare", "TRACE REFERENCE", "first divergence of two traces", compare_command},
      {"ablate", "CASE", "which toggles explain the failure", ablate_command},
      {"repro", "CASE|--pair A=B", "three levels: state, step replay, convergence", repro_command},
      {"golden", "export|check", "expected values of healthy runs; a later run against them",
       golden_command},
      {"bisect", "-- COMMAND {item}", "first bad one of a list, a range or commits",
       bisect_command},
      {"show", "TRACE [PATTERN]", "look into a trace", show_command},
      {"report", "RESULT", "a result as one HTML page", report_command},
      {"cases", "[GROUP]", "bundled cases; --check scores them", cases_command},
      {"doctor", "", "what this machine can do", doctor_command},
  };
  return table;
}

int dispatch(const std::vector<std::string>& arguments) {
  const int status = guarded(arguments);
  const auto own_end = std::find(arguments.begin(), arguments.end(), "--");
  const bool bisect = std::find(arguments.begin(), own_end, "--bisect") != own_end;
  return bisect && status != 0 && status != 1 ? kCannotTell : status;
}

}  // namespace nanhunt::cli
