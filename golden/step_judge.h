// SPDX-License-Identifier: Apache-2.0
// One step of a run against the entries of a table, in happens-before order, so that what an item
// was made from is judged before it (check.h has the rules).
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "golden/items.h"
#include "golden/result.h"

namespace nanhunt::golden {

struct Judgement {
  Standing standing = Standing::kSame;
  bool passed_on = false;  // different or unjudged because of what it was made from
  bool by_norm_alone = false;
  std::string rule;                  // of what is not the same
  std::string why;                   // evidence, or why it is unjudged
  double measured = 0, allowed = 0;  // in `unit`
  std::string unit;
  double relative = 0;  // norm of the deviation to the expected norm; -1: cannot be measured
  double healthy = 0;   // upper bound of that in a healthy run; 0: bits
  bool noisy = false;   // the entry differs between healthy runs, or this one within noise
};

// What stays the same over the steps of a check.
struct Against {
  const Table& table;
  const oracle::Thresholds& thresholds;
  int64_t judged = 1;  // share the family rate
  std::string excuse;  // why bits may differ; "" when they may not
  bool same_layout = true;
};

class StepJudge {
 public:
  explicit StepJudge(const Against& against) : against_(against) {}

  // Steps ascending. One judgement for each item that has an entry.
  std::map<Key, Judgement> judge(const compare::SideStep& side, const Items& items);

 private:
  // What an item was made from.
  struct Inputs {
    bool known = false;
    bool different = false, unjudged = false, noisy = false;
    double relative = 0, healthy = 0;  // the largest; Inf where one cannot be measured

    void add(const Judgement& judgement);
  };
  using Holder = std::tuple<int32_t, std::string, std::string>;  // rank, site, role

  Judgement judge_item(const Key& key, const Item& item, const Expected& entry);
  Judgement judge_bits(const Key& key, const Item& item, const Expected& entry,
                       const Inputs& inputs) const;
  Judgement judge_noise(const Key& key, const Item& item, const Expected& entry,
                        const Inputs& inputs) const;
  Judgement judge_copy(const Key& key, const Item& item, const Expected& entry,
                       const Inputs& inputs) const;
  Inputs inputs_of(const Key& key, const Item& item) const;
  const Expected& source_of(const Key& key, const Expected& entry) const;
  const Spread* spread_of_kind(const KindKey& kind);
  void remember(const Key& key, const Item& item, const Judgement& judgement);

  const Against& against_;
  const compare::SideStep* side_ = nullptr;
  const Items* items_ = nullptr;
  std::map<Key, Judgement> judgements_;
  std::vector<const Judgement*> of_record_;  // nullptr: without an entry
  std::map<Holder, Judgement> last_;         // of earlier steps, and of this one so far
  std::map<int32_t, Inputs> before_;         // by rank: all of this step so far
  std::map<KindKey, Spread> kind_spreads_;   // relative to the norm: the largest of the kind
};

}  // namespace nanhunt::golden
