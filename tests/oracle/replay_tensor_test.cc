// SPDX-License-Identifier: Apache-2.0
// The order of dimensions: values go where their names go, and an element is found where it was.
#include <gtest/gtest.h>

#include "oracle/replay/tensor.h"

namespace nanhunt::oracle::test {
namespace {

const std::vector<std::string> kSampleFirst{"sample", "token", "channel"};
const std::vector<std::string> kTokenFirst{"token", "sample", "channel"};

TEST(InOrderOf, MovesDimensionsByName) {
  const Tensor moved = in_order_of({{2, 3, 1}, kSampleFirst, {0, 1, 2, 10, 11, 12}}, kTokenFirst);
  EXPECT_EQ(moved.shape, (std::vector<int64_t>{3, 2, 1}));
  EXPECT_EQ(moved.values, (std::vector<double>{0, 10, 1, 11, 2, 12}));
}

TEST(ElementBeforeOrder, IsWhereTheElementWas) {
  for (const auto& [element, before] : {std::pair<size_t, int64_t>{0, 0}, {1, 3}, {2, 1}, {5, 5}})
    EXPECT_EQ(element_before_order({2, 3, 1}, kSampleFirst, kTokenFirst, element), before);
  EXPECT_EQ(element_before_order({2, 3, 1}, kSampleFirst, kTokenFirst, 6), std::nullopt);
}

}  // namespace
}  // namespace nanhunt::oracle::test
