// SPDX-License-Identifier: Apache-2.0
#include "repro/state_level.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "capsule/load.h"
#include "capsule/verify.h"
#include "oracle/logical.h"
#include "repro/state_difference.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using capsule::Capsule;
using capsule::Entry;
using oracle::Logical;

using Name = std::pair<std::string, std::string>;  // site, role

// Logical tensors of one side by name.
std::map<Name, Logical> logicals_of(const Capsule& capsule) {
  std::map<Name, Logical> all;
  for (Logical& logical : oracle::assemble(capsule.step(), capsule.reader().facts()))
    all.emplace(Name(logical.what.site, logical.what.role), std::move(logical));
  return all;
}

class Comparison {
 public:
  Comparison(const Capsule& a, const Capsule& b)
      : a_(a), b_(b), logical_a_(logicals_of(a)), logical_b_(logicals_of(b)) {
    for (const auto& [name, logical] : logical_a_) by_digest_[key_of(a_, logical)].push_back(name);
  }

  StateComparison run() {
    std::set<Name> names;
    for (const auto& [name, logical] : logical_a_) names.insert(name);
    for (const auto& [name, logical] : logical_b_) names.insert(name);
    for (const Name& name : names) {
      if (name.first == capsule::kRunSite) continue;
      ++result_.tensors;
      one(name);
    }
    return std::move(result_);
  }

 private:
  using Key = std::tuple<std::vector<int64_t>, trace::DType, uint64_t, uint64_t>;

  static const trace::Record& first_record(const Capsule& capsule, const Logical& logical) {
    const auto& piece = logical.pieces.empty() ? logical.copies.front() : logical.pieces.front();
    return capsule.step().records[static_cast<size_t>(piece.record)];
  }
  static Key key_of(const Capsule& capsule, const Logical& logical) {
    return {logical.shape, first_record(capsule, logical).storage, logical.print.value_digest,
            logical.print.mask_digest};
  }

  void differs(const Name& name, const std::string& what) {
    result_.differences.push_back(
        {name.first + " " + name.second, capsule::kind_of(name.first, name.second), what});
  }

  void one(const Name& name) {
    const auto in_a = logical_a_.find(name), in_b = logical_b_.find(name);
    const auto& facts = capsule::facts_of(capsule::kind_of(name.first, name.second));
    if (in_a == logical_a_.end() || in_b == logical_b_.end()) {
      differs(name, std::string("is in ") + (in_b == logical_b_.end() ? "A" : "B") +
                        " only: without it " + std::string(facts.lost));
      return;
    }
    if (const std::string what = contradiction(name); !what.empty()) {
      if (!same_on_all_ranks(name)) return differs(name, what);
      result_.broken_alike.push_back(name.first + " " + name.second + what.substr(what.find(':')));
      ++result_.equal;
      return;
    }
    if (facts.layout_bound) return by_rank(name);
    if (key_of(a_, in_a->second) == key_of(b_, in_b->second)) {
      ++result_.equal;
      return;
    }
    differs(name, describe(name, in_a->second, in_b->second));
  }

  // What a side's own ranks say differently of it; "" when they agree.
  std::string contradiction(const Name& name) const {
    const std::string tensor = name.first + " " + name.second;
    for (const auto& [side, capsule] : {std::pair("A", &a_), std::pair("B", &b_)}) {
      for (const capsule::Fault& fault : capsule->faults()) {
        if (fault.tensor == tensor)
          return std::string("in ") + side + ": " + fault.what.substr(tensor.size() + 2);
      }
    }
    return "";
  }

  // In one layout, and the same bits on each rank.
  bool same_on_all_ranks(const Name& name) const {
    if (!capsule::same_layout(a_, b_.reader().facts().front())) return false;
    const auto &mine = a_.find(name.first, name.second)->records,
               &other = b_.find(name.first, name.second)->records;
    return std::ranges::equal(mine, other, [&](int one, int two) {
      const auto &a = a_.step().records[static_cast<size_t>(one)],
                 &b = b_.step().records[static_cast<size_t>(two)];
      return a.where.rank == b.where.rank && a.raw_digest == b.raw_digest;
    });
  }

  // Each rank's own.
  void by_rank(const Name& name) {
    if (!capsule::same_layout(a_, b_.reader().facts().front())) {
      result_.not_compared.push_back(name.first + " " + name.second);
      return;
    }
    const Entry &mine = *a_.find(name.first, name.second),
                &other = *b_.find(name.first, name.second);
    for (size_t i = 0; i < std::max(mine.records.size(), other.records.size()); ++i) {
      const auto at = [i](const Capsule& capsule, const Entry& entry) {
        return i < entry.records.size()
                   ? &capsule.step().records[static_cast<size_t>(entry.records[i])]
                   : nullptr;
      };
      const trace::Record *one = at(a_, mine), *two = at(b_, other);
      if (one != nullptr && two != nullptr && one->raw_digest == two->raw_digest) continue;
      differs(name,
              "is another on rank " + std::to_string((one != nullptr ? one : two)->where.rank));
      return;
    }
    ++result_.equal;
  }

  std::string describe(const Name& name, const Logical& mine, const Logical& other) const {
    const trace::Record &one = first_record(a_, mine), &two = first_record(b_, other);
    if (mine.shape != other.shape || one.storage != two.storage) {
      return "is " + std::string(trace::name_of(one.storage)) + " " +
             capsule::shape_text(mine.shape) + " in A, " +
             std::string(trace::name_of(two.storage)) + " " + capsule::shape_text(other.shape) +
             " in B";
    }
    if (const auto owner = owner_of(name, key_of(b_, other)))
      return "holds in B what " + owner->first + " " + owner->second + " has in A";
    return describe_values({a_.step(), a_.reader(), mine}, {b_.step(), b_.reader(), other});
  }

  // The one tensor of A, of that role, with exactly these values; constant ones (zeros, ones) are
  // too common to name an owner.
  std::optional<Name> owner_of(const Name& name, const Key& key) const {
    const auto found = by_digest_.find(key);
    if (found == by_digest_.end()) return std::nullopt;
    std::optional<Name> owner;
    for (const Name& candidate : found->second) {
      if (candidate.second != name.second) continue;
      if (owner) return std::nullopt;
      owner = candidate;
    }
    return owner;
  }

  const Capsule &a_, &b_;
  std::map<Name, Logical> logical_a_, logical_b_;
  std::map<Key, std::vector<Name>> by_digest_;  // of A
  StateComparison result_;
};

}  // namespace

StateComparison compare_state(const Capsule& a, const Capsule& b) {
  a.require_whole(true);
  b.require_whole(true);
  // Tensors are compared by digests, which say nothing of a file whose values changed since.
  capsule::require_undamaged(a);
  capsule::require_undamaged(b);
  return Comparison(a, b).run();
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
