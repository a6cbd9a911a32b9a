// SPDX-License-Identifier: Apache-2.0
// What the commands on a case share: options, the case with everything set on the command line, the
// thresholds, the work folder.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <filesystem>
#include <map>
#include <string>

#include "ablate/bench.h"
#include "ablate/case_file.h"
#include "cli/options.h"
#include "oracle/thresholds.h"

namespace nanhunt::cli {

boost::program_options::options_description case_options();

struct CaseSetup {
  ablate::Case the_case;
  oracle::Thresholds thresholds;
  ablate::BenchOptions bench;
  std::filesystem::path build;
  std::filesystem::path work;
  std::map<std::string, std::string> environment;  // added to that of the children
  int jobs = 2;
};

// Throws Error(kUsage).
CaseSetup set_up_case(const Parsed& parsed);

// The installed thresholds, or those of --thresholds.
oracle::Thresholds read_thresholds(const Parsed& parsed);
// nanhunt-out/NAME-HASH; the hash covers both sides' settings, level and steps.
std::filesystem::path default_work_folder(const ablate::Case& the_case);
int default_jobs();

}  // namespace nanhunt::cli
