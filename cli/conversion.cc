// SPDX-License-Identifier: Apache-2.0
#include "cli/conversion.h"

#include <stdlib.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ablate/child.h"
#include "ablate/runner.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "conversion.json";
constexpr double kTimeoutSeconds = 24 * 3600;  // hundreds of GB over a network take hours

[[noreturn]] void fail(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUnreadable, what);
}

// The package and its library of this source tree, where they are there and nobody named others.
std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> added;
  const fs::path package = fs::path(NANHUNT_CASES_FOLDER).parent_path() / "hooks/python";
  if (fs::exists(package / "nanhunt")) {
    const char* path = std::getenv("PYTHONPATH");
    added["PYTHONPATH"] = package.string() + (path != nullptr ? ":" + std::string(path) : "");
  }
  const fs::path library = ablate::own_build_folder() / "hooks/torch_ops/libnanhunt_torch.so";
  if (std::getenv("NANHUNT_LIBRARY") == nullptr && fs::exists(library))
    added["NANHUNT_LIBRARY"] = library.string();
  return added;
}

std::vector<std::string> texts(const nlohmann::json& list) {
  return list.get<std::vector<std::string>>();
}

std::string without_name(const std::string& line) {
  const std::string name = "nanhunt: ";
  return line.starts_with(name) ? line.substr(name.size()) : line;
}

fs::path new_folder() {
  std::string name = (fs::temp_directory_path() / "nanhunt-conversion-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail(name + ": cannot be made");
  return name;
}

}  // namespace

bool holds_conversion(const fs::path& folder) {
  return fs::is_regular_file(folder / kManifest);
}

Converted read_conversion(const fs::path& folder) {
  const fs::path path = folder / kManifest;
  try {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto manifest = nlohmann::json::parse(text);
    Converted converted;
    for (const auto& part : manifest.at("capsules")) {
      const auto below = part.at("folder").get<std::string>();
      converted.capsules.push_back({below.empty() ? folder : folder / below,
                                    texts(part.at("files")), part.value("by_rank", "")});
    }
    converted.not_read = texts(manifest.at("not_read"));
    converted.notes = texts(manifest.at("notes"));
    return converted;
  } catch (const nlohmann::json::exception&) {
    fail(path.string() + ": is not what a conversion writes");
  }
}

std::string named_python() {
  const char* named = std::getenv("NANHUNT_PYTHON");
  return named != nullptr ? named : "";
}

Conversion::Conversion(const fs::path& checkpoint, bool pickles_only) {
  const std::string python = named_python();
  if (python.empty()) {
    throw trace::Error(
        trace::ErrorKind::kUsage,
        checkpoint.string() +
            ": pickle files, which only Python reads: set NANHUNT_PYTHON to one that "
            "has torch, or run: python -m nanhunt.checkpoint " +
            checkpoint.string() + " OUT, and scan OUT");
  }
  folder_ = new_folder();
  const fs::path out = folder_ / "capsule";
  ablate::ChildSpec child{
      {python, "-m", "nanhunt.checkpoint", fs::absolute(checkpoint).string(), out.string()},
      environment(),
      folder_ / "out",
      folder_ / "errors",
      kTimeoutSeconds};
  if (pickles_only) child.words.push_back("--pickles-only");
  const ablate::ChildOutcome outcome = ablate::ChildRunner().run(child);
  if (outcome.end == ablate::ChildEnd::kExited && outcome.status == 0) {
    result_ = read_conversion(out);
    return;
  }
  const std::string said = ablate::tail_of(child.errors, 1);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  if (outcome.end == ablate::ChildEnd::kExited && outcome.status == 3) fail(without_name(said));
  fail(checkpoint.string() + ": " + python +
       " -m nanhunt.checkpoint: " + ablate::describe(outcome) + (said.empty() ? "" : ": " + said));
}

Conversion::~Conversion() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace nanhunt::cli
