// SPDX-License-Identifier: Apache-2.0
// Which older capsules of a folder stay when a new one is begun.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>

namespace nanhunt::hooks {

// Of capsules older than the one that is begun stay the newest `keep` whole ones, so that a writer
// that fails from now on costs no state, and the newest `keep` of any kind. Whole: every rank ended
// the step. Opens the files of one older capsule a call, as a rule. One thread.
class CapsuleRing {
 public:
  // look_inside: values may have been left out of a step that every rank ended.
  CapsuleRing(std::filesystem::path folder, int64_t keep, bool look_inside);

  // keep 0: nothing is removed. What cannot be removed stays.
  void forget_older_than(int64_t step);

 private:
  bool is_whole(int64_t step);

  std::filesystem::path folder_;
  int64_t keep_;
  bool look_inside_;
  std::set<int64_t> whole_;  // known to be
};

// Removes what an earlier run left of that rank and step: its files may be more than the new ones.
void remove_segments(const std::filesystem::path& folder, int64_t step, int32_t rank);

}  // namespace nanhunt::hooks
