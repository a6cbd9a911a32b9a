// SPDX-License-Identifier: Apache-2.0
#include "bisect/command_template.h"

#include <gtest/gtest.h>

#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

TEST(CommandTemplate, OneWordIsALineAndSeveralAreWords) {
  EXPECT_EQ(command_template({"check 'a b' {item}"}), (Words{"check", "a b", "{item}"}));
  EXPECT_EQ(command_template({"sh", "-c", "exit {item}"}), (Words{"sh", "-c", "exit {item}"}));
  EXPECT_THROW(command_template({}), trace::Error);
  EXPECT_THROW(command_template({"  "}), trace::Error);
  EXPECT_THROW(command_template({"check \\q"}), trace::Error);
}

TEST(CommandTemplate, IsFilledInWhereverTheItemIsNamed) {
  EXPECT_EQ(filled({"a{item}b{item}", "{item}", "c"}, "7"), (Words{"a7b7", "7", "c"}));
  EXPECT_EQ(filled({"{item}"}, "two words"), Words{"two words"});
  EXPECT_EQ(filled({"{item}"}, "{item}"), Words{"{item}"});
}

TEST(CommandTemplate, IsQuotedForAShell) {
  EXPECT_EQ(quoted(Words{"a", "b c", "", "it's", "$x"}), R"(a 'b c' '' 'it'\''s' '$x')");
}

}  // namespace
}  // namespace nanhunt::bisect
