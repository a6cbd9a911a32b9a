// SPDX-License-Identifier: Apache-2.0
// Commits as items, and a checkout for each run: a git worktree of its own, made anew and removed
// after the run, so that no run sees what another one built and the user's checkout stays as it is.
#pragma once

#include <filesystem>
#include <string>

#include "ablate/child.h"
#include "bisect/items.h"

namespace nanhunt::bisect {

class Repository {
 public:
  // `scratch`: a folder for git's output, there already. Both outlive this object.
  Repository(std::filesystem::path folder, std::filesystem::path scratch,
             ablate::ChildRunner& children);

  // "GOOD..BAD": GOOD, then `git rev-list --reverse --first-parent GOOD..BAD`, full hashes, with
  // their subjects as labels. Throws Error(kUsage) for another form, Error(kUnreadable) for no
  // repository, an unknown commit, or a GOOD that BAD does not descend from.
  Items commits(const std::string& range) const;
  // What a user types to get the same checkout.
  std::string checkout_command(const std::string& commit, const std::string& folder) const;
  // Removes a worktree that is there, and what git knows of it. Throws Error(kInternal).
  void remove_worktree(const std::filesystem::path& worktree) const;
  void add_worktree(const std::string& commit, const std::filesystem::path& worktree) const;

 private:
  // Standard output. Throws Error(kUnreadable) with git's last line.
  std::string git(const std::vector<std::string>& words) const;
  bool succeeds(const std::vector<std::string>& words) const;
  ablate::ChildOutcome run(const std::vector<std::string>& words) const;

  std::filesystem::path folder_, scratch_;
  ablate::ChildRunner& children_;
};

// A worktree of one commit, for as long as this object lives.
class Checkout {
 public:
  Checkout(const Repository& repository, const std::string& commit,
           const std::filesystem::path& worktree);
  ~Checkout();
  Checkout(const Checkout&) = delete;
  Checkout& operator=(const Checkout&) = delete;

 private:
  const Repository& repository_;
  std::filesystem::path worktree_;
};

}  // namespace nanhunt::bisect
