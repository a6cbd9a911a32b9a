// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/program_options.hpp>

#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;

class Options : public ::testing::Test {
 protected:
  Options() {
    options_.add_options()("test-level", po::value<std::string>(), "")(
        "test-set", po::value<std::vector<std::string>>()->composing(), "");
  }
  void TearDown() override {
    ::unsetenv("NANHUNT_TEST_LEVEL");
    ::unsetenv("NANHUNT_TEST_SET");
  }
  Parsed parse(const std::vector<std::string>& arguments) {
    return parse_options("test", arguments, options_, {"NAME?"});
  }

  po::options_description options_{"options"};
};

TEST_F(Options, TheCommandLineComesBeforeTheEnvironment) {
  ::setenv("NANHUNT_TEST_LEVEL", "stats", 1);
  EXPECT_EQ(parse({}).text("test-level"), "stats");
  EXPECT_EQ(parse({"--test-level", "full"}).text("test-level"), "full");
}

TEST_F(Options, ListsReplaceAndDoNotMerge) {
  ::setenv("NANHUNT_TEST_SET", "a=1 b=2", 1);
  using Words = std::vector<std::string>;
  EXPECT_EQ(parse({}).values["test-set"].as<Words>(), (Words{"a=1", "b=2"}));
  EXPECT_EQ(parse({"--test-set=c=3", "--test-set=d=4"}).values["test-set"].as<Words>(),
            (Words{"c=3", "d=4"}));
}

TEST_F(Options, TooManyArgumentsAreRefused) {
  EXPECT_EQ(parse({"one"}).text("NAME"), "one");
  EXPECT_THROW(parse({"one", "two"}), trace::Error);
}

}  // namespace
}  // namespace nanhunt::cli
