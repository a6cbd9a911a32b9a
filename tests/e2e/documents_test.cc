// SPDX-License-Identifier: Apache-2.0
// What README and documents quote of a hunt is what it prints; without the fault it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/algorithm/string/replace.hpp>

#include "tests/e2e/program.h"
#include "tests/e2e/quoted_output.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

struct Quoted {
  const char* name;
  const char* document;
  const char* program;  // as the document calls it
  const char* verb;
  const char* the_case;
};

void PrintTo(const Quoted& quoted, std::ostream* out) {
  *out << quoted.name;
}

class Documents : public testing::TestWithParam<Quoted> {
 protected:
  // Empty when all that is quoted is printed.
  std::string not_printed(const std::vector<std::string>& more) {
    const Quoted& quoted = GetParam();
    const auto block =
        quoted_after(read(cases_folder().parent_path() / quoted.document),
                     joined({quoted.program, quoted.verb, "cases/"}) + quoted.the_case);
    EXPECT_TRUE(block.has_value());
    const ScratchFolder folder;
    const fs::path file = cases_folder() / quoted.the_case,
                   out = folder.path() / "nanhunt-out" / (file.filename().string() + "-00000000");
    std::vector<std::string> words{quoted.verb, file.string(), "--out", out.string()};
    words.insert(words.end(), more.begin(), more.end());
    printed_ = nanhunt(words);
    boost::replace_all(printed_.output, folder.path().string() + "/", "");
    return first_not_printed(block.value_or("no such block"), printed_.output);
  }

  Ended printed_;
};

TEST_P(Documents, QuoteWhatIsPrinted) {
  EXPECT_EQ(not_printed({}), "") << printed_.output << printed_.errors;
}

TEST_P(Documents, QuoteNothingThatAHealthyRunPrints) {
  EXPECT_NE(not_printed({"--healthy"}), "") << printed_.output;
}

INSTANTIATE_TEST_SUITE_P(
    All, Documents,
    testing::Values(
        Quoted{"readme", "README.md", "./dev", "run", "b01_norm_grad_not_summed"},
        Quoted{"resume", "docs/repro.md", "nanhunt", "repro", "resume/b33_step_not_restored"},
        Quoted{"again", "docs/repro.md", "nanhunt", "repro", "again/masks_from_clock"},
        Quoted{"renamed", "docs/repro.md", "nanhunt", "repro", "upgrade/parameter_renamed"},
        Quoted{"optimizer", "docs/repro.md", "nanhunt", "repro", "upgrade/optimizer_not_loaded"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace nanhunt::e2e
