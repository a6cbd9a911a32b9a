// SPDX-License-Identifier: Apache-2.0
#include "bisect/items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

Names names_of(const Items& items) {
  Names names;
  for (const Item& item : items) names.push_back(item.name);
  return names;
}

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const trace::Error& error) {
    return std::to_string(static_cast<int>(error.kind())) + " " + error.what();
  }
  return "";
}

class List : public testing::Test {
 protected:
  std::string file_of(const std::string& text) {
    std::ofstream(file_, std::ios::binary) << text;
    return file_;
  }
  const ScratchFolder folder_;
  const std::string file_ = folder_ / "list";
};

TEST_F(List, HoldsOneItemALine) {
  const std::string file = file_of("# good first\n\n a b \r\nstep-2\n#c\nstep 3");
  EXPECT_EQ(names_of(read_list(file)), (Names{"a b", "step-2", "step 3"}));
}

TEST_F(List, IsRefusedByNameAndLine) {
  EXPECT_THAT(refusal([&] { read_list(file_of("a\nb\na\n")); }),
              HasSubstr(":3: 'a' is there already, in line 1"));
  EXPECT_THAT(refusal([&] { read_list(file_of("a\n")); }), HasSubstr("2 "));
  EXPECT_THAT(refusal([&] { read_list("no/such/list"); }), HasSubstr("3 no/such/list"));
  EXPECT_THAT(refusal([&] { read_list(folder_.path()); }), HasSubstr("3 "));
}

TEST(Range, IncludesBothEnds) {
  EXPECT_EQ(names_of(range_items("100..400:100")), (Names{"100", "200", "300", "400"}));
  EXPECT_EQ(names_of(range_items("-1..1")), (Names{"-1", "0", "1"}));
  EXPECT_EQ(names_of(range_items("3..1")), (Names{"3", "2", "1"}));
}

TEST(Range, RefusesWhatIsNone) {
  for (const char* wrong : {"", "5", "1..1", "1..10:4", "1..10:0", "1..10:-1", "1..x", "..5", "5..",
                            "1..2..3", "1..99999999", "1..99999999999999999999"}) {
    EXPECT_THAT(refusal([&] { range_items(wrong); }), HasSubstr("2 --range")) << wrong;
  }
}

}  // namespace
}  // namespace nanhunt::bisect
