// SPDX-License-Identifier: Apache-2.0
#include "bisect/commits.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "bisect/command_template.h"
#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

using trace::Error;
using trace::ErrorKind;

constexpr double kLimit_s = 3600;  // of one call of git; a checkout may fetch large files

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

Repository::Repository(std::filesystem::path folder, std::filesystem::path scratch,
                       ablate::ChildRunner& children)
    : folder_(std::move(folder)), scratch_(std::move(scratch)), children_(children) {}

ablate::ChildOutcome Repository::run(const std::vector<std::string>& words) const {
  std::vector<std::string> all = {"git", "-C", folder_.string()};
  all.insert(all.end(), words.begin(), words.end());
  const ablate::ChildOutcome outcome =
      children_.run({all, {{"LC_ALL", "C"}}, scratch_ / "git.out", scratch_ / "git.err", kLimit_s});
  if (outcome.end == ablate::ChildEnd::kNotStarted) {
    throw Error(ErrorKind::kUnreadable, ablate::describe(outcome));
  }
  return outcome;
}

bool Repository::succeeds(const std::vector<std::string>& words) const {
  const ablate::ChildOutcome outcome = run(words);
  return outcome.end == ablate::ChildEnd::kExited && outcome.status == 0;
}

std::string Repository::git(const std::vector<std::string>& words) const {
  if (succeeds(words)) return text_of(scratch_ / "git.out");
  const std::string last = ablate::tail_of(scratch_ / "git.err", 1);
  throw Error(ErrorKind::kUnreadable,
              folder_.string() + ": `git " + quoted(words) + "` failed: " + last);
}

Items Repository::commits(const std::string& range) const {
  const size_t dots = range.find("..");
  const std::string good_name = range.substr(0, dots);
  const std::string bad_name = dots == std::string::npos ? "" : range.substr(dots + 2);
  if (good_name.empty() || bad_name.empty() || bad_name.front() == '.') {
    throw Error(ErrorKind::kUsage, "--commits '" + range + "': it is written GOOD..BAD");
  }
  const auto hash_of = [&](const std::string& name) {
    return first_line(git({"rev-parse", "--verify", "--end-of-options", name + "^{commit}"}));
  };
  const std::string good = hash_of(good_name), bad = hash_of(bad_name);
  if (good == bad) throw Error(ErrorKind::kUsage, "--commits '" + range + "': one commit");
  if (!succeeds({"merge-base", "--is-ancestor", good, bad})) {
    throw Error(ErrorKind::kUnreadable, "--commits '" + range + "': " + bad_name +
                                            " does not descend from " + good_name +
                                            "; a search needs a good commit before the bad one");
  }
  Items items = {{good, first_line(git({"show", "-s", "--format=%s", good}))}};
  std::istringstream lines(
      git({"rev-list", "--reverse", "--first-parent", "--format=%H %s", good + ".." + bad}));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("commit ")) continue;  // rev-list puts it before each formatted line
    const size_t blank = line.find(' ');
    items.push_back({line.substr(0, blank), line.substr(blank + 1)});
  }
  return items;
}

std::string Repository::checkout_command(const std::string& commit,
                                         const std::string& folder) const {
  const std::string repository = std::filesystem::absolute(folder_).lexically_normal().string();
  return quoted(Words{"git", "-C", repository, "worktree", "add", "--detach", folder, commit});
}

void Repository::remove_worktree(const std::filesystem::path& worktree) const {
  // Twice `--force` removes one that is locked or changed.
  succeeds({"worktree", "remove", "--force", "--force", worktree.string()});
  std::error_code error;
  std::filesystem::remove_all(worktree, error);
  if (error) {
    throw Error(ErrorKind::kInternal,
                worktree.string() + ": cannot be removed: " + error.message());
  }
  succeeds({"worktree", "prune"});
}

void Repository::add_worktree(const std::string& commit,
                              const std::filesystem::path& worktree) const {
  git({"worktree", "add", "--detach", worktree.string(), commit});
}

Checkout::Checkout(const Repository& repository, const std::string& commit,
                   const std::filesystem::path& worktree)
    : repository_(repository), worktree_(worktree) {
  repository_.remove_worktree(worktree_);  // what a search that was killed has left
  repository_.add_worktree(commit, worktree_);
}

Checkout::~Checkout() {
  try {
    repository_.remove_worktree(worktree_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nanhunt: %s\n", error.what());
  }
}

}  // namespace nanhunt::bisect
