// SPDX-License-Identifier: Apache-2.0
#include "golden/table_maker.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace nanhunt::golden {
namespace {

constexpr const char* kOneRun = "one exporting run shows nothing";

// Ranks that hold the same bits under one name in the first run, ascending.
using Holders = std::map<std::tuple<trace::What, int32_t, int32_t, uint64_t>, std::vector<int32_t>>;

Holders holders_of(const Items& items) {
  Holders holders;
  for (const auto& [key, item] : items)
    holders[{key.what, key.microbatch, key.repeat, item.digest}].push_back(key.rank);
  return holders;
}

// The lowest rank whose digest this entry shares in every run.
std::optional<int32_t> lower_copy(const Key& key, const std::vector<Items>& runs,
                                  const Holders& holders) {
  const auto shares = [&](const Key& other) {
    return std::ranges::all_of(runs, [&](const Items& items) {
      const auto mine = items.find(key), theirs = items.find(other);
      return mine != items.end() && theirs != items.end() &&
             mine->second.digest == theirs->second.digest;
    });
  };
  const auto first = runs.front().find(key);
  if (first == runs.front().end()) return std::nullopt;
  for (const int32_t rank :
       holders.at({key.what, key.microbatch, key.repeat, first->second.digest})) {
    if (rank >= key.rank) break;
    Key other = key;
    other.rank = rank;
    if (shares(other)) return rank;
  }
  return std::nullopt;
}

void add_distances(const Key& key, const std::vector<const Item*>& items, Expected& entry,
                   std::map<KindKey, ShapeSum>& kinds) {
  std::vector<trace::Sketch> sketches;
  for (const Item* item : items) {
    if (item->sketch) sketches.push_back(*item->sketch);
  }
  if (sketches.size() != items.size()) return;  // unknown placement: the norm alone judges
  const auto squares = contrast_squares(sketches);
  entry.distance = spread_of(squares);
  entry.sketch = mean_of(sketches);
  kinds[kind_of(key.what)].add(squares);
}

bool mask_varies(const std::vector<const Item*>& seen) {
  const Item& first = *seen.front();
  return std::ranges::any_of(seen, [&](const Item* item) {
    return item->mask != first.mask || item->non_finite != first.non_finite;
  });
}

bool same_loss(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

std::string TableMaker::obstacle(const std::vector<const Item*>& seen) const {
  if (static_cast<int>(seen.size()) < table_.runs) {
    return "in " + std::to_string(seen.size()) + " of " + std::to_string(table_.runs) +
           " exporting runs";
  }
  const Item& first = *seen.front();
  for (const Item* item : seen) {
    if (item->count != first.count) return "other sizes in the exporting runs";
  }
  return mask_varies(seen) ? "non-finite values at other places in the exporting runs" : "";
}

Expected TableMaker::entry_of(const std::vector<const Item*>& seen) const {
  const Item& first = *seen.front();
  Expected entry;
  entry.count = first.count;
  entry.non_finite = first.non_finite;
  entry.mask = first.mask;
  entry.mask_varies = mask_varies(seen);
  std::vector<double> norms;
  for (const Item* item : seen) {
    norms.push_back(item->norm);
    if (std::ranges::find(entry.digests, item->digest) == entry.digests.end())
      entry.digests.push_back(item->digest);
  }
  entry.norm = mean_of(norms);
  const bool equal = entry.digests.size() == 1;
  entry.why = obstacle(seen);
  if (!entry.why.empty()) return entry;
  if (equal && bits_shown_) {
    entry.kind = Class::kBit;
  } else if (!equal && no_spread_.empty()) {
    entry.kind = Class::kNoise;
    entry.digests.clear();
    entry.norms = spread_of(contrast_squares(norms));
  } else {
    entry.why = equal ? kOneRun : no_spread_;
  }
  return entry;
}

// From the first noise on, what was equal in all runs may still be flipped by it: how far must be
// measurable then.
void TableMaker::keep_sketches(const Seen& seen) {
  for (const auto& [key, items] : seen) {
    Expected& entry = table_.entries.at(key);
    if (entry.kind == Class::kBit && !entry.copy_of) entry.sketch = items.front()->sketch;
  }
}

void TableMaker::add_step(int64_t step, const std::vector<Items>& runs) {
  table_.steps.insert(step);
  Seen seen;
  for (const auto& items : runs) {
    for (const auto& [key, item] : items) seen[key].push_back(&item);
  }
  const Holders holders = holders_of(runs.front());
  std::map<KindKey, ShapeSum> kinds;
  for (const auto& [key, items] : seen) {
    Expected entry = entry_of(items);
    if (entry.kind != Class::kUnjudged) entry.copy_of = lower_copy(key, runs, holders);
    if (entry.kind == Class::kNoise && !entry.copy_of) add_distances(key, items, entry, kinds);
    noisy_ = noisy_ || entry.kind == Class::kNoise;
    table_.entries.emplace(key, std::move(entry));
  }
  for (const auto& [kind, sum] : kinds) table_.kinds[kind] = sum.shape();
  if (noisy_) keep_sketches(seen);
}

CurvePoint TableMaker::point_of(const std::vector<double>& values) const {
  CurvePoint point;
  const bool equal =
      std::ranges::all_of(values, [&](double value) { return same_loss(value, values.front()); });
  const bool finite =
      std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  point.values = equal ? std::vector<double>{values.front()} : values;
  if (static_cast<int>(values.size()) < table_.runs) {
    point.why = "not in each exporting run";
  } else if (equal && bits_shown_) {
    point.kind = Class::kBit;
  } else if (equal || !no_spread_.empty()) {
    point.why = equal ? kOneRun : no_spread_;
  } else if (!finite) {
    point.why = "NaN or Inf in some exporting runs";
  } else {
    point.kind = Class::kNoise;
    point.values.clear();
    point.mean = mean_of(values);
    point.spread = spread_of(contrast_squares(values));
  }
  return point;
}

void TableMaker::add_curves(const std::vector<std::vector<compare::Loss>>& runs) {
  std::map<CurveKey, std::vector<double>> seen;
  for (const auto& losses : runs) {
    for (const auto& loss : losses)
      seen[{loss.site, loss.role, loss.step}].push_back(loss.candidate);
  }
  for (const auto& [key, values] : seen) table_.curves[key] = point_of(values);
}

}  // namespace nanhunt::golden
