// SPDX-License-Identifier: Apache-2.0
#include "ablate/case_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/ablate/test_subject.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

namespace fs = std::filesystem;

class CaseFile : public ::testing::Test {
 protected:
  CaseFile() { write("job.subject", kSubjectText); }

  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string message_of(const std::string& text) {
    const fs::path file = write("a.case", text);
    try {
      read_case(file);
    } catch (const trace::Error& error) {
      std::string message = error.what();
      const std::string prefix = folder_.path().string() + "/";
      if (message.starts_with(prefix)) message.erase(0, prefix.size());
      return message;
    }
    return "no error";
  }

  const ScratchFolder folder_;
};

TEST_F(CaseFile, AsksItsQuestion) {
  EXPECT_EQ(read_case(write("a.case", "subject = job.subject\n")).repro, Question::kResume);
  EXPECT_EQ(read_case(write("a.case", "subject = job.subject\nrepro = upgrade\n")).repro,
            Question::kUpgrade);
  EXPECT_EQ(message_of("subject = job.subject\nrepro = upgrad\n"),
            "a.case:2: repro is 'upgrad'; it may be: resume layouts again upgrade; did you mean "
            "'upgrade'?");
}

TEST_F(CaseFile, ReadsBothSides) {
  const Case the_case = read_case(write("a.case",
                                        "subject = job.subject\nlevel = full\nsteps = 2\n"
                                        "[set]\nparallel.tp = 2\nseed = 9\n"
                                        "[reference]\nprecision.fp8 = on\n"
                                        "[thresholds]\nsome.key = 0.5\n"));
  EXPECT_EQ(the_case.name, "a");
  EXPECT_EQ(the_case.level, CaseLevel::kFull);
  EXPECT_EQ(the_case.steps, 2);
  EXPECT_EQ(the_case.timeout_s, 5);
  EXPECT_EQ(the_case.failing.at("parallel.tp"), "2");
  EXPECT_EQ(the_case.reference.at("parallel.tp"), "1");
  EXPECT_EQ(the_case.reference.at("seed"), "9");  // parameters are shared
  EXPECT_EQ(the_case.reference.at("precision.fp8"), "on");
  EXPECT_EQ(the_case.failing.at("precision.fp8"), "off");
  EXPECT_EQ(the_case.thresholds.at("some.key"), 0.5);
}

TEST_F(CaseFile, NamesTheLineOfWhatDoesNotFit) {
  EXPECT_EQ(message_of("subject = job.subject\n[set]\nparalel.tp = 2\n"),
            "a.case:3: unknown toggle 'paralel.tp'; did you mean 'parallel.tp'?");
  EXPECT_EQ(message_of("subject = job.subject\nlevel = stat\n"),
            "a.case:2: level is 'stat'; it may be: stats full auto; did you mean 'stats'?");
  EXPECT_EQ(message_of("subject = job.subject\nsteps = 0\n"), "a.case:2: steps is not positive");
  EXPECT_EQ(message_of("steps = 2\n"), "a.case: no subject");
  EXPECT_EQ(message_of("subject = job.subject\n"), "no error");
}

TEST_F(CaseFile, SaysHowCurvesAreJudged) {
  const std::string text = "subject = job.subject\n";
  const Case plain = read_case(write("a.case", text));
  EXPECT_FALSE(plain.convergence.seeds.has_value());
  const Case the_case =
      read_case(write("a.case", text + "[convergence]\nseeds = 5\nsame = 9\n"
                                       "steps = 60\nmargin = 2sd late_loss=0.1\n"
                                       "metrics = late_loss whole_loss\nloss = critic\n"));
  EXPECT_EQ(the_case.convergence.seeds, 5);
  EXPECT_EQ(the_case.convergence.same, 9);
  EXPECT_EQ(the_case.convergence.steps, 60);
  EXPECT_EQ(the_case.convergence.margin, (std::vector<std::string>{"2sd", "late_loss=0.1"}));
  EXPECT_EQ(the_case.convergence.metrics, (std::vector<std::string>{"late_loss", "whole_loss"}));
  EXPECT_EQ(the_case.convergence.loss, "critic");
  EXPECT_EQ(message_of(text + "[convergence]\nseeds = many\n").substr(0, 9), "a.case:3:");
  EXPECT_EQ(message_of(text + "[convergence]\nsame = -1\n"),
            "a.case:3: convergence.same is negative");
}

TEST_F(CaseFile, IsTheSameWithAndWithoutFaultAndExpectation) {
  const std::string text = "subject = job.subject\n[set]\nparallel.tp = 2\n";
  const Case plain = read_case(write("a.case", text));
  const Case planted = read_case(
      write("b.case", text + "[fault]\nname = x\nlayer = draw 0..3\n[expect]\nsite = y\n"));
  EXPECT_EQ(plain.failing, planted.failing);
  EXPECT_EQ(plain.reference, planted.reference);
  EXPECT_EQ(plain.steps, planted.steps);
}

TEST_F(CaseFile, IsFoundWithoutItsEnding) {
  write("a.case", "subject = job.subject\n");
  EXPECT_EQ(find_case((folder_ / "a").string()), folder_ / "a.case");
  EXPECT_EQ(find_case((folder_ / "a.case").string()), folder_ / "a.case");
  EXPECT_THROW(find_case((folder_ / "b").string()), trace::Error);
}

TEST_F(CaseFile, TakesSettingsOfTheCommandLine) {
  Case the_case = read_case(write("a.case", "subject = job.subject\n[set]\nparallel.tp = 2\n"));
  apply_setting(the_case, "parallel.tp=4");
  apply_setting(the_case, "seed=3");
  EXPECT_EQ(the_case.failing.at("parallel.tp"), "4");
  EXPECT_EQ(the_case.reference.at("parallel.tp"), "1");
  EXPECT_EQ(the_case.reference.at("seed"), "3");
  EXPECT_THROW(apply_setting(the_case, "parallel.tp"), trace::Error);
}

}  // namespace
}  // namespace nanhunt::ablate
