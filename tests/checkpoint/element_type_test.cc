// SPDX-License-Identifier: Apache-2.0
// All types of the format: sizes, values, and what is not finite in them.
#include "checkpoint/element_type.h"

#include <gtest/gtest.h>

#include "tests/checkpoint/small_checkpoint.h"

namespace nanhunt::checkpoint {
namespace {

using test::bytes_of;

TEST(ElementType, KnowsAllOfTheFormatAndNoOther) {
  const std::map<std::string, int> bits = {
      {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
      {"I64", 64},        {"U64", 64}};
  for (const auto& [name, size] : bits) {
    const ElementType* type = element_type(name);
    ASSERT_NE(type, nullptr) << name;
    EXPECT_EQ(type->bits, size) << name;
  }
  EXPECT_EQ(element_type("F128"), nullptr);
  EXPECT_EQ(element_type("bf16"), nullptr);
}

struct Example {
  std::string type, bytes;
  bool finite;
  std::string text;
};

class Elements : public testing::TestWithParam<Example> {};

TEST_P(Elements, AreToldInWords) {
  const ElementType& type = *element_type(GetParam().type);
  // The second of two, so that the index counts.
  const std::string two = std::string(GetParam().bytes.size(), '\0') + GetParam().bytes;
  EXPECT_EQ(number_at(type, two.data(), 1).text, GetParam().text);
  EXPECT_EQ(non_finite_at(type, two.data(), 1), !GetParam().finite);
  EXPECT_FALSE(non_finite_at(type, two.data(), 0));
}

template <class T>
std::string one(T value) {
  return bytes_of(std::vector<T>{value});
}

INSTANTIATE_TEST_SUITE_P(
    All, Elements,
    testing::Values(
        Example{"F32", one(0.5f), true, "0.5"}, Example{"F32", one(0x7FC00000u), false, "NaN"},
        Example{"F64", one(uint64_t{0xFFF0000000000000}), false, "-Inf"},
        Example{"F16", one(uint16_t{0x7C00}), false, "Inf"},
        Example{"F16", one(uint16_t{0x7BFF}), true, "65504"},
        Example{"BF16", one(uint16_t{0x7F80}), false, "Inf"},
        Example{"BF16", one(uint16_t{0x3F80}), true, "1"},
        Example{"F8_E4M3", one(uint8_t{0x7F}), false, "NaN"},
        Example{"F8_E4M3", one(uint8_t{0x7E}), true, "448"},
        Example{"F8_E5M2", one(uint8_t{0x7C}), false, "Inf"},
        Example{"F8_E5M2", one(uint8_t{0x7B}), true, "57344"},
        Example{"F8_E8M0", one(uint8_t{0xFF}), false, "code 255"},
        Example{"F8_E8M0", one(uint8_t{0xFE}), true, "code 254"},
        Example{"F8_E4M3FNUZ", one(uint8_t{0x80}), false, "code 128"},
        Example{"F8_E4M3FNUZ", one(uint8_t{0x7F}), true, "code 127"},
        Example{"F8_E5M2FNUZ", one(uint8_t{0x80}), false, "code 128"},
        Example{"U8", one(uint8_t{0xFF}), true, "255"}, Example{"I8", one(int8_t{-1}), true, "-1"},
        Example{"U16", one(uint16_t{0xFFFF}), true, "65535"},
        Example{"U32", one(0xFFFFFFFFu), true, "4294967295"},
        Example{"U64", one(UINT64_MAX), true, "18446744073709551615"},
        Example{"I64", one(int64_t{-9007199254740993}), true, "-9007199254740993"},
        Example{"BOOL", one(uint8_t{1}), true, "1"},
        Example{"C64", bytes_of(std::vector<float>{1, -2}), true, "1 + i -2"},
        Example{"C64", bytes_of(std::vector<uint32_t>{0, 0x7FC00000u}), false, "0 + i NaN"}));

TEST(ElementType, TakesPackedElementsApart) {
  const std::string f4 = bytes_of(std::vector<uint8_t>{0xB3});  // lowest bits first
  EXPECT_EQ(number_at(*element_type("F4"), f4.data(), 0).value, 3);
  EXPECT_EQ(number_at(*element_type("F4"), f4.data(), 1).value, 11);
  const std::string f6 = bytes_of(std::vector<uint8_t>{0x41, 0x20, 0x0C});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(number_at(*element_type("F6_E2M3"), f6.data(), i).value, i == 0 || i == 1 ? 1 : i);
  }
  EXPECT_FALSE(non_finite_at(*element_type("F4"), f4.data(), 1));
}

}  // namespace
}  // namespace nanhunt::checkpoint
