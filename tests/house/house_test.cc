// SPDX-License-Identifier: Apache-2.0
// The rules hold for this tree, and each rule refuses a file that breaks it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/house/file_form.h"
#include "tests/house/include_edges.h"
#include "tests/house/source_tree.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::house {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> files = read_tree(NANHUNT_SOURCE_DIR);
  return files;
}

// The breaches of `rule` in a tree of one file.
template <typename Rule>
std::vector<Breach> breaches_of(Rule rule, const std::string& path,
                                const std::vector<std::string>& lines) {
  return rule({SourceFile{path, lines}});
}

TEST(SourceTree, HoldsThisFileAndNoBuildFolder) {
  bool found = false;
  for (const SourceFile& file : tree()) {
    found = found || file.path == "tests/house/house_test.cc";
    EXPECT_THAT(first_folder(file.path), Not(testing::StartsWith("build")));
  }
  EXPECT_TRUE(found);
}

TEST(IncludeEdges, HoldForThisTree) {
  EXPECT_THAT(to_text(forbidden_includes(tree())), IsEmpty());
}

TEST(IncludeEdges, RefuseAnEdgeOutsideTheTable) {
  const auto refused = [](const std::string& path, const std::string& line) {
    return breaches_of(forbidden_includes, path, {"// a comment", line});
  };
  EXPECT_THAT(refused("trace/a.cc", "#include \"hooks/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("hooks/a.cc", "#include \"oracle/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("oracle/a.h", "#include \"compare/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("compare/a.h", "#include \"ablate/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("compare/a.h", "#include \"checkpoint/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("checkpoint/a.h", "#include \"ablate/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("ablate/a.h", "#include \"bisect/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("bisect/a.h", "#include \"compare/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("ablate/a.h", "#include \"repro/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("repro/a.h", "#include \"cli/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("cli/a.cc", "#include \"cases/mini/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("cli/a.cc", "#include \"hooks/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("cases/plain/a.cc", "#include \"cases/mini/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("cases/mini/a.cc", "  #  include  \"compare/b.h\""), SizeIs(1));
  EXPECT_THAT(refused("oracle/a.cc", "#include <ATen/core/Tensor.h>"), SizeIs(1));
  EXPECT_THAT(refused("cli/a.cc", "#include <torch/torch.h>"), SizeIs(1));
  EXPECT_THAT(refused("trace/a.cc", "#include <c10/core/Device.h>"), SizeIs(1));
  EXPECT_THAT(refused("compare/a.cc", "#include <hdf5.h>"), SizeIs(1));
  EXPECT_THAT(refused("trace/a.cc", "#include \"record.h\""), SizeIs(1));
}

TEST(IncludeEdges, AllowTheEdgesOfTheTable) {
  const auto refused = [](const std::string& path, const std::string& line) {
    return breaches_of(forbidden_includes, path, {line});
  };
  EXPECT_THAT(refused("hooks/a.cc", "#include \"trace/record.h\""), IsEmpty());
  EXPECT_THAT(refused("hooks/a.cc", "#include <ATen/core/Tensor.h>"), IsEmpty());
  EXPECT_THAT(refused("cases/mini/a.cc", "#include \"hooks/taps.h\""), IsEmpty());
  EXPECT_THAT(refused("cli/a.cc", "#include \"ablate/search.h\""), IsEmpty());
  EXPECT_THAT(refused("cli/a.cc", "#include \"checkpoint/scan.h\""), IsEmpty());
  EXPECT_THAT(refused("cli/a.cc", "#include \"bisect/b.h\""), IsEmpty());
  EXPECT_THAT(refused("bisect/a.cc", "#include \"ablate/child.h\""), IsEmpty());
  EXPECT_THAT(refused("cli/a.cc", "#include \"repro/convergence.h\""), IsEmpty());
  EXPECT_THAT(refused("repro/a.cc", "#include \"ablate/runner.h\""), IsEmpty());
  EXPECT_THAT(refused("checkpoint/a.cc", "#include \"compare/verdict.h\""), IsEmpty());
  EXPECT_THAT(refused("trace/a.cc", "#include <hdf5.h>"), IsEmpty());
  EXPECT_THAT(refused("trace/a.cc", "#include <vector>"), IsEmpty());
}

TEST(IncludeEdges, ReportTheLine) {
  const auto refused = breaches_of(forbidden_includes, "trace/a.cc", {"", "#include \"cli/b.h\""});
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(to_text(refused), "trace/a.cc:2: trace may not include cli/b.h\n");
}

// The checker also finds the edge in a tree on disk, not only in lines handed to it.
TEST(IncludeEdges, FindAForbiddenEdgeOnDisk) {
  namespace fs = std::filesystem;
  const ScratchFolder scratch;
  const fs::path root = scratch / "tree";
  fs::create_directories(root / "oracle");
  fs::create_directories(root / "build/oracle");
  const auto write = [&](const char* path) {
    std::FILE* file = std::fopen((root / path).c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs("#include \"cli/options.h\"\n", file);
    std::fclose(file);
  };
  write("oracle/a.cc");
  write("build/oracle/a.cc");
  EXPECT_EQ(to_text(forbidden_includes(read_tree(root))),
            "oracle/a.cc:1: oracle may not include cli/options.h\n");
}

TEST(FileForm, FilesAreShort) { EXPECT_THAT(to_text(long_files(tree())), IsEmpty()); }

TEST(FileForm, RefusesALongFile) {
  EXPECT_THAT(breaches_of(long_files, "trace/a.cc", std::vector<std::string>(601)), SizeIs(1));
  EXPECT_THAT(breaches_of(long_files, "trace/a.cc", std::vector<std::string>(600)), IsEmpty());
}

TEST(FileForm, LinesFit) { EXPECT_THAT(to_text(wide_lines(tree())), IsEmpty()); }

TEST(FileForm, RefusesAWideLine) {
  EXPECT_THAT(breaches_of(wide_lines, "a.cc", {std::string(101, 'x')}), SizeIs(1));
  EXPECT_THAT(breaches_of(wide_lines, "a.cc", {std::string(98, 'x') + "\u03a3\u03c3"}), IsEmpty());
}

TEST(FileForm, PreamblesAreThere) {
  EXPECT_THAT(to_text(missing_preambles(tree())), IsEmpty());
}

TEST(FileForm, RefusesAMissingPreamble) {
  const std::string licence = "// SPDX-License-Identifier: Apache-2.0";
  EXPECT_THAT(breaches_of(missing_preambles, "a.cc", {"#include <vector>"}), SizeIs(1));
  EXPECT_THAT(breaches_of(missing_preambles, "a.h", {licence}), SizeIs(1));
  EXPECT_THAT(breaches_of(missing_preambles, "a.h", {licence, "#pragma once"}), IsEmpty());
}

TEST(FileForm, TestsShareNoFolder) {
  EXPECT_THAT(to_text(shared_folders(tree())), IsEmpty());
}

TEST(FileForm, RefusesASharedFolderInATest) {
  const std::string name = std::string("testing::Temp") + "Dir()";
  const auto refused = [](const std::string& path, const std::string& line) {
    return breaches_of(shared_folders, path, {"", line});
  };
  EXPECT_EQ(to_text(refused("tests/cases/a_test.cc", "  path = " + name + " + \"a.json\";")),
            std::string("tests/cases/a_test.cc:2: Temp") + "Dir: use ScratchFolder\n");
  EXPECT_THAT(refused("tests/a.h", std::string("  fs::temp_directory") + "_path()"), SizeIs(1));
  EXPECT_THAT(refused("tests/a.cc", std::string("::mkd") + "temp(name.data())"), SizeIs(1));
  EXPECT_THAT(refused("tests/a.cc", std::string("std::ofstream(\"/t") + "mp/a\")"), SizeIs(1));
  EXPECT_THAT(refused("tests/support/scratch_folder.h", name), IsEmpty());
  EXPECT_THAT(refused("bench/a.cc", name), IsEmpty());
  EXPECT_THAT(refused("tests/a.cc", "const ScratchFolder folder;"), IsEmpty());
  EXPECT_THAT(refused("tests/a.cc", "is_temporary(name)"), IsEmpty());
}

TEST(Words, NoneIsForbidden) { EXPECT_THAT(to_text(forbidden_words(tree())), IsEmpty()); }

TEST(Words, RefusesMarksAndMachinePaths) {
  const std::string mark = std::string("TO") + "DO";
  EXPECT_THAT(breaches_of(forbidden_words, "a.md", {"x " + mark + ": later"}), SizeIs(1));
  EXPECT_THAT(breaches_of(forbidden_words, "a.md", {std::string("/ho") + "me/someone/x"}),
              SizeIs(1));
  EXPECT_THAT(breaches_of(forbidden_words, "a.md", {mark + "RSET is a name"}), IsEmpty());
  EXPECT_THAT(breaches_of(forbidden_words, "a.md", {std::string("out/wo") + "rk/"}), IsEmpty());
}

}  // namespace
}  // namespace nanhunt::house
