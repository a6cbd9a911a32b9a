// SPDX-License-Identifier: Apache-2.0
// The example of docs/hooks.md, as a user has it: nanhunt installed somewhere, the program built
// outside the source tree, two processes, the trace read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/scratch_folder.h"
#include "trace/trace_reader.h"

namespace {

namespace fs = std::filesystem;
using nanhunt::trace::Collective;
using nanhunt::trace::Phase;
using nanhunt::trace::Record;
using nanhunt::trace::Step;
using nanhunt::trace::TraceReader;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const fs::path kExample = fs::path(NANHUNT_SOURCE_DIR) / "docs/examples/three_layers";
const std::set<std::string> kParameters{"stem.weight", "stem.bias",  "body.weight",
                                        "body.bias",   "top.weight", "top.bias"};

class ThreeLayers : public testing::Test {
 protected:
  int shell(const std::string& command) {
    const fs::path log = folder_ / "log";
    const int status = std::system(("( " + command + " ) > " + log.string() + " 2>&1").c_str());
    output_ = text_of(log);
    return status;
  }

  // Installs nanhunt and builds the example against it.
  void build() {
    const fs::path prefix = folder_ / "prefix", source = folder_ / "source";
    fs::copy(kExample, source);
    ASSERT_EQ(shell("cmake --install " NANHUNT_BUILD_DIR " --prefix " + prefix.string()), 0)
        << output_;
    ASSERT_EQ(shell("cmake -S " + source.string() + " -B " + (folder_ / "build").string() +
                    " -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=" + prefix.string() +
                    " -DCMAKE_CXX_FLAGS='" NANHUNT_EXAMPLE_FLAGS "'"),
              0)
        << output_;
    ASSERT_EQ(shell("cmake --build " + (folder_ / "build").string() + " --parallel 2"), 0)
        << output_;
  }

  // Both ranks; returns the two parameter files' bytes.
  std::vector<std::string> run(const std::string& name, const std::string& plan,
                               const std::string& more_environment = "") {
    const std::string program = (folder_ / "build/three_layers").string();
    const std::string base = (folder_ / name).string();
    std::string environment = "-u NANHUNT_CAPTURE " + more_environment;
    environment += " WORLD_SIZE=2 OMP_NUM_THREADS=1";
    if (!plan.empty()) environment += " NANHUNT_CAPTURE='" + plan + "'";
    const auto rank = [&](int r) {
      const std::string number = std::to_string(r);
      return "env " + environment + " RANK=" + number + " " + program + " " + base + ".store " +
             base + "." + number;
    };
    EXPECT_EQ(shell(rank(1) + " & " + rank(0) + " && wait $!"), 0) << output_;
    return {text_of(base + ".0"), text_of(base + ".1")};
  }

  std::string plan(const std::string& level, const std::string& out) {
    return R"({"out": ")" + (folder_ / out).string() + R"(", "level": ")" + level + R"("})";
  }

