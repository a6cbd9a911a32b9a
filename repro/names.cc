// SPDX-License-Identifier: Apache-2.0
#include "repro/names.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "oracle/logical.h"

namespace nanhunt::repro {
namespace {

using capsule::Capsule;
using Key = std::tuple<std::vector<int64_t>, trace::DType, uint64_t, uint64_t>;

struct Print {
  Key key;  // shape, type, digests of values and of what is not finite
  bool constant = false;
};

using Prints = std::map<std::string, Print>;  // by parameter

Prints parameters_of(const Capsule& capsule) {
  Prints prints;
  for (const auto& logical : oracle::assemble(capsule.step(), capsule.reader().facts())) {
    const auto& what = logical.what;
    const bool parameter =
        capsule::kind_of(what.site, what.role) == capsule::Kind::kParameters && logical.complete;
    if (!parameter || logical.pieces.empty()) continue;
    const auto& record = capsule.step().records[static_cast<size_t>(logical.pieces.front().record)];
    prints[what.site] = {
        {logical.shape, record.storage, logical.print.value_digest, logical.print.mask_digest},
        logical.statistics.non_finite() == 0 && logical.statistics.min == logical.statistics.max};
  }
  return prints;
}

// Names of one side by what tells them apart; `of` gives nothing for those that cannot be told.
template <class Mark, class Of>
std::map<Mark, std::vector<std::string>> grouped(const std::vector<std::string>& names,
                                                 const Prints& prints, const Of& of) {
  std::map<Mark, std::vector<std::string>> groups;
  for (const std::string& name : names) {
    const auto found = prints.find(name);
    if (found == prints.end()) continue;
    if (const auto mark = of(found->second)) groups[*mark].push_back(name);
  }
  return groups;
}

// Moves the pairs that a mark joins one to one out of both lists.
template <class Mark, class Of>
void pair_up(NameDifferences& names, std::vector<std::pair<std::string, std::string>>& into,
             const Prints& a, const Prints& b, const Of& of) {
  const auto mine = grouped<Mark>(names.only_a, a, of), others = grouped<Mark>(names.only_b, b, of);
  for (const auto& [mark, group] : mine) {
    const auto found = others.find(mark);
    if (group.size() != 1 || found == others.end() || found->second.size() != 1) continue;
    into.emplace_back(group.front(), found->second.front());
    std::erase(names.only_a, group.front());
    std::erase(names.only_b, found->second.front());
  }
}

std::vector<std::string> without(const Prints& mine, const Prints& others) {
  std::vector<std::string> names;
  for (const auto& [name, print] : mine) {
    if (!others.contains(name)) names.push_back(name);
  }
  return names;
}

std::set<std::string> sites_of(const trace::Step& step) {
  std::set<std::string> sites, parameters;
  for (const auto& record : step.records) {
    if (record.what.role == "param") parameters.insert(record.what.site);
  }
  for (const auto& record : step.records) {
    if (!parameters.contains(record.what.site)) sites.insert(trace::site_kind(record.what.site));
  }
  return sites;
}

std::vector<std::string> minus(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> left;
  std::ranges::set_difference(a, b, std::back_inserter(left));
  return left;
}

}  // namespace

NameDifferences compare_names(const std::vector<std::pair<const Capsule*, const Capsule*>>& pairs) {
  std::vector<std::pair<Prints, Prints>> prints;
  for (const auto& [a, b] : pairs) prints.emplace_back(parameters_of(*a), parameters_of(*b));
  NameDifferences names;
  names.only_a = without(prints.front().first, prints.front().second);
  names.only_b = without(prints.front().second, prints.front().first);
  for (const auto& [a, b] : prints) {
    pair_up<Key>(names, names.renamed, a, b, [](const Print& print) {
      return print.constant ? std::nullopt : std::optional<Key>(print.key);
    });
  }
  const auto& [a, b] = prints.front();
  pair_up<Key>(names, names.guessed, a, b, [](const Print& print) {
    return print.constant ? std::optional<Key>(print.key) : std::nullopt;
  });
  std::ranges::sort(names.renamed);
  return names;
}

SiteDifferences compare_sites(const trace::Step& a, const trace::Step& b) {
  const auto mine = sites_of(a), others = sites_of(b);
  return {minus(mine, others), minus(others, mine)};
}

}  // namespace nanhunt::repro
