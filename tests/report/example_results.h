// SPDX-License-Identifier: Apache-2.0
// Results as the commands leave them, made by hand.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "report/result.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::report::test {

compare::Verdict clean_verdict();
compare::Verdict nan_verdict();         // Inf and NaN among its numbers and losses
compare::Verdict divergence_verdict();  // a norm's gradient that differs on two ranks

// What a hunt adds: a cause, and trials.
HuntResult run_result();
// Each text of it tries to leave its place in the page.
HuntResult hostile_result();

// A scratch folder, and files in it.
class Folder {
 public:
  const std::filesystem::path& path() const { return scratch_.path(); }
  std::filesystem::path write(const std::string& name, const std::string& text) const;

 private:
  ScratchFolder scratch_;
};

// The same as written to verdict.json and read again.
HuntResult through_files(const HuntResult& result);
size_t count(const std::string& text, const std::string& part);
// That name, and then markup that would run if it were not text.
std::string hostile(const std::string& name);

}  // namespace nanhunt::report::test
