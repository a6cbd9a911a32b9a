// SPDX-License-Identifier: Apache-2.0
// Files of the safetensors format: what is in them, and each way of being bad, named.
#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/small_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::checkpoint {
namespace {

using test::Draft;
using test::error_text;
using test::write_raw;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Safetensors, TellsWhatIsInAFile) {
  const ScratchFolder folder;
  Draft draft;
  draft.metadata["format"] = "pt";
  draft.floats("b", {2, 3}, {1, 2, 3, 4, 5, 6})
      .add("empty", "BF16", {0, 4}, "")
      .floats("a", {}, {7});
  draft.write(folder / "x.safetensors");
  const FileHeader header = read_header(folder / "x.safetensors");
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.metadata.at("format"), "pt");
  const TensorEntry& b = header.tensors[0];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.type->name, "F32");
  EXPECT_THAT(b.shape, ElementsAre(2, 3));
  EXPECT_EQ(b.bytes, 24);
  EXPECT_EQ(header.tensors[1].elements, 0);
  EXPECT_EQ(header.tensors[2].elements, 1);
  EXPECT_THAT(place_of(b, 5), ElementsAre(1, 2));
  float value = 0;
  const TensorData data(header);
  data.read(b, 20, std::as_writable_bytes(std::span(&value, 1)));
  EXPECT_EQ(value, 6.0f);
  data.read(header.tensors[2], 0, std::as_writable_bytes(std::span(&value, 1)));
  EXPECT_EQ(value, 7.0f);
}

TEST(Safetensors, TakesAHeaderPaddedWithBlanks) {
  const ScratchFolder folder;
  write_raw(folder / "x", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   )", 1);
  EXPECT_EQ(read_header(folder / "x").tensors.size(), 1u);
}

TEST(Safetensors, TakesAFileWithoutTensors) {
  const ScratchFolder folder;
  write_raw(folder / "x", "{}", 0);
  EXPECT_TRUE(read_header(folder / "x").tensors.empty());
}

struct BadHeader {
  std::string name, header;
  size_t data_bytes;
  std::string message;
};

class BadHeaders : public testing::TestWithParam<BadHeader> {};

TEST_P(BadHeaders, AreNamed) {
  const ScratchFolder folder;
  const auto path = folder / "x.safetensors";
  write_raw(path, GetParam().header, GetParam().data_bytes);
  EXPECT_THAT(
      error_text([&] { read_header(path); }),
      AllOf(HasSubstr(path.string() + ": "), HasSubstr(GetParam().message), Not(HasSubstr("\n"))));
}

