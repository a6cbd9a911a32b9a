// SPDX-License-Identifier: Apache-2.0
// Level auto: statistics everywhere, then values around the first bad, by a second run. It says the
// same as level full for a fraction of the bytes (docs/detection.md); and where the second run does
// not fail, the first one's answer stands and the report says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/e2e/verdict_json.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

#ifdef NANHUNT_E2E_ALL

constexpr int kLeastFactor = 20;

// 24 layers; as wide and long as it takes for values to be more than their statistics.
constexpr const char* kDeep = R"(
level = auto
steps = 1

[set]
parallel.tp = 2
model.layers = 24
batch.global = 6
batch.sequence = 256

[thresholds]
calibration_repeats = 3
)";
constexpr const char* kFault = R"(
[fault]
name = row_bias_on_every_rank
layer = 13
)";

uint64_t bytes_of_traces(const fs::path& work) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(work)) {
    if (entry.path().extension() == ".h5") bytes += entry.file_size();
  }
  return bytes;
}

struct Measured {
  Hunted hunted;
  uint64_t bytes = 0;  // of the traces of all runs, of both sides
};

Measured hunt_deep(const std::string& level, const std::string& fault) {
  const ScratchFolder folder;
  const fs::path file = folder / "deep.case";
  write(file, "subject = " + (cases_folder() / "mini.subject").string() + "\n" + kDeep + fault);
  Measured measured;
  measured.hunted = verdict_of(nanhunt(
      {"run", file.string(), "--level", level, "--json", "--out", (folder / "out").string()}));
  measured.bytes = bytes_of_traces(folder / "out");
  return measured;
}

TEST(AutoOn24Layers, SaysWhatFullSaysForATwentiethOfTheBytes) {
  const Measured full = hunt_deep("full", kFault), at_auto = hunt_deep("auto", kFault);
  EXPECT_EQ(full.hunted.place(), "decoder.layers.13.self_attention.linear_proj forward output")
      << full.hunted.describe();
  EXPECT_EQ(full.hunted.signature, "reduced_twice") << full.hunted.describe();
  EXPECT_EQ(at_auto.hunted.place(), full.hunted.place()) << at_auto.hunted.describe();
  EXPECT_EQ(at_auto.hunted.kind, full.hunted.kind);
  EXPECT_EQ(at_auto.hunted.ranks, full.hunted.ranks);
  EXPECT_EQ(at_auto.hunted.rule, full.hunted.rule);
  EXPECT_EQ(at_auto.hunted.signature, full.hunted.signature);
  std::printf("traces of both sides: full %.1f MB, auto %.1f MB (both looks): a factor of %.1f\n",
              static_cast<double>(full.bytes) / 1e6, static_cast<double>(at_auto.bytes) / 1e6,
              static_cast<double>(full.bytes) / static_cast<double>(at_auto.bytes));
  ASSERT_GT(at_auto.bytes, 0U);
  EXPECT_GE(full.bytes, kLeastFactor * at_auto.bytes);
}

// The must-fail twin.
TEST(AutoOn24Layers, IsCleanWhenHealthy) {
  const Measured measured = hunt_deep("auto", "");
  EXPECT_EQ(measured.hunted.status, 0) << measured.hunted.describe();
  EXPECT_GT(measured.hunted.records_compared, 1000);
}

#else

// The bundled subject behind a script that plants a fault in the first failing run alone.
class FailsOnce : public testing::Test {
 protected:
  FailsOnce() {
    std::string subject = read(cases_folder() / "mini.subject");
    const std::string command = "command = ";
    subject.replace(subject.find(command), command.size(),
                    command + "sh " + (data_folder() / "fails_once.sh").string() + " ");
    write(folder_ / "mini.subject", subject);
    write(folder_ / "some.case",
          "subject = mini.subject\nlevel = auto\nsteps = 1\n[set]\nparallel.tp = 2\n"
          "model.layers = 2\n");
    write(fault(), R"({"name": "row_bias_on_every_rank", "layer": 1})");
  }

  std::string fault() const { return (folder_ / "side.json").string(); }
  Ended hunt_with(const Environment& added) const {
    return nanhunt({"run", (folder_ / "some.case").string(), "--out", (folder_ / "out").string()},
                   added);
  }

 private:
  ScratchFolder folder_;
};

TEST_F(FailsOnce, KeepsTheAnswerOfTheFirstRunAndSaysSo) {
  const Ended ended = hunt_with({{"FAULT_ONCE", fault()}});
  EXPECT_EQ(ended.status, 1) << ended.output << ended.errors;
  EXPECT_THAT(ended.output,
              HasSubstr("site:      decoder.layers.1.self_attention.linear_proj, forward, output"));
  EXPECT_THAT(ended.output, HasSubstr("event: the failure did not repeat"));
  EXPECT_THAT(ended.output, HasSubstr("cause:     the failure did not repeat"));
  EXPECT_THAT(ended.errors, HasSubstr("the failure did not repeat"));
}

// The must-fail twin: a failure that comes back is looked at with values, and explained.
TEST_F(FailsOnce, SaysNothingOfTheKindWhereItRepeats) {
  const Ended ended = hunt_with({{"FAULT_ONCE", fault()}, {"NANHUNT_FAULT_FILE", fault()}});
  EXPECT_EQ(ended.status, 1) << ended.output << ended.errors;
  EXPECT_THAT(ended.output,
              HasSubstr("site:      decoder.layers.1.self_attention.linear_proj, forward, output"));
  EXPECT_THAT(ended.output, Not(HasSubstr("did not repeat")));
  EXPECT_THAT(ended.output, HasSubstr("toggles parallel.tp, confirmed both ways"));
}

#endif

}  // namespace
}  // namespace nanhunt::e2e
