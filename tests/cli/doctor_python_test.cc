// SPDX-License-Identifier: Apache-2.0
// What is said of a Python environment, by programs that answer like one.
#include "cli/doctor_python.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DoctorPython : public testing::Test {
 protected:
  std::string python(const std::string& prints, int status = 0) const {
    const fs::path program = folder_ / "python";
    std::ofstream(program) << "#!/bin/sh\nprintf '" << prints << "'\nexit " << status << "\n";
    fs::permissions(program, fs::perms::owner_all);
    return program.string();
  }

  fs::path library(const std::string& version) const {
    const fs::path file = folder_ / "libnanhunt_torch.so";
    std::ofstream(file, std::ios::binary)
        << "\x7f"
        << "ELF" << '\0' << "nanhunt built for torch " << version << '\0';
    return file;
  }

  const ScratchFolder folder_;
};

constexpr char kTorch[] =
    "python 3.11.2\\ntorch 2.11.0+cpu\\nabi 1\\nbackends gloo\\ncuda none 0\\n";

std::string problems(const std::vector<PythonLine>& lines) {
  std::string text;
  for (const PythonLine& line : lines) text += line.problem ? line.what + ": " + line.value : "";
  return text;
}

TEST_F(DoctorPython, AFittingLibraryIsNoProblem) {
  const auto lines = look_at_python(python(kTorch), library("2.11.0"));
  EXPECT_EQ(problems(lines), "");
  EXPECT_THAT(lines.back().value, HasSubstr("fits"));
}

TEST_F(DoctorPython, AnotherVersionIsNamedWithBothAndWhatToDo) {
  const std::string said = problems(look_at_python(python(kTorch), library("2.10.0")));
  EXPECT_THAT(said, HasSubstr("built for torch 2.10.0, this is torch 2.11.0+cpu"));
  EXPECT_THAT(said, HasSubstr("pip install"));
}

TEST_F(DoctorPython, WithoutTorchThatIsToBeInstalled) {
  const std::string said = problems(look_at_python(
      python("python 3.11.2\\nmissing ModuleNotFoundError: No module named torch\\n"),
      library("2.11.0")));
  EXPECT_THAT(said, HasSubstr("No module named torch; install it: pip install torch"));
}

TEST_F(DoctorPython, WithoutALibraryThatIsToBeBuilt) {
  EXPECT_THAT(problems(look_at_python(python(kTorch), folder_ / "nothing")),
              HasSubstr("no libnanhunt_torch.so"));
}

TEST_F(DoctorPython, WithoutBackendsSeveralRanksCannotRun) {
  EXPECT_THAT(
      problems(look_at_python(python("python 3\\ntorch 2.11.0\\nabi 1\\n"), library("2.11.0"))),
      HasSubstr("several ranks cannot run"));
}

TEST_F(DoctorPython, APythonThatCannotRunIsSaidOnce) {
  const auto lines = look_at_python((folder_ / "no_such_python").string(), library("2.11.0"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(problems(lines), HasSubstr("no_such_python"));
  EXPECT_THAT(problems(look_at_python(python("", 3), library("2.11.0"))),
              HasSubstr("exit status 3"));
}

}  // namespace
}  // namespace nanhunt::cli
