// SPDX-License-Identifier: Apache-2.0
// Capsules that are not what was written, and those that do not fit: each public program that reads
// one names file and tensor and ends with status 3, and never goes on with a part of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/e2e/small_disk.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kUsage = 2, kUnreadable = 3;

Ended mini(std::vector<std::string> more) {
  std::vector<std::string> words{(build_folder() / "cases/mini/mini").string(), "--hidden=32",
                                 "--heads=2", "--ffn=64", "--sequence=16"};
  words.insert(words.end(), more.begin(), more.end());
  return run(words);
}

// A run of two ranks that saves before steps 2 and 4, and those that the damage is made of.
class BadCapsule : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    saved_ = new ScratchFolder;
    for (const char* name : {"good", "other"}) {
      const Ended ended = mini({"--layers=1", "--tp=2", "--steps=4", "--capsule-every=2",
                                "--capsules=" + (*saved_ / name).string()});
      ASSERT_EQ(ended.status, 0) << ended.errors;
    }
  }
  static void TearDownTestSuite() { delete saved_; }

  static fs::path file(const fs::path& folder, int rank) {
    return folder / "step-000004" / ("rank-0000" + std::to_string(rank) + ".000.h5");
  }
  static void python(const std::string& script, const fs::path& path) {
    const Ended ended = run({"/usr/bin/python3", "-c", script, path.string()});
    ASSERT_EQ(ended.status, 0) << ended.errors;
  }

  // What each program says of a copy that `damage` was done to.
  void expect_all_refuse(const std::function<void(const fs::path&)>& damage,
                         const std::string& message) {
    const fs::path bad = folder_ / "bad", good = *saved_ / "good";
    fs::copy(good, bad, fs::copy_options::recursive);
    damage(bad);
    const std::string name = bad.string() + "@4";
    const Ended programs[] = {
        nanhunt({"scan", name}), nanhunt({"repro", "--state", name, good.string() + "@4"}),
        nanhunt({"repro", "--state", good.string() + "@4", name}),
        mini({"--layers=1", "--tp=2", "--steps=5", "--resume=" + bad.string(), "--resume-step=4"})};
    for (const Ended& ended : programs) {
      EXPECT_EQ(ended.status, kUnreadable) << ended.output << ended.errors;
      EXPECT_THAT(ended.output + ended.errors, HasSubstr(message));
      EXPECT_THAT(ended.output + ended.errors, Not(HasSubstr("HDF5:")));
      EXPECT_THAT(ended.output, Not(HasSubstr("tensors are equal")));
      EXPECT_THAT(ended.output, Not(HasSubstr("step 4 loss")));
    }
    // The older capsule of the same folder is as good as it was.
    EXPECT_EQ(nanhunt({"scan", bad.string() + "@2"}).status, 0);
  }

  static ScratchFolder* saved_;
  ScratchFolder folder_;
};

ScratchFolder* BadCapsule::saved_ = nullptr;

TEST_F(BadCapsule, TheTwinIsTaken) {
  const fs::path good = *saved_ / "good";
  const Ended scanned = nanhunt({"scan", good.string() + "@4"});
  EXPECT_EQ(scanned.status, 0) << scanned.output << scanned.errors;
  EXPECT_THAT(scanned.output, HasSubstr("every value was held against its digest"));
  const Ended compared =
      nanhunt({"repro", "--state", good.string() + "@4", (*saved_ / "other").string() + "@4"});
  EXPECT_EQ(compared.status, 0) << compared.output << compared.errors;
  const Ended resumed =
      mini({"--layers=1", "--tp=2", "--steps=5", "--resume=" + good.string(), "--resume-step=4"});
  EXPECT_EQ(resumed.status, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, HasSubstr("step 4 loss"));
}

TEST_F(BadCapsule, ANewerFormatIsNamed) {
  expect_all_refuse(
      [&](const fs::path& bad) {
        python(
            "import h5py, sys\n"
            "with h5py.File(sys.argv[1], 'r+') as f: f.attrs['version'] = [99, 0]\n",
            file(bad, 1));
      },
      "rank-00001.000.h5 (rank 1, step 4): format version 99.0 is newer");
}

TEST_F(BadCapsule, ATruncatedFileIsNamed) {
  expect_all_refuse([&](const fs::path& bad) { fs::resize_file(file(bad, 1), 3000); },
                    "rank-00001.000.h5 (rank 1, step 4): truncated: 3000 of ");
}

TEST_F(BadCapsule, AFlippedByteIsNamedWithItsTensor) {
  expect_all_refuse(
      [&](const fs::path& bad) {
        python(
            "import h5py, sys\n"
            "with h5py.File(sys.argv[1], 'r') as f:\n"
            "    group = f['values/decoder/final_layernorm/weight/state']\n"
            "    name, = [name for name in group if name.startswith('exp_avg.')]\n"
            "    at = group[name].id.get_offset() + 5\n"
            "with open(sys.argv[1], 'r+b') as f:\n"
            "    f.seek(at)\n"
            "    byte = f.read(1)[0]\n"
            "    f.seek(at)\n"
            "    f.write(bytes([byte ^ 4]))\n",
            file(bad, 1));
      },
      "decoder.final_layernorm.weight exp_avg (rank 1, step 4) in ");
}

