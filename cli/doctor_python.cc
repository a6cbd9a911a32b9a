// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_python.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>

#include "ablate/child.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

// One line per fact, "name value"; a module that cannot be imported says why.
constexpr char kQuestions[] = R"(
import platform
print("python", platform.python_version())
try:
    import torch
    import torch.distributed as dist
    print("torch", torch.__version__)
    print("abi", int(torch._C._GLIBCXX_USE_CXX11_ABI))
    names = [name for name in ("gloo", "nccl", "mpi", "ucc")
             if dist.is_available() and getattr(dist, f"is_{name}_available")()]
    print("backends", *names)
    print("cuda", torch.version.cuda or "none", torch.cuda.device_count(), "devices")
except Exception as error:
    print("missing", type(error).__name__ + ":", str(error).splitlines()[0] if str(error) else "")
)";

// A folder that goes when this does.
class Scratch {
 public:
  Scratch() : path_(fs::temp_directory_path() / ("nanhunt-doctor-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

struct Answers {
  std::map<std::string, std::string> facts;
  std::string failure;  // "" when it ran
};

Answers ask(const std::string& python) {
  const Scratch scratch;
  ablate::ChildSpec child{{python, "-c", kQuestions}, {}, scratch / "out", scratch / "errors", 60};
  const ablate::ChildOutcome outcome = ablate::ChildRunner().run(child);
  Answers answers;
  if (outcome.end != ablate::ChildEnd::kExited || outcome.status != 0) {
    const std::string last = ablate::tail_of(child.errors, 1);
    answers.failure = ablate::describe(outcome) + (last.empty() ? "" : ": " + last);
  }
  std::ifstream lines(child.output);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) answers.facts[line.substr(0, space)] = line.substr(space + 1);
  }
  return answers;
}

// "2.11.0+cpu" is 2.11.0.
std::string without_local_part(const std::string& version) {
  return version.substr(0, version.find('+'));
}

PythonLine fit_of(const fs::path& library, const std::string& torch, const std::string& abi) {
  const std::string what = "its recorder";
  const std::string how =
      "; build it for this one: pip install --no-build-isolation ./hooks/python";
  if (library.empty() || !fs::exists(library)) return {what, "no libnanhunt_torch.so" + how, true};
  const std::string needs = built_for_torch(library);
  if (needs != without_local_part(torch)) {
    return {what,
            library.string() + " was built for torch " + (needs.empty() ? "?" : needs) +
                ", this is torch " + torch + how,
            true};
  }
  if (abi != "1")
    return {what, "torch uses the old C++ ABI: install a wheel of torch 2.7 or newer", true};
  return {what, library.string() + " fits"};
}

}  // namespace

std::string built_for_torch(const fs::path& library) {
  std::ifstream file(library, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string mark = "nanhunt built for torch ";
  const size_t at = bytes.find(mark);
  if (at == std::string::npos) return "";
  const size_t first = at + mark.size();
  return bytes.substr(first, bytes.find_first_not_of("0123456789.", first) - first);
}

std::vector<PythonLine> look_at_python(const std::string& python, const fs::path& library) {
  const Answers answers = ask(python);
  if (!answers.failure.empty()) return {{"Python", python + ": " + answers.failure, true}};
  const auto fact = [&](const std::string& name) {
    const auto found = answers.facts.find(name);
    return found == answers.facts.end() ? std::string() : found->second;
  };
  std::vector<PythonLine> lines{{"Python", fact("python") + ", " + python}};
  if (fact("torch").empty()) {
    lines.push_back({"its torch", fact("missing") + "; install it: pip install torch", true});
    return lines;
  }
  lines.push_back({"its torch", fact("torch") + ", CUDA " + fact("cuda")});
  const std::string backends = fact("backends");
  if (backends.empty()) {
    lines.push_back({"its backends", "none: jobs of several ranks cannot run", true});
  } else {
    lines.push_back({"its backends", backends});
  }
  lines.push_back(fit_of(library, fact("torch"), fact("abi")));
  return lines;
}

}  // namespace nanhunt::cli
