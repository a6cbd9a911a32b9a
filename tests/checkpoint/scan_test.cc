// SPDX-License-Identifier: Apache-2.0
// The report: verdicts and exit statuses, text and JSON, and memory that does not grow.
#include "checkpoint/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/checkpoint/small_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::checkpoint::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Report, OpensWithItsCoverage) {
  const ScratchFolder folder;
  Draft draft = healthy_model(1, 1);
  draft.add("ids", "I64", {2}, std::string(16, '\0'));
  draft.write(folder / "model.safetensors");
  write_text(folder / "optimizer.pt", "");
  const Report report = scan_with(folder.path());
  EXPECT_THAT(
      to_text(report),
      StartsWith("Coverage\n  files 1, tensors 7, elements 658, bytes 2640; tensors of each "
                 "type: F32 6, I64 1\n  not read (pickle runs code when it is opened)\n"
                 "    optimizer.pt\n\nVerdict: clean\n"));
  EXPECT_EQ(compare::exit_status(report.kind), 0);
}

TEST(Report, TellsTheFirstFindingsAndCountsTheOthers) {
  const ScratchFolder folder;
  Draft draft;
  for (int layer = 0; layer < 10; ++layer) {
    draft.filled("layers." + std::to_string(layer) + ".weight", {2, 2}, 1.0f);
  }
  draft.set("layers.9.weight", 2, std::numeric_limits<float>::quiet_NaN());
  draft.write(folder / "model.safetensors");
  const std::string text = to_text(scan_with(folder.path()));
  EXPECT_THAT(text, HasSubstr("1. layers.9.weight\n   F32 [2, 2], model.safetensors\n   non_finite "
                              "(proven): 1 of 4 elements\n   first at [1, 0] (element 2): NaN\n"));
  EXPECT_THAT(text, HasSubstr("and 2 further findings; in all: constant 9, non_finite 1\n"));
  EXPECT_THAT(text, HasSubstr("tensor:     layers.9.weight\n"));
  EXPECT_THAT(text, Not(HasSubstr("9. ")));
}

TEST(Report, IsAnObjectInJson) {
  const ScratchFolder folder;
  Draft draft = healthy_model(1, 1);
  draft.set("lm_head.weight", 9, std::numeric_limits<float>::infinity());
  draft.write(folder / "model.safetensors");
  const nlohmann::json json = to_json(scan_with(folder / "model.safetensors"));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["verdict"], "non-finite");
  EXPECT_EQ(json["exit_status"], 1);
  EXPECT_EQ(json["coverage"]["dtypes"]["F32"], 6);
  const nlohmann::json& finding = json["findings"][0];
  EXPECT_EQ(finding["tensor"], "lm_head.weight");
  EXPECT_EQ(finding["first"]["value"], "Inf");
  EXPECT_EQ(finding["first"]["place"], (std::vector<int>{1, 1}));
  EXPECT_EQ(finding["severity"], "proven");
}

TEST(Report, OfNothingIsUnresolved) {
  const ScratchFolder folder;
  Draft().write(folder / "model.safetensors");
  const Report report = scan_with(folder.path());
  EXPECT_EQ(report.kind, compare::VerdictKind::kUnresolved);
  EXPECT_THAT(to_text(report), HasSubstr("Verdict: unresolved: no element in any tensor"));
  EXPECT_EQ(compare::exit_status(report.kind), 125);
}

TEST(Report, DoesNotComeOfHalfTheData) {
  const ScratchFolder folder;
  Draft().random("a", {4, 4}, 1).write(folder / "rank-0.safetensors");
  Draft().random("a", {4, 4}, 1).write(folder / "rank-1.safetensors");
  fs::resize_file(folder / "rank-1.safetensors", fs::file_size(folder / "rank-1.safetensors") - 1);
  EXPECT_THAT(error_text([&] { scan_with(folder.path()); }),
              HasSubstr("rank-1.safetensors: tensor a: reaches out of the file"));
}

int64_t peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Memory, DoesNotGrowWithTheFile) {
  const ScratchFolder folder;
  constexpr int64_t kElements = int64_t{1} << 27;  // 256 MiB that the disk does not hold
  const auto path = folder / "model.safetensors";
  write_raw(path,
            R"({"embed.weight":{"dtype":"BF16","shape":[134217728],"data_offsets":[0,268435456]}})",
            0);
  fs::resize_file(path, fs::file_size(path) + 2 * kElements);
  Draft().random("a", {4, 4}, 1).write(folder / "small/model.safetensors");
  scan_with(folder / "small");
  const int64_t before = peak_kilobytes();
  EXPECT_EQ(scan_with(path).coverage.elements, kElements);
  EXPECT_LT(peak_kilobytes() - before, 16 * 1024);
  // The twin: what holds the file does grow.
  const std::vector<char> whole(2 * kElements, 1);
  EXPECT_GT(peak_kilobytes() - before, 200 * 1024) << int{whole.back()};
}

}  // namespace
}  // namespace nanhunt::checkpoint::test