  const nanhunt::ScratchFolder folder_;
  std::string output_;
};

const Record* find(const Step& step, int32_t rank, const std::string& site, Phase phase,
                   const std::string& role) {
  for (const Record& record : step.records) {
    if (record.where.rank == rank && record.what.site == site && record.what.phase == phase &&
        record.what.role == role) {
      return &record;
    }
  }
  ADD_FAILURE() << "rank " << rank << ": no record of " << site << " " << name_of(phase) << " "
                << role;
  return &step.records.front();
}

bool links_to(const Record& record, const Record& input) {
  return std::any_of(record.links.begin(), record.links.end(),
                     [&](const auto& link) { return link.sequence == input.where.sequence; });
}

void expect_sites(const Step& step) {
  for (int32_t rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(step.progress.at(rank).complete);
    for (const char* site : {"stem", "body", "top"}) {
      const Record* output = find(step, rank, site, Phase::kForward, "output");
      EXPECT_EQ(output->placement->logical_shape.at(0), 8);
      EXPECT_EQ(output->regions.size(), 1u);
      find(step, rank, site, Phase::kBackward, "grad_output");
    }
    find(step, rank, "loss", Phase::kLoss, "output");
    const Record* weight = find(step, rank, "body.weight", Phase::kForward, "param");
    EXPECT_TRUE(links_to(*find(step, rank, "body", Phase::kForward, "output"), *weight));
    EXPECT_TRUE(links_to(*find(step, rank, "body", Phase::kForward, "output"),
                         *find(step, rank, "stem", Phase::kForward, "output")));
  }
}

// Each gradient: local, handed over, reduced, consumed, each linked to the one before.
void expect_gradients(const Step& step) {
  for (const std::string& name : kParameters) {
    const Record* reduced[2];
    double handed_over = 0;
    for (int32_t rank = 0; rank < 2; ++rank) {
      const Record* local = find(step, rank, name, Phase::kBackward, "grad");
      const Record* before = find(step, rank, name, Phase::kPreCollective, "grad");
      const Record* after = find(step, rank, name, Phase::kPostCollective, "grad");
      const Record* consumed = find(step, rank, name, Phase::kUnscaled, "grad");
      const Record* moved = find(step, rank, name, Phase::kUpdate, "param");
      EXPECT_TRUE(links_to(*before, *local)) << name;
      EXPECT_TRUE(links_to(*after, *before)) << name;
      EXPECT_TRUE(links_to(*consumed, *after)) << name;
      EXPECT_TRUE(links_to(*moved, *consumed)) << name;
      EXPECT_EQ(moved->op, "adamw");
      find(step, rank, name, Phase::kUpdate, "exp_avg");
      find(step, rank, name, Phase::kUpdate, "exp_avg_sq");
      EXPECT_NE(before->raw_digest, after->raw_digest) << name << ": before is really before";
      EXPECT_EQ(consumed->raw_digest, after->raw_digest) << name;
      handed_over += before->statistics.sum;
      reduced[rank] = after;
      const int index = step.find_collective(rank, after->collective);
      ASSERT_GE(index, 0) << name;
      const Collective& log = step.collectives[index];
      EXPECT_EQ(log.op, "all_reduce");
      EXPECT_EQ(log.group, (std::vector<int32_t>{0, 1}));
      EXPECT_TRUE(log.async);
      EXPECT_GT(log.complete_sequence, log.issue_sequence);
      EXPECT_EQ(log.inputs, (std::vector<int64_t>{before->where.sequence}));
    }
    EXPECT_EQ(reduced[0]->raw_digest, reduced[1]->raw_digest) << name;
    EXPECT_NEAR(reduced[0]->statistics.sum, handed_over, 1e-5) << name;
  }
  EXPECT_EQ(step.collectives.size(), 2 * kParameters.size());
}

TEST_F(ThreeLayers, BuiltAndRunOutsideTheSourceTree) {
  ASSERT_NO_FATAL_FAILURE(build());
  const auto off = run("off_run", "");
  ASSERT_EQ(off[0].size(), 4u * (8 * 16 + 16 + 16 * 16 + 16 + 16 + 1));
  EXPECT_EQ(off[0], off[1]) << "data parallel";
  EXPECT_EQ(run("stats_run", plan("stats", "stats")), off) << "stats changes no bit";
  EXPECT_EQ(output_, "") << "and says nothing";
  EXPECT_EQ(run("full_run", plan("full", "full")), off) << "full changes no bit";

  for (const char* level : {"stats", "full"}) {
    const TraceReader reader(folder_ / level);
    ASSERT_EQ(reader.steps(), (std::vector<int64_t>{0, 1, 2}));
    ASSERT_EQ(reader.world_size(), 2);
    for (const int64_t number : reader.steps()) {
      const Step step = reader.read_step(number);
      expect_sites(step);
      expect_gradients(step);
    }
  }
  const TraceReader reader(folder_ / "full");
  const Step last = reader.read_step(2);
  const auto top = reader.read_doubles(*find(last, 1, "top.bias", Phase::kUpdate, "param"));
  float written = 0;
  std::copy_n(off[1].end() - sizeof written, sizeof written, reinterpret_cast<char*>(&written));
  EXPECT_EQ(top.at(0), written) << "the last parameter of the file";

  // The twin: contradicting launchers are told, switch the capture off, and leave the run alone.
  EXPECT_EQ(run("contradiction", plan("stats", "nothing"),
                "SLURM_PROCID=7 SLURM_NTASKS=8 SLURM_STEP_ID=0"),
            off);
  EXPECT_NE(output_.find("nanhunt: capture is off: the launchers contradict"), std::string::npos)
      << output_;
  EXPECT_FALSE(fs::exists(folder_ / "nothing"));
}

TEST(HooksPage, ShowsTheVeryProgram) {
  const std::string page = text_of(fs::path(NANHUNT_SOURCE_DIR) / "docs/hooks.md");
  for (const char* file : {"main.cc", "CMakeLists.txt"}) {
    const std::string program = text_of(kExample / file);
    ASSERT_GT(program.size(), 100u);
    EXPECT_NE(page.find(program), std::string::npos) << file;
    EXPECT_EQ(page.find(program + "x"), std::string::npos);
  }
}

}  // namespace
