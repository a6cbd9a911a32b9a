// SPDX-License-Identifier: Apache-2.0
// What users and the world do wrong: a clear message, the right exit status, no text of HDF5, and
// nothing half-written that looks whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "tests/e2e/small_disk.h"
#include "tests/e2e/verdict_json.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kUsage = 2, kUnreadable = 3, kMachine = 4, kCannotTell = 125;

struct Refusal {
  std::string name;
  std::vector<std::string> words;
  int status;
  std::string message;
};

void expect_refusal(const Ended& ended, int status, const std::string& message) {
  EXPECT_EQ(ended.status, status) << ended.output << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr(message));
  EXPECT_THAT(ended.errors + ended.output, Not(HasSubstr("HDF5-DIAG")));
}

std::string bundled(const std::string& name) {
  return (cases_folder() / name).string();
}

// ---- the command line

class CommandLine : public testing::TestWithParam<Refusal> {};

TEST_P(CommandLine, IsRefused) {
  const ScratchFolder work;
  std::vector<std::string> words = GetParam().words;
  if (words.front() == "run" || words.front() == "capture")
    words.insert(words.end(), {"--out", (work / "out").string()});
  expect_refusal(nanhunt(words), GetParam().status, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Words, CommandLine,
    testing::Values(
        Refusal{"command", {"rnu", "x"}, kUsage, "no command 'rnu'; did you mean 'run'?"},
        Refusal{"option",
                {"run", bundled("clean.case"), "--stepss", "3"},
                kUsage,
                "unknown option '--stepss'; did you mean '--steps'?"},
        Refusal{"trigger",
                {"capture", bundled("clean.case"), "--ring", "2", "--trigger", "nonfinite,los>2x"},
                kUsage,
                "--trigger: no trigger 'los>2x'"},
        Refusal{"trigger_without_ring",
                {"capture", bundled("clean.case"), "--trigger", "exit"},
                kUsage,
                "--trigger needs --ring"},
        Refusal{"ring",
                {"capture", bundled("clean.case"), "--ring", "0"},
                kUsage,
                "--ring is not positive"},
        Refusal{"toggle",
                {"run", bundled("clean.case"), "--set", "layout.ps=on"},
                kUsage,
                "unknown toggle 'layout.ps'; did you mean 'layout.sp'?"},
        Refusal{"value",
                {"run", bundled("clean.case"), "--set", "parallel.tp=3"},
                kUsage,
                "parallel.tp cannot be '3'; it may be: 1 2 4"},
        Refusal{"case", {"run", bundled("claen")}, kUsage, "clean'?"},
        Refusal{
            "layout",
            {"run", bundled("clean.case"), "--set", "model.heads=3", "--set", "model.hidden=48"},
            kUsage,
            "heads 3 is not divisible by tp 2"},
        Refusal{"trace", {"scan", "/no/such/folder"}, kUnreadable, "no such folder"}),
    [](const auto& one) { return one.param.name; });

// ---- case files

class CaseFile : public testing::TestWithParam<Refusal> {};

TEST_P(CaseFile, IsRefusedWithItsLine) {
  const ScratchFolder folder;
  fs::copy_file(cases_folder() / "mini.subject", folder / "mini.subject");
  std::string text = "subject = mini.subject\n";
  for (const std::string& line : GetParam().words) text += line + "\n";
  write(folder / "some.case", text);
  expect_refusal(nanhunt({"run", (folder / "some.case").string()}), GetParam().status,
                 "some.case:" + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, CaseFile,
    testing::Values(
        Refusal{"key", {"levle = auto"}, kUsage, "2: unknown key 'levle'; did you mean 'level'?"},
        Refusal{"form", {"steps = 3", "this is no line"}, kUsage, "3: "},
        Refusal{"number", {"steps = many"}, kUsage, "2: "},
        Refusal{"toggle", {"[set]", "layout.ps = on"}, kUsage, "3: unknown toggle 'layout.ps'"}),
    [](const auto& one) { return one.param.name; });

// ---- traces

// A healthy trace of two ranks and one step.
class BrokenTrace : public testing::Test {
 protected:
  BrokenTrace() : trace_(folder_ / "trace") {
    const Ended ended =
        run({(build_folder() / "cases/mini/mini").string(), "--steps=1", "--tp=2", "--layers=1"},
            {{"NANHUNT_CAPTURE", R"({"level": "stats", "out": ")" + trace_.string() + "\"}"}});
    EXPECT_EQ(ended.status, 0) << ended.errors;
  }

  Ended scan() const { return nanhunt({"scan", trace_.string()}); }
  std::vector<fs::path> segments(const std::string& rank) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(trace_ / "step-000000")) {
      if (entry.path().filename().string().starts_with("rank-0000" + rank)) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  ScratchFolder folder_;
  fs::path trace_;
};

TEST_F(BrokenTrace, WholeOneIsClean) {
  EXPECT_EQ(scan().status, 0);
}

TEST_F(BrokenTrace, MissingRankIsNamed) {
  for (const fs::path& file : segments("1")) fs::remove(file);
  const Ended ended = scan();
  EXPECT_EQ(ended.status, kUnreadable);
  EXPECT_THAT(ended.output, HasSubstr("rank 1 wrote nothing"));
}

TEST_F(BrokenTrace, TruncatedSegmentIsNamed) {
  const fs::path file = segments("1").front();
  fs::resize_file(file, 3000);
  expect_refusal(scan(), kUnreadable,
                 file.filename().string() + " (rank 1, step 0): truncated: 3000");
}

TEST_F(BrokenTrace, ForeignFileIsNamed) {
  const fs::path file = segments("0").front();
  write(file, std::string(5000, 'x'));
  expect_refusal(scan(), kUnreadable,
                 file.filename().string() + " (rank 0, step 0): not an HDF5 file");
}

TEST_F(BrokenTrace, NewerTraceIsNamed) {
  const std::string file = segments("0").front().string();
  const Ended changed =
      run({"/usr/bin/python3", "-c",
           "import h5py, sys\n"
           "with h5py.File(sys.argv[1], 'r+') as f: f.attrs['version'] = [99, 0]\n",
           file});
  ASSERT_EQ(changed.status, 0) << changed.errors;
  const Ended ended = scan();
  expect_refusal(ended, kUnreadable, "newer");
  EXPECT_THAT(ended.errors, HasSubstr("99"));
}

// ---- subjects

// The bundled subject behind one of the scripts in data/.
Ended run_behind(const std::string& script, const ScratchFolder& folder,
                 const std::vector<std::string>& more = {}) {
  std::string subject = read(cases_folder() / "mini.subject");
  const std::string command = "command = ";
  const size_t at = subject.find(command) + command.size();
  subject.insert(at, "sh " + (data_folder() / script).string() + " ");
  write(folder / "mini.subject", subject);
  fs::copy_file(cases_folder() / "clean.case", folder / "some.case");
  std::vector<std::string> words = {"run",   (folder / "some.case").string(), "--steps", "1",
                                    "--out", (folder / "out").string()};
  words.insert(words.end(), more.begin(), more.end());
  return nanhunt(words);
}

TEST(Subject, ThatCrashesIsNamed) {
  const ScratchFolder folder;
  expect_refusal(run_behind("crashes.sh", folder), kUnreadable,
                 "failing side left no trace: killed by SIGSEGV");
  EXPECT_FALSE(fs::exists(folder / "out/verdict.json"));
}

TEST(Subject, ThatIsKilledIsNamedWithItsLastWords) {
  const ScratchFolder folder;
  expect_refusal(run_behind("is_killed.sh", folder), kUnreadable,
                 "failing side left no trace: killed by SIGKILL: working");
}

TEST(Subject, ThatHangsIsEnded) {
  const ScratchFolder folder;
  expect_refusal(run_behind("hangs.sh", folder, {"--timeout", "0.5"}), kUnreadable,
                 "no end within its time limit");
}

TEST(Subject, ThatIgnoresAToggleIsToldSo) {
  const ScratchFolder folder;
  const Ended ended = run_behind("ignores_toggle.sh", folder);
  EXPECT_EQ(ended.status, kCannotTell) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("layout.sp was asked to be on, the trace shows off"));
}

// ---- a full disk

// Kilobytes: full in the first runs, late in them, in the calibration.
class FullDisk : public testing::TestWithParam<int> {};

TEST_P(FullDisk, IsSaidAndLeavesNoTornSegment) {
  const SmallDisk disk(GetParam());
  if (!disk.mounted()) GTEST_SKIP() << "only root may mount a small disk";
  const Ended ended =
      nanhunt({"run", bundled("clean.case"), "--steps", "1", "--out", (disk / "out").string()});
  expect_refusal(ended, kMachine, "No space left on device");
  int segments = 0;
  for (const auto& entry : fs::recursive_directory_iterator(disk / "out")) {
    if (entry.path().extension() != ".h5") continue;
    ++segments;
    EXPECT_EQ(run({"/usr/bin/h5ls", entry.path().string()}).status, 0) << entry.path();
  }
  EXPECT_GT(segments, 0);
  EXPECT_FALSE(fs::exists(disk / "out/verdict.json"));
}

INSTANTIATE_TEST_SUITE_P(Kilobytes, FullDisk, testing::Values(512, 1024, 1280, 1536));

}  // namespace
}  // namespace nanhunt::e2e