// An entry of a tensor of 4 bytes.
std::string entry(const std::string& name, int begin, int end, const std::string& dtype = "F32",
                  const std::string& shape = "[1]") {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + ',' + std::to_string(end) + "]}";
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadHeaders,
    testing::Values(
        BadHeader{"no_json", "{\"a\": ", 0, "no valid JSON"},
        BadHeader{"no_utf8", "{\"a\xff\": 1}", 0, "no valid JSON"},
        BadHeader{"list", "[1, 2]", 0, "no JSON object"},
        BadHeader{"number", "17", 0, "no JSON object"},
        BadHeader{"deep", R"({"a":{"shape":[[[[1]]]]}})", 0, "nested deeper"},
        BadHeader{"twice", "{" + entry("a", 0, 4) + "," + entry("a", 4, 8) + "}", 8,
                  "the key a twice"},
        BadHeader{"field_twice",
                  R"({"a":{"dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4]}})", 4,
                  "the key dtype twice"},
        BadHeader{"metadata", R"({"__metadata__":{"a":1}})", 0, "the value of a is no text"},
        BadHeader{"entry", R"({"a":[1]})", 0, "tensor a: its entry is no object"},
        BadHeader{"no_dtype", R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4,
                  "tensor a: \"dtype\" is missing"},
        BadHeader{"dtype", "{" + entry("a", 0, 4, "F31") + "}", 4,
                  "tensor a: unknown dtype \"F31\""},
        BadHeader{"no_shape", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4,
                  "tensor a: \"shape\" is missing"},
        BadHeader{"negative", "{" + entry("a", 0, 4, "F32", "[-1]") + "}", 4,
                  "tensor a: \"shape\" holds -1"},
        BadHeader{"fraction", "{" + entry("a", 0, 4, "F32", "[1.5]") + "}", 4,
                  "tensor a: \"shape\" holds 1.5"},
        BadHeader{"overflow",
                  "{" + entry("a", 0, 4, "F32", "[4294967296,4294967296,4294967296]") + "}", 4,
                  "is too large"},
        BadHeader{"size", "{" + entry("a", 0, 4, "F32", "[2]") + "}", 4,
                  "tensor a: data_offsets [0, 4] do not fit F32 of shape [2], 8 bytes"},
        BadHeader{"backwards", "{" + entry("a", 4, 0) + "}", 4, "do not fit"},
        BadHeader{"half_a_byte", "{" + entry("a", 0, 1, "F4", "[3]") + "}", 1,
                  "tensor a: 3 elements of F4 fill no whole number of bytes"},
        BadHeader{"overlap", "{" + entry("a", 0, 4) + "," + entry("b", 0, 4) + "}", 8,
                  "overlaps another tensor"},
        BadHeader{"hole", "{" + entry("a", 0, 4) + "," + entry("b", 8, 12) + "}", 12,
                  "tensor b: a hole before it"},
        BadHeader{"hole_at_start", "{" + entry("a", 4, 8) + "}", 8, "tensor a: a hole before it"},
        BadHeader{"outside", "{" + entry("a", 0, 4) + "," + entry("b", 4, 8) + "}", 7,
                  "tensor b: reaches out of the file: its data end at byte 8 of 7 bytes"},
        BadHeader{"behind", "{" + entry("a", 0, 4) + "}", 6, "2 bytes behind the last tensor"}),
    [](const auto& one) { return one.param.name; });

TEST(BadFiles, AreNamed) {
  const ScratchFolder folder;
  const auto path = folder / "x.safetensors";
  const auto fault = [&] { return error_text([&] { read_header(path); }); };
  EXPECT_THAT(fault(), HasSubstr("cannot be opened: No such file"));
  test::write_text(path, "");
  EXPECT_THAT(fault(), HasSubstr("x.safetensors: is empty"));
  test::write_text(path, "1234567");
  EXPECT_THAT(fault(), HasSubstr("truncated: 7 bytes hold no header"));
  test::write_text(path, test::bytes_of(std::vector<uint64_t>{20}) + "{}");
  EXPECT_THAT(fault(), HasSubstr("truncated: a header of 20 bytes in a file of 10 bytes"));
  test::write_text(path, test::bytes_of(std::vector<uint64_t>{kMaxHeaderBytes + 1}) + "{}");
  EXPECT_THAT(fault(), HasSubstr("limit of 100000000"));
  test::write_text(path, "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_THAT(fault(), HasSubstr("no safetensors file"));
}

TEST(BadFiles, AreNamedAtEachLength) {
  const ScratchFolder folder;
  const auto path = folder / "x.safetensors";
  const std::string whole = test::healthy_model(1, 1).bytes();
  for (size_t length = 0; length < whole.size(); length += 37) {
    test::write_text(path, whole.substr(0, length));
    EXPECT_THAT(error_text([&] { read_header(path); }), Not("")) << length;
  }
  test::write_text(path, whole);
  EXPECT_EQ(error_text([&] { read_header(path); }), "");
}

TEST(BadFiles, ThatShrinkWhileTheyAreReadAreNamed) {
  const ScratchFolder folder;
  const auto path = folder / "x.safetensors";
  test::healthy_model(1, 1).write(path);
  const FileHeader header = read_header(path);
  std::filesystem::resize_file(path, static_cast<uintmax_t>(header.file_bytes - 8));
  const TensorEntry& last = header.tensors.back();
  const TensorData data(header);
  std::vector<std::byte> bytes(static_cast<size_t>(last.bytes));
  EXPECT_THAT(error_text([&] { data.read(last, 0, bytes); }),
              HasSubstr("truncated: tensor " + last.name + " ends early"));
}

}  // namespace
}  // namespace nanhunt::checkpoint