TEST_F(BadCapsule, AMissingShardIsNamed) {
  expect_all_refuse([&](const fs::path& bad) { fs::remove(file(bad, 1)); }, "rank 1 has no file");
}

TEST_F(BadCapsule, AShardUnderTheNameOfAnotherIsNamed) {
  expect_all_refuse(
      [&](const fs::path& bad) {
        fs::copy_file(file(bad, 0), file(bad, 1), fs::copy_options::overwrite_existing);
      },
      "rank-00001.000.h5 (rank 1, step 4): the file says rank 0");
}

TEST_F(BadCapsule, ShardsOfTwoRunsAreNamed) {
  expect_all_refuse(
      [&](const fs::path& bad) {
        fs::copy_file(file(*saved_ / "other", 1), file(bad, 1),
                      fs::copy_options::overwrite_existing);
      },
      "ranks 0 and 1 were written by two runs");
}

// ---- what does not fit

class OtherProgram : public BadCapsule {
 protected:
  Ended resumed(std::vector<std::string> more) const {
    more.insert(more.end(), {"--steps=5", "--resume=" + (*saved_ / "good").string()});
    return mini(more);
  }
};

TEST_F(OtherProgram, ALayoutThatCannotHoldItIsRefused) {
  const Ended ended = resumed({"--layers=1", "--tp=4"});
  EXPECT_EQ(ended.status, kUsage);
  EXPECT_THAT(ended.errors, HasSubstr("heads 2 is not divisible by tp 4"));
}

TEST_F(OtherProgram, APaddedVocabularyIsNamedWithBothShapes) {
  const Ended ended = resumed({"--layers=1", "--tp=2", "--vocabulary=320"});
  EXPECT_EQ(ended.status, kUnreadable);
  EXPECT_THAT(ended.errors,
              HasSubstr("embedding.word_embeddings.weight param is fp32 [256, 32] in the capsule, "
                        "here fp32 [320, 32]"));
}

TEST_F(OtherProgram, MoreLayersThanTheCapsuleHasAreNamed) {
  const Ended ended = resumed({"--layers=2", "--tp=2"});
  EXPECT_EQ(ended.status, kUnreadable);
  EXPECT_THAT(ended.errors, HasSubstr("decoder.layers.1."));
  EXPECT_THAT(ended.errors, HasSubstr("is not in the capsule: another model; broken from level "
                                      "state on"));
}

// A tensor that this program does not have is state that going on would lose.
TEST_F(OtherProgram, ATensorThatItDoesNotHaveIsNamedAndDroppedOnlyWhenTold) {
  const fs::path deep = folder_ / "deep";
  ASSERT_EQ(mini({"--layers=2", "--tp=2", "--steps=2", "--capsule-every=2",
                  "--capsules=" + deep.string()})
                .status,
            0);
  const std::vector<std::string> words{"--layers=1", "--tp=2", "--steps=3",
                                       "--resume=" + deep.string()};
  const Ended refused = mini(words);
  EXPECT_EQ(refused.status, kUnreadable);
  EXPECT_THAT(refused.errors, HasSubstr("decoder.layers.1."));
  EXPECT_THAT(
      refused.errors,
      HasSubstr("is in the capsule, and this program has no such tensor: it would be dropped; "));
  EXPECT_THAT(refused.errors, HasSubstr("broken from level state on"));
  EXPECT_THAT(refused.output, Not(HasSubstr("loss")));
  std::vector<std::string> told = words;
  told.push_back("--resume-rebuild=on");
  const Ended dropped = mini(told);
  EXPECT_EQ(dropped.status, 0) << dropped.errors;
  EXPECT_THAT(dropped.errors, HasSubstr("mini: dropped: decoder.layers.1."));
  EXPECT_THAT(dropped.output, HasSubstr("step 2 loss"));
}

// ---- a full disk

int64_t bytes_under(const fs::path& folder) {
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    bytes += entry.is_regular_file() ? static_cast<int64_t>(entry.file_size()) : 0;
  return bytes;
}

TEST_F(BadCapsule, AFullDiskCostsNoStateAndNoStep) {
  const int64_t one = bytes_under(*saved_ / "good" / "step-000004");
  const SmallDisk disk(5 * one / 2 / 1024);  // two and a half
  if (!disk.mounted()) GTEST_SKIP() << "only root may mount a small disk";
  const std::string capsules = (disk / "capsules").string();
  const Ended ended =
      mini({"--layers=1", "--tp=2", "--steps=6", "--capsule-every=1", "--capsules=" + capsules});
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("step 5 loss"));
  EXPECT_THAT(ended.errors, HasSubstr("No space left on device"));
  EXPECT_THAT(ended.errors, HasSubstr("it is not written: writing stopped"));
  const Ended scanned = nanhunt({"scan", capsules});
  EXPECT_EQ(scanned.status, 0) << scanned.output << scanned.errors;
  EXPECT_THAT(scanned.output, HasSubstr("state that step 1 starts from"));
  const Ended resumed = mini({"--layers=1", "--tp=2", "--steps=3", "--resume=" + capsules});
  EXPECT_EQ(resumed.status, 0) << resumed.errors;
}

}  // namespace
}  // namespace nanhunt::e2e
