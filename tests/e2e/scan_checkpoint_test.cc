// SPDX-License-Identifier: Apache-2.0
// `nanhunt scan CHECKPOINT` as a user starts it: what it takes, exit statuses, and what it refuses.
// Files are written here byte by byte, without the reader that is tested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr int kClean = 0, kFinding = 1, kUsage = 2, kUnreadable = 3, kCannotTell = 125;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One FP32 weight of 2 x 3.
std::string file_of(const std::string& name, const std::vector<float>& values) {
  const std::string header =
      "{\"" + name + R"(":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
  const uint64_t length = header.size();
  std::string bytes(8 + header.size() + 24, '\0');
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  std::memcpy(bytes.data() + 8 + header.size(), values.data(), 24);
  return bytes;
}

const std::vector<float> kHealthy = {1, -2, 3, 0.5f, 0, 7};
const std::vector<float> kLater = {1.5f, -2, 3, 0.5f, 0, 7};

class ScanCheckpoint : public testing::Test {
 protected:
  // Pickle files are empty ones here, which a Python refuses (tests/python/test_scan_pickles.py).
  ScanCheckpoint() { ::unsetenv("NANHUNT_PYTHON"); }
  void put(const std::string& name, const std::vector<float>& values,
           const std::string& tensor = "proj.weight") {
    write(folder_ / name, file_of(tensor, values));
  }
  Ended scan(const std::string& name, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"scan", (folder_ / name).string()});
    return nanhunt(more);
  }
  ScratchFolder folder_;
};

TEST_F(ScanCheckpoint, TakesAFileAFolderAndAFolderAbove) {
  put("run/checkpoint-500/model.safetensors", kHealthy);
  write(folder_ / "run/checkpoint-500/optimizer.pt", "");
  for (const char* name : {"run", "run/checkpoint-500", "run/checkpoint-500/model.safetensors"}) {
    const Ended ended = scan(name);
    EXPECT_EQ(ended.status, kClean) << ended.errors;
    EXPECT_THAT(ended.output, HasSubstr("files 1, tensors 1, elements 6, bytes 24"));
    EXPECT_THAT(ended.output, HasSubstr("Verdict: clean"));
  }
  EXPECT_THAT(scan("run").output, HasSubstr("    checkpoint-500/optimizer.pt\n"));
}

TEST_F(ScanCheckpoint, NanIsAFinding) {
  put("model.safetensors", {1, -2, 3, 0.5f, kNan, 7});
  const Ended ended = scan("model.safetensors");
  EXPECT_EQ(ended.status, kFinding);
  EXPECT_THAT(ended.output, HasSubstr("non_finite (proven): 1 of 6 elements\n"
                                      "   first at [1, 1] (element 4): NaN\n"));
  const json told = json::parse(scan("model.safetensors", {"--json"}).output);
  EXPECT_EQ(told["verdict"], "non-finite");
  EXPECT_EQ(told["findings"][0]["first"]["index"], 4);
}

TEST_F(ScanCheckpoint, HoldsItAgainstAnOlderOne) {
  put("older.safetensors", kHealthy);
  put("newer.safetensors", kLater);
  const std::string older = folder_ / "older.safetensors";
  EXPECT_EQ(scan("newer.safetensors", {"--before", older}).status, kClean);
  const Ended same = scan("older.safetensors", {"--before", older});
  EXPECT_EQ(same.status, kFinding);
  EXPECT_THAT(same.output, HasSubstr("nothing_moved (suspicious)"));
}

TEST_F(ScanCheckpoint, CopiesAreToldByRules) {
  put("rank-0.safetensors", kHealthy);
  put("rank-1.safetensors", kLater);
  EXPECT_EQ(scan("").status, kClean);
  write(folder_ / "r.json", R"({"replicated": ["proj.*"]})");
  const Ended ended = scan("", {"--rules", (folder_ / "r.json").string()});
  EXPECT_EQ(ended.status, kFinding);
  EXPECT_THAT(ended.output, HasSubstr("first at [0, 0] (element 0): 1 against 1.5"));
}

TEST_F(ScanCheckpoint, BadFilesGiveNoVerdict) {
  put("rank-0.safetensors", {kNan, kNan, kNan, kNan, kNan, kNan});
  write(folder_ / "rank-1.safetensors", file_of("proj.weight", kHealthy).substr(0, 90));
  const Ended ended = scan("");
  EXPECT_EQ(ended.status, kUnreadable);
  EXPECT_EQ(ended.output, "");
  EXPECT_THAT(ended.errors, HasSubstr("rank-1.safetensors: tensor proj.weight: reaches out of the "
                                      "file"));
  EXPECT_EQ(scan("", {"--bisect"}).status, kCannotTell);
}

TEST_F(ScanCheckpoint, WhatIsNeitherIsUsage) {
  write(folder_ / "empty/notes.txt", "");
  write(folder_ / "pickles/pytorch_model.bin", "");
  for (const char* name : {"empty", "empty/notes.txt"}) {
    const Ended ended = scan(name);
    EXPECT_EQ(ended.status, kUsage);
    EXPECT_THAT(ended.errors, HasSubstr("neither a trace (step-*/rank-*.h5) nor a checkpoint "
                                        "(*.safetensors)\n"));
  }
  const Ended pickles = scan("pickles");
  EXPECT_EQ(pickles.status, kUsage);
  EXPECT_THAT(pickles.errors, HasSubstr("pickles: pickle files, which only Python reads: set "
                                        "NANHUNT_PYTHON"));
  put("good.safetensors", kHealthy);
  const Ended ended = scan("good.safetensors", {"--before", (folder_ / "empty").string()});
  EXPECT_EQ(ended.status, kUsage);
  EXPECT_THAT(ended.errors, HasSubstr("--before: "));
}

TEST_F(ScanCheckpoint, OptionsOfTracesAreRefused) {
  put("good.safetensors", kHealthy);
  const Ended ended = scan("good.safetensors", {"--no-replay"});
  EXPECT_EQ(ended.status, kUsage);
  EXPECT_THAT(ended.errors, HasSubstr("--no-replay is for traces, and this is a checkpoint"));
  fs::create_directories(folder_ / "trace/step-000000");
  write(folder_ / "trace/step-000000/rank-00000.000.h5", "");
  EXPECT_EQ(scan("trace").status, kUnreadable) << "left to the reader of traces";
  EXPECT_THAT(scan("trace").errors, HasSubstr("(rank 0, step 0): truncated"));
}

}  // namespace
}  // namespace nanhunt::e2e
