// SPDX-License-Identifier: Apache-2.0
// What a capture costs, from a small trace written here.
#include "cli/capture_price.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/scratch_folder.h"

namespace nanhunt::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Price : public testing::Test {
 protected:
  // Two records of 8 and 4 BF16 elements for each of two ranks.
  void write_step(int64_t step) const {
    for (const int32_t rank : {0, 1}) {
      trace::Segment segment;
      segment.step = step;
      segment.rank = rank;
      segment.facts.rank = rank;
      segment.facts.world_size = 2;
      segment.facts.host = "host";
      for (const int64_t size : {8, 4}) {
        trace::Record record;
        record.what.step = step;
        record.what.site = "site";
        record.where.rank = rank;
        record.where.sequence = std::ssize(segment.records);
        record.storage = trace::DType::kBFloat16;
        record.local_shape = {size};
        segment.records.push_back(record);
      }
      segment.values.resize(segment.records.size());
      trace::write_segment(folder_.path(), segment);
    }
  }

  const ScratchFolder folder_;
};

TEST_F(Price, CountsOneStepOfOneRank) {
  write_step(0);
  write_step(1);
  const CapturePrice price = price_of(trace::TraceReader(folder_.path()));
  const std::filesystem::path file = trace::segment_path(folder_.path(), {1, 0, 0});
  EXPECT_EQ(price.ranks, 2);
  EXPECT_EQ(price.records, 2);
  EXPECT_EQ(price.tensor_bytes, 24);
  EXPECT_EQ(price.stats_bytes, static_cast<int64_t>(std::filesystem::file_size(file)));
  EXPECT_EQ(price.full_bytes(), price.stats_bytes + 24);
  EXPECT_GT(price.rate, 0);
}

TEST_F(Price, OneStepAloneTellsNoTime) {
  write_step(0);
  const CapturePrice price = price_of(trace::TraceReader(folder_.path()));
  EXPECT_EQ(price.step_seconds, 0);
  EXPECT_EQ(price.step_factor(), 0);
  EXPECT_THAT(to_text(price, {}), HasSubstr("cannot be told"));
}

CapturePrice example() {
  CapturePrice price;
  price.records = 10;
  price.stats_bytes = 2048;
  price.tensor_bytes = 1000;
  price.ranks = 4;
  price.step_seconds = 2;
  price.rate = 2000;
  return price;
}

TEST(PriceFigures, FactorIsTheStepAgainstTheStepWithoutThePass) {
  CapturePrice price = example();
  EXPECT_DOUBLE_EQ(price.step_factor(), 2 / 1.5);
  price.sharing = 2;  // two ranks a processor: each waits for the other's pass
  EXPECT_DOUBLE_EQ(price.step_factor(), 2);
  price.sharing = 4;
  EXPECT_EQ(price.step_factor(), 0) << "the pass cannot take the whole step";
}

TEST(PriceFigures, EachLineSaysHowItIsKnown) {
  const std::string text = to_text(example(), {.steps = 3});
  EXPECT_THAT(text, HasSubstr("bytes in all, stats: 24.0 KiB (estimated: 3 steps, 4 ranks)\n"));
  for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_THAT(text.substr(at, end - at),
                testing::AnyOf(HasSubstr(" (measured: "), HasSubstr(" (estimated: ")));
  EXPECT_THAT(text, Not(HasSubstr("ring")));
  EXPECT_THAT(to_text(example(), {.steps = 3, .ring = 2}),
              HasSubstr("memory of the ring per rank, stats: 6.0 KiB (estimated: 2 steps"));
}

TEST(PriceFigures, JsonHasTheSame) {
  const nlohmann::json json = to_json(example(), {.steps = 3});
  EXPECT_EQ(json["records"]["value"], 10);
  EXPECT_EQ(json["stats_bytes_in_all"]["value"], 3 * 4 * 2048);
  EXPECT_EQ(json["stats_bytes_in_all"]["how"], "estimated");
  EXPECT_FALSE(json.contains("ring_stats_bytes"));
}

}  // namespace
}  // namespace nanhunt::cli
