// SPDX-License-Identifier: Apache-2.0
#include "trace/large_array.h"

#include <gtest/gtest.h>

namespace nanhunt::trace {
namespace {

constexpr size_t kLarge = size_t{3} << 18;  // three huge pages

TEST(LargeArray, HasTheSizeAskedFor) {
  std::vector<double> array;
  for (const size_t count : {size_t{0}, size_t{1}, kLarge, kLarge / 2, kLarge + 1}) {
    resize_for_overwrite(array, count);
    ASSERT_EQ(array.size(), count);
    for (size_t i = 0; i < count; ++i) array[i] = static_cast<double>(i);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(array[i], static_cast<double>(i));
  }
}

TEST(LargeArray, MemoryThatIsThereIsUsedAgain) {
  std::vector<double> array;
  resize_for_overwrite(array, kLarge);
  const double* memory = array.data();
  resize_for_overwrite(array, kLarge / 3);
  EXPECT_EQ(array.data(), memory);
  resize_for_overwrite(array, kLarge);
  EXPECT_EQ(array.data(), memory);
}

}  // namespace
}  // namespace nanhunt::trace
