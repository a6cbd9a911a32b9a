// SPDX-License-Identifier: Apache-2.0
// What `nanhunt doctor` looks at in a Python environment: whether torch is there, and whether the
// recorder's library fits it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nanhunt::cli {

struct PythonLine {
  std::string what;
  std::string value;
  bool problem = false;  // `value` says what to do about it
};

// Runs `python` once (at most a minute) and reads `library` without loading it. An empty `library`:
// none was built.
std::vector<PythonLine> look_at_python(const std::string& python,
                                       const std::filesystem::path& library);

// "2.11.0": the version of torch that the file was built for; "" when it does not say.
std::string built_for_torch(const std::filesystem::path& library);

}  // namespace nanhunt::cli
