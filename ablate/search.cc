// SPDX-License-Identifier: Apache-2.0
#include "ablate/search.h"

#include <map>

#include "trace/check.h"

namespace nanhunt::ablate {
namespace {

// Tries each configuration once, however often it is asked for.
class Trials {
 public:
  Trials(const Configuration& all, const TryAll& try_all) : try_all_(try_all) {
    known_[all] = {TrialResult::kFail, ""};
    known_[{}] = {TrialResult::kPass, ""};
  }

  void run(const std::vector<Configuration>& wanted) {
    std::vector<Configuration> fresh;
    for (const Configuration& each : wanted) {
      if (known_.emplace(each, TrialVerdict{}).second) fresh.push_back(each);
    }
    if (fresh.empty()) return;
    const std::vector<TrialVerdict> verdicts = try_all_(fresh);
    NANHUNT_CHECK(verdicts.size() == fresh.size());
    for (size_t i = 0; i < fresh.size(); ++i) known_[fresh[i]] = verdicts[i];
    count_ += static_cast<int>(fresh.size());
  }

  const TrialVerdict& of(const Configuration& configuration) const {
    return known_.at(configuration);
  }
  int count() const { return count_; }

 private:
  const TryAll& try_all_;
  std::map<Configuration, TrialVerdict> known_;
  int count_ = 0;
};

Configuration without(const Configuration& all, const Configuration& left_out) {
  Configuration rest;
  for (const std::string& toggle : all) {
    if (!left_out.contains(toggle)) rest.insert(toggle);
  }
  return rest;
}

std::string unmet(const std::string& what, const TrialVerdict& verdict, const std::string& other) {
  return what + (verdict.result == TrialResult::kUnresolved ? " could not tell: " + verdict.reason
                                                            : other);
}

void confirm(const Configuration& all, Trials& trials, SearchResult& result) {
  const Configuration cause(result.necessary.begin(), result.necessary.end());
  const Configuration rest = without(all, cause);
  trials.run({cause, rest});
  if (trials.of(cause).result != TrialResult::kFail) {
    result.why_not =
        unmet("the reference with only these switched on", trials.of(cause), " does not fail");
  } else if (trials.of(rest).result != TrialResult::kPass) {
    result.why_not = unmet("the failing side without them", trials.of(rest), " still fails");
  } else {
    result.confirmed = true;
  }
}

}  // namespace

SearchResult search_cause(const std::vector<std::string>& toggles, const TryAll& try_all) {
  const Configuration all(toggles.begin(), toggles.end());
  Trials trials(all, try_all);
  std::vector<Configuration> wanted;
  for (const std::string& toggle : toggles) wanted.push_back(without(all, {toggle}));
  for (const std::string& toggle : toggles) wanted.push_back({toggle});
  trials.run(wanted);

  SearchResult result;
  for (const std::string& toggle : toggles) {
    const TrialVerdict& off = trials.of(without(all, {toggle}));
    if (off.result == TrialResult::kPass) result.necessary.push_back(toggle);
    if (off.result == TrialResult::kUnresolved) result.undecided.push_back({toggle, off.reason});
    if (trials.of({toggle}).result == TrialResult::kFail) result.sufficient.push_back(toggle);
  }
  if (!result.necessary.empty()) confirm(all, trials, result);
  result.trials = trials.count();
  return result;
}

int most_trials(size_t toggles) {
  return 2 * static_cast<int>(toggles) + 2;
}

}  // namespace nanhunt::ablate
