// SPDX-License-Identifier: Apache-2.0
#include "report/result.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "ablate/trials_json.h"
#include "trace/error.h"

namespace nanhunt::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw trace::Error(trace::ErrorKind::kUnreadable, path.string() + ": " + why);
}

fs::path json_file(const fs::path& path) {
  if (!fs::exists(path)) refuse(path, "no such file or folder");
  if (!fs::is_directory(path)) return path;
  const fs::path file = path / "verdict.json";
  if (!fs::exists(file)) {
    refuse(path, "no result: the folder holds no verdict.json, as `nanhunt run` leaves one");
  }
  return file;
}

json read_json(const fs::path& file) {
  std::ifstream stream(file);
  json object = json::parse(stream, nullptr, false);
  if (object.is_discarded()) refuse(file, "no result: it is no JSON");
  if (!object.is_object()) refuse(file, "no result: it is no JSON object");
  return object;
}

HuntResult hunt_from_json(const json& object) {
  // `ablate --json` holds the verdict beside the trials, all others the trials in the verdict.
  const auto verdict = object.find("verdict");
  const bool nested = verdict != object.end() && verdict->is_object();
  HuntResult result;
  result.verdict = compare::verdict_from_json(nested ? *verdict : object);
  if (object.contains("trials")) result.trials = ablate::trials_from_json(object["trials"]);
  return result;
}

// A level may hold the convergence result that it rests on.
LevelResult levels_from_json(const json& object) {
  LevelResult result;
  result.report = repro::report_from_json(object);
  for (const json& level : object["levels"]) {
    const auto convergence = level.find("convergence");
    if (convergence == level.end() || convergence->is_null()) continue;
    result.convergence = repro::convergence_from_json(*convergence);
  }
  return result;
}

Content content_from_json(const json& object) {
  if (object.contains("levels")) return levels_from_json(object);
  if (object.contains("level") && object.contains("metrics")) {
    return repro::convergence_from_json(object);
  }
  return hunt_from_json(object);
}

}  // namespace

Result read_result(const fs::path& path) {
  const fs::path file = json_file(path);
  const json object = read_json(file);
  try {
    return {file, content_from_json(object)};
  } catch (const trace::Error& error) {
    refuse(file, error.what());
  }
}

}  // namespace nanhunt::report
