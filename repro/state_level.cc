// SPDX-License-Identifier: Apache-2.0
#include "repro/state_level.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "repro/state_difference.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using capsule::Kind;
using Name = std::pair<std::string, std::string>;  // site, role
using Key = std::tuple<std::vector<int64_t>, std::string, uint64_t, uint64_t>;

Key key_of(const StateTensor& tensor) {
  return {tensor.shape, tensor.type, tensor.value_digest, tensor.mask_digest};
}

// Model and optimizer: where a foreign side has any of such a kind, it has all of it.
bool comes_whole(Kind kind) {
  return kind == Kind::kParameters || kind == Kind::kModelState || kind == Kind::kMasters ||
         kind == Kind::kMoments || kind == Kind::kOptimizerStep;
}

// Which a file of tensors does not tell apart.
Kind merged(Kind kind) {
  return kind == Kind::kModelState ? Kind::kParameters : kind;
}

bool same_layout(const State& a, const State& b) {
  return a.layout && b.layout && a.layout->world_size == b.layout->world_size &&
         a.layout->mesh_size == b.layout->mesh_size;
}

class Comparison {
 public:
  Comparison(const State& a, const State& b)
      : a_(a), b_(b), foreign_(a.foreign || b.foreign), same_layout_(same_layout(a, b)) {
    for (const auto& [name, tensor] : a_.tensors) by_digest_[key_of(tensor)].push_back(&tensor);
  }

  StateComparison run() {
    std::set<Name> names;
    for (const State* side : {&a_, &b_}) {
      for (const auto& [name, tensor] : side->tensors) names.insert(shared_name(name));
    }
    if (foreign_) look_at_kinds();
    for (const Name& name : names) one(name);
    if (foreign_) sort_kinds();
    if (result_.tensors == 0) {
      throw trace::Error(
          trace::ErrorKind::kUnreadable,
          a_.name + " and " + b_.name + " have no kind of state in common: nothing was compared");
    }
    return std::move(result_);
  }

 private:
  // Where a side does not tell buffers from parameters, both are one role.
  bool buffers_as_parameters() const { return !a_.tells_buffers || !b_.tells_buffers; }
  Name shared_name(const Name& name) const {
    return buffers_as_parameters() && name.second == "buffer" ? Name(name.first, "param") : name;
  }
  const StateTensor* find(const State& side, const Name& name) const {
    if (const auto at = side.tensors.find(name); at != side.tensors.end()) return &at->second;
    if (!buffers_as_parameters() || name.second != "param") return nullptr;
    const auto buffer = side.tensors.find({name.first, "buffer"});
    return buffer == side.tensors.end() ? nullptr : &buffer->second;
  }

  void look_at_kinds() {
    std::set<Kind> in_a, in_b;
    for (const auto& [name, tensor] : a_.tensors) in_a.insert(merged(tensor.kind));
    for (const auto& [name, tensor] : b_.tensors) in_b.insert(merged(tensor.kind));
    for (const auto& facts : capsule::all_kinds()) {
      if (facts.kind == Kind::kWriter || facts.kind != merged(facts.kind) || !facts.expected)
        continue;
      const bool a = in_a.contains(facts.kind), b = in_b.contains(facts.kind);
      const bool compared = a && b && (!facts.layout_bound || same_layout_);
      if (!compared) result_.absent.push_back({facts.kind, a, b});
    }
  }

  // Compared is a kind of which at least one tensor was: both may have it under other names.
  void sort_kinds() {
    for (const auto& facts : capsule::all_kinds()) {
      if (!facts.expected || facts.kind != merged(facts.kind)) continue;
      if (compared_.contains(facts.kind)) result_.compared.push_back(facts.kind);
      if (apart_.contains(facts.kind) && !compared_.contains(facts.kind))
        result_.absent.push_back({facts.kind, true, true});
    }
  }

  bool is_absent(Kind kind) const {
    return std::ranges::find(result_.absent, merged(kind), &NotCompared::kind) !=
           result_.absent.end();
  }

  void differs(const StateTensor& tensor, const std::string& what) {
    std::string name = tensor.name();
    if (!tensor.file.empty()) name += " (" + tensor.file + ")";
    result_.differences.push_back({name, tensor.kind, what});
  }

