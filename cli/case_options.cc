// SPDX-License-Identifier: Apache-2.0
#include "cli/case_options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <thread>

#include "cli/plant.h"
#include "trace/error.h"

namespace nanhunt::cli {

namespace po = boost::program_options;

po::options_description case_options() {
  po::options_description options("options");
  options.add_options()(
      "set", po::value<std::vector<std::string>>()->composing()->value_name("NAME=VALUE"),
      "set a toggle of the failing side, or a parameter")(
      "set-reference", po::value<std::vector<std::string>>()->composing()->value_name("NAME=VALUE"),
      "set a toggle of the reference side")("level", po::value<std::string>(),
                                            "stats, full or auto")(
      "steps", po::value<int64_t>(), "training steps")("timeout", po::value<double>(),
                                                       "seconds until a child is ended")(
      "poison", po::bool_switch(),
      "fill fresh memory with NaN: what is read before it is written shows")(
      "out", po::value<std::string>(), "work folder (default: nanhunt-out/CASE-HASH)")(
      "build", po::value<std::string>(), "build folder that {build} stands for")(
      "seed", po::value<uint64_t>()->default_value(1), "of the draw of a bundled case")(
      "healthy", po::bool_switch(), "run a bundled case without what it plants")(
      "jobs", po::value<int>(), "children at a time (default: cores)")(
      "thresholds", po::value<std::string>(), "other thresholds; the result is exploratory")(
      "json", po::bool_switch(), "result as JSON")("bisect", po::bool_switch(),
                                                   "exit status for `git bisect run`");
  return options;
}

int default_jobs() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

oracle::Thresholds read_thresholds(const Parsed& parsed) {
  return parsed.has("thresholds") ? oracle::Thresholds::read(parsed.text("thresholds"))
                                  : oracle::Thresholds::installed();
}

std::filesystem::path default_work_folder(const ablate::Case& the_case) {
  std::string text = std::to_string(the_case.steps) + " " +
                     std::to_string(static_cast<int>(the_case.level)) + "\n";
  for (const auto* side : {&the_case.failing, &the_case.reference}) {
    for (const auto& [name, value] : *side) text += name + "=" + value + "\n";
  }
  return std::filesystem::path("nanhunt-out") /
         (the_case.name + "-" + ablate::hash_of(text).substr(0, 8));
}

CaseSetup set_up_case(const Parsed& parsed) {
  CaseSetup setup;
  setup.the_case = ablate::read_case(ablate::find_case(parsed.text("CASE")));
  ablate::Case& the_case = setup.the_case;
  if (parsed.has("set")) {
    for (const std::string& assignment : parsed.values["set"].as<std::vector<std::string>>()) {
      ablate::apply_setting(the_case, assignment);
    }
  }
  if (parsed.has("set-reference")) {
    for (const auto& each : parsed.values["set-reference"].as<std::vector<std::string>>()) {
      ablate::apply_reference_setting(the_case, each);
    }
  }
  if (parsed.has("level")) the_case.level = ablate::case_level_from_name(parsed.text("level"));
  if (parsed.has("steps")) the_case.steps = parsed.values["steps"].as<int64_t>();
  if (parsed.flag("poison")) the_case.poison = true;
  if (the_case.steps < 1) throw trace::Error(trace::ErrorKind::kUsage, "steps is not positive");
  if (parsed.has("timeout")) the_case.timeout_s = parsed.values["timeout"].as<double>();
  setup.thresholds = read_thresholds(parsed);
  for (const auto& [key, value] : the_case.thresholds) setup.thresholds.override_with(key, value);
  setup.bench.exploratory = parsed.has("thresholds");
  setup.bench.repeats = ablate::calibration_repeats(the_case, setup.thresholds);
  setup.build = parsed.has("build") ? std::filesystem::absolute(parsed.text("build"))
                                    : ablate::own_build_folder();
  setup.work =
      parsed.has("out") ? std::filesystem::path(parsed.text("out")) : default_work_folder(the_case);
  setup.jobs = parsed.has("jobs") ? parsed.values["jobs"].as<int>() : default_jobs();
  setup.bench.jobs = setup.jobs;
  if (!parsed.flag("healthy")) {
    setup.environment = plant(the_case.path, parsed.values["seed"].as<uint64_t>(), setup.work);
  }
  if (setup.jobs < 1) throw trace::Error(trace::ErrorKind::kUsage, "jobs is not positive");
  return setup;
}

}  // namespace nanhunt::cli
