// SPDX-License-Identifier: Apache-2.0
// Names in a damaged file: each changed byte of the lists that hold them is told, or changes a name
// and nothing else. The library of HDF5 ends the process over some of them.
#include "trace/text_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_folder.h"
#include "tests/trace/example_segments.h"
#include "trace/trace_reader.h"

namespace nanhunt::trace {
namespace {

namespace fs = std::filesystem;
using test::error_text;
using testing::HasSubstr;

class TextHeap : public testing::Test {
 protected:
  TextHeap() {
    write_segment(folder_.path(), test::rich_segment(12, 3, 0, 4));
    file_ = segment_path(folder_.path(), {12, 3, 0});
    bytes_ = test::read_bytes(file_);
    heap_ = bytes_.find("GCOL");
  }
  std::string read() const {
    return error_text([&] { TraceReader(folder_.path()).read_step(12); });
  }
  std::string with_byte(size_t at, char value) {
    std::string bad = bytes_;
    bad[at] = value;
    test::write_bytes(file_, bad);
    return read();
  }

  ScratchFolder folder_;
  fs::path file_;
  std::string bytes_;
  size_t heap_ = 0;
};

TEST_F(TextHeap, AWholeOneIsRead) {
  ASSERT_NE(heap_, std::string::npos);
  EXPECT_EQ(read(), "");
}

TEST_F(TextHeap, WhatIsDamagedIsNamed) {
  EXPECT_THAT(with_byte(heap_, 'g'), HasSubstr("(rank 3, step 12): cannot read table strings: "
                                               "there is no text where it points to"));
  EXPECT_THAT(with_byte(heap_ + 14, 1), HasSubstr("it points outside the file"));  // its size
  EXPECT_THAT(with_byte(heap_ + 16, 77), HasSubstr("a text is not where it is said to be"));
  EXPECT_THAT(with_byte(heap_ + 24, 1), HasSubstr("cannot read table strings: a text "));
  EXPECT_THAT(with_byte(heap_ + 30, 1), HasSubstr("a text ends behind its collection"));
}

// No byte of the collection ends the process.
TEST_F(TextHeap, EachByteIsSurvived) {
  int told = 0;
  for (size_t i = 0; i < 400; ++i) {
    const char flipped = static_cast<char>(bytes_[heap_ + i] ^ 0x55);
    told += with_byte(heap_ + i, flipped).empty() ? 0 : 1;
  }
  EXPECT_GT(told, 20);
  test::write_bytes(file_, bytes_);
  EXPECT_EQ(read(), "");
}

}  // namespace
}  // namespace nanhunt::trace