  void one(const Name& name) {
    const StateTensor *mine = find(a_, name), *other = find(b_, name);
    const StateTensor& any = mine != nullptr ? *mine : *other;
    const auto& facts = capsule::facts_of(any.kind);
    if (foreign_ && is_absent(any.kind)) return;
    ++result_.tensors;
    if (mine == nullptr || other == nullptr) return one_sided(any, mine != nullptr, facts);
    compared_.insert(merged(any.kind));
    for (const auto& [side, tensor] : {std::pair("A", mine), std::pair("B", other)}) {
      if (tensor->contradiction.empty()) continue;
      if (!same_on_all_ranks(*mine, *other))
        return differs(any, std::string("in ") + side + ": " + tensor->contradiction);
      result_.broken_alike.push_back(any.name() + ": " + tensor->contradiction);
      ++result_.equal;
      return;
    }
    if (facts.layout_bound) return by_rank(*mine, *other);
    if (key_of(*mine) == key_of(*other) || same_number(*mine, *other)) {
      ++result_.equal;
      return;
    }
    differs(*other, owner_or_difference(*mine, *other));
  }

  // Counters and settings of another program: 1 and 1.0 are one number, whatever wrote them.
  bool same_number(const StateTensor& mine, const StateTensor& other) const {
    if (!foreign_ || comes_whole(mine.kind) || !mine.shape.empty() || !other.shape.empty())
      return false;
    return mine.values() == other.values();
  }

  void one_sided(const StateTensor& tensor, bool in_a, const capsule::KindFacts& facts) {
    const std::string where = std::string("is in ") + (in_a ? "A" : "B") + " only";
    if (foreign_ && !comes_whole(tensor.kind)) {
      result_.not_compared.push_back(tensor.name() + " " + where + ": not compared");
      --result_.tensors;
      apart_.insert(merged(tensor.kind));
      return;
    }
    compared_.insert(merged(tensor.kind));
    differs(tensor, where + ": without it " + std::string(facts.lost));
  }

  // In one layout, and the same bits on each rank.
  bool same_on_all_ranks(const StateTensor& mine, const StateTensor& other) const {
    return same_layout_ && mine.raw_by_rank == other.raw_by_rank;
  }

  // Each rank's own.
  void by_rank(const StateTensor& mine, const StateTensor& other) {
    if (!same_layout_) {
      result_.not_compared.push_back(mine.name() +
                                     " is bound to its layout: not compared, rebuilt on load");
      return;
    }
    for (size_t i = 0; i < std::max(mine.raw_by_rank.size(), other.raw_by_rank.size()); ++i) {
      const auto* one = i < mine.raw_by_rank.size() ? &mine.raw_by_rank[i] : nullptr;
      const auto* two = i < other.raw_by_rank.size() ? &other.raw_by_rank[i] : nullptr;
      if (one != nullptr && two != nullptr && one->second == two->second) continue;
      return differs(other,
                     "is another on rank " + std::to_string((one != nullptr ? one : two)->first));
    }
    ++result_.equal;
  }

  // The one tensor of A, of that role, with exactly these values; constant ones (zeros, ones) are
  // too common to name an owner.
  std::string owner_or_difference(const StateTensor& mine, const StateTensor& other) const {
    const auto found = by_digest_.find(key_of(other));
    const StateTensor* owner = nullptr;
    if (found != by_digest_.end() && mine.shape == other.shape && mine.type == other.type) {
      for (const StateTensor* candidate : found->second) {
        if (candidate->role != mine.role) continue;
        if (owner != nullptr) return describe_difference(mine, other);
        owner = candidate;
      }
    }
    return owner != nullptr ? "holds in B what " + owner->name() + " has in A"
                            : describe_difference(mine, other);
  }

  const State &a_, &b_;
  bool foreign_, same_layout_;
  std::set<Kind> compared_, apart_;  // a tensor of it was compared; one is on one side only
  std::map<Key, std::vector<const StateTensor*>> by_digest_;  // of A
  StateComparison result_;
};

}  // namespace

StateComparison compare_state(const State& a, const State& b) {
  return Comparison(a, b).run();
}

StateComparison compare_state(const capsule::Capsule& a, const capsule::Capsule& b) {
  return compare_state(state_of(a), state_of(b));
}

std::vector<StateDifference> differences_made(const StateComparison& before,
                                              const StateComparison& after) {
  std::set<std::string> known;
  for (const StateDifference& difference : before.differences) known.insert(difference.tensor);
  std::vector<StateDifference> made;
  for (const StateDifference& difference : after.differences) {
    if (!known.contains(difference.tensor)) made.push_back(difference);
  }
  return made;
}

}  // namespace nanhunt::repro
