// SPDX-License-Identifier: Apache-2.0
// docs/trace_format.md names each field that is written, and each word of its enumerations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/example_segments.h"
#include "trace/segment_schema.h"

namespace nanhunt::trace {
namespace {

std::string document() {
  return test::read_bytes(std::string(NANHUNT_SOURCE_DIR) + "/docs/trace_format.md");
}

bool names(const std::string& text, const std::string& word) {
  return text.find('`' + word + '`') != std::string::npos;
}

TEST(FormatDocument, NamesEachField) {
  const std::string text = document();
  for (const auto fields :
       {schema::header_fields(), schema::record_fields(), schema::region_fields(),
        schema::link_fields(), schema::placement_fields(), schema::mesh_fields(),
        schema::box_fields(), schema::collective_fields(), schema::fact_fields(),
        schema::dropped_fields()}) {
    for (const h5::Field& field : fields) EXPECT_TRUE(names(text, field.name)) << field.name;
  }
  EXPECT_FALSE(names(text, "no_such_field"));
}

TEST(FormatDocument, NamesEachWord) {
  const std::string text = document();
  for (const Phase phase : all_phases()) EXPECT_TRUE(names(text, std::string(name_of(phase))));
  for (uint8_t number = 0; number <= static_cast<uint8_t>(DType::kBool); ++number) {
    const std::string name(name_of(static_cast<DType>(number)));
    EXPECT_TRUE(names(text, name)) << name;
  }
  for (uint8_t number = 0; number <= static_cast<uint8_t>(PlacementKind::kUnknown); ++number) {
    const std::string name(name_of(static_cast<PlacementKind>(number)));
    EXPECT_TRUE(names(text, name)) << name;
  }
  for (uint8_t number = 0; number <= static_cast<uint8_t>(CutReason::kClose); ++number) {
    const std::string name(name_of(static_cast<CutReason>(number)));
    EXPECT_TRUE(names(text, name)) << name;
  }
}

TEST(FormatDocument, NamesTheVersion) {
  const std::string version =
      "Version " + std::to_string(kFormatMajor) + '.' + std::to_string(kFormatMinor) + '.';
  EXPECT_THAT(document(), testing::HasSubstr(version));
  EXPECT_THAT(document(), testing::Not(testing::HasSubstr("Version 0.")));
}

}  // namespace
}  // namespace nanhunt::trace
