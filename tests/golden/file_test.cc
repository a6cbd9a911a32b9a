// SPDX-License-Identifier: Apache-2.0
#include "golden/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

#include "golden/content.h"
#include "golden/export.h"
#include "tests/compare/small_model.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::golden {
namespace {

using testing::HasSubstr;
using testing::Not;

Golden small_golden() {
  std::deque<compare::test::TraceBuilder> builders;
  std::vector<compare::TraceSource> sources;
  for (uint64_t seed = 1; seed < 4; ++seed)
    builders.push_back(compare::test::build({.tp = 2, .noise = 1e-5, .noise_seed = seed}));
  for (const auto& builder : builders) sources.push_back(builder.source());
  return export_runs(sources, compare::test::thresholds(), {});
}

class GoldenFile : public testing::Test {
 protected:
  void SetUp() override { written_ = write_golden(golden_, path_); }

  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // "" when the text is read, else the error.
  std::string refusal(const std::string& text) const {
    const auto path = folder_.path() / "other.json";
    std::ofstream(path, std::ios::binary) << text;
    try {
      read_golden(path);
    } catch (const trace::Error& error) {
      EXPECT_EQ(error.kind(), trace::ErrorKind::kUnreadable);
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      return error.what();
    }
    return "";
  }

  ScratchFolder folder_;
  std::filesystem::path path_ = folder_.path() / "golden.json";
  Golden golden_ = small_golden();
  Written written_;
};

TEST_F(GoldenFile, RoundTrips) {
  EXPECT_EQ(refusal(text()), "");
  EXPECT_EQ(to_json(read_golden(path_)), to_json(golden_));
  EXPECT_EQ(static_cast<size_t>(written_.bytes), text().size());
  EXPECT_TRUE(nlohmann::json::accept(text()));
}

TEST_F(GoldenFile, AFlippedByteIsRefused) {
  const std::string whole = text();
  // Everywhere but in the number of the version, where it is another version.
  for (size_t i = 20; i < whole.size(); i += 97) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    EXPECT_NE(refusal(flipped), "") << i;
  }
  std::string spaced = whole;
  spaced.insert(whole.size() - 2, " ");
  EXPECT_THAT(refusal(spaced), HasSubstr("changed since it was exported"));
}

TEST_F(GoldenFile, ATruncatedOneIsRefused) {
  const std::string whole = text();
  EXPECT_THAT(refusal(whole.substr(0, whole.size() / 2)), HasSubstr("cut short"));
  EXPECT_NE(refusal(whole.substr(0, whole.size() - 1)), "");
  EXPECT_NE(refusal(whole.substr(0, 30)), "");
  EXPECT_NE(refusal(""), "");
}

TEST_F(GoldenFile, ANewerOneIsRefused) {
  std::string newer = text();
  newer.replace(newer.find(":1,"), 3, ":2,");
  EXPECT_THAT(refusal(newer), HasSubstr("newer nanhunt (version 2"));
}

TEST_F(GoldenFile, ForeignOnesAreRefused) {
  EXPECT_THAT(refusal("{\"a\": 1}\n"), HasSubstr("not a golden file"));
  EXPECT_THROW(read_golden(folder_.path() / "absent.json"), trace::Error);
  EXPECT_THROW(read_golden(folder_.path()), trace::Error);
}

}  // namespace
}  // namespace nanhunt::golden
