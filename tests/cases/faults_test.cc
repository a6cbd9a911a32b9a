// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::mini {
namespace {

using testing::HasSubstr;

Fault fault_of(const std::string& text) {
  const ScratchFolder folder;
  const std::string path = folder / "fault.json";
  std::ofstream(path) << text;
  ::setenv("NANHUNT_FAULT_FILE", path.c_str(), 1);
  return fault_from_environment();
}

std::string refusal(const std::string& text) {
  try {
    fault_of(text);
  } catch (const trace::Error& error) {
    return error.kind() == trace::ErrorKind::kUsage ? error.what() : "wrong kind";
  }
  return "";
}

TEST(Faults, NoFileIsNoFault) {
  ::unsetenv("NANHUNT_FAULT_FILE");
  EXPECT_EQ(fault_from_environment().name, FaultName::kNone);
}

TEST(Faults, ReadsNameAndPlace) {
  const Fault fault = fault_of(R"({"name": "nan_on_rank", "layer": 3, "rank": 2,
                                   "microbatch": 1, "step": 1, "element": 77})");
  EXPECT_EQ(fault.name, FaultName::kNanOnRank);
  EXPECT_EQ(fault.layer, 3);
  EXPECT_EQ(fault.rank, 2);
  EXPECT_EQ(fault.microbatch, 1);
  EXPECT_EQ(fault.element, 77);
  EXPECT_FALSE(fault.is(FaultName::kNanOnRank, 0));
  EXPECT_TRUE(fault.is(FaultName::kNanOnRank, 1));
  EXPECT_FALSE(fault.is(FaultName::kMaskedRow, 1));
}

TEST(Faults, BadFilesNameFileAndField) {
  EXPECT_THAT(refusal(R"({"name": "masked_rwo"})"), HasSubstr("the nearest is 'masked_row'"));
  EXPECT_THAT(refusal(R"({"name": "masked_row", "layr": 1})"), HasSubstr("nearest is 'layer'"));
  EXPECT_THAT(refusal(R"({"name": "masked_row", "layer": -1})"), HasSubstr("'layer' is negative"));
  EXPECT_THAT(refusal(R"({"layer": 1})"), HasSubstr("fault.json: field 'name' is missing"));
  EXPECT_THAT(refusal("[1"), HasSubstr("not JSON"));
  EXPECT_EQ(refusal(R"({"name": "masked_row"})"), "");
}

}  // namespace
}  // namespace nanhunt::mini
