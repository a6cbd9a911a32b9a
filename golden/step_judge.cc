// SPDX-License-Identifier: Apache-2.0
#include "golden/step_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "compare/numbers.h"
#include "golden/check.h"

namespace nanhunt::golden {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double ratio(double difference, double norm) {
  if (difference == 0) return 0;
  return norm == 0 ? kInf : difference / norm;
}

// Relative to the expected norm; -1 without sketches of equal masks.
double relative_distance(const Item& item, const Expected& entry) {
  if (!item.sketch || !entry.sketch || item.mask != entry.mask) return -1;
  return ratio(distance(*item.sketch, *entry.sketch), entry.norm);
}

// The coarsest rounding that the exporting runs stored floating-point tensors by.
double coarsest_rounding(const Table& table) {
  double coarsest = 0;
  for (const auto& [setting, values] : table.configuration) {
    if (!setting.starts_with("storage of ")) continue;
    for (const std::string& names : values) {
      std::istringstream words(names);
      for (std::string name; words >> name;) {
        const auto type = trace::dtype_from_name(name);
        if (type && trace::is_floating(*type))
          coarsest = std::max(coarsest, trace::unit_roundoff(*type));
      }
    }
  }
  return coarsest;
}

// Relative to the norm. Small noise in front of a coarse rounding shows as few large jumps: most
// runs have none, and a spread over few runs says nothing of the next. An element jumps by at most
// one spacing, 2 u |x|, the largest of `count` normal values is lambda / sqrt(count) of the norm,
// and of jumps that come at most once a run on average no more than kJumps come together at a rate
// of 1e-9 (Poisson). They move a scalar only where it is stored that coarsely itself: otherwise it
// is a sum over many elements.
constexpr double kJumps = 12;
double by_jumps(const Table& table, const trace::Record& record, uint64_t elements,
                const oracle::Thresholds& thresholds) {
  if (!trace::is_floating(record.storage) || elements == 0) return 0;
  const double u = elements == 1 ? trace::unit_roundoff(record.storage) : coarsest_rounding(table);
  const double largest =
      std::min(1.0, thresholds["suspicious_lambda"] / std::sqrt(static_cast<double>(elements)));
  return std::sqrt(kJumps) * 2 * u * largest;
}

bool born_non_finite(const Item& item, const Expected& entry) {
  return item.non_finite > 0 && entry.non_finite == 0 && !entry.mask_varies;
}

Judgement different(const std::string& rule, const std::string& why, double measured,
                    double allowed, const std::string& unit) {
  Judgement judgement;
  judgement.standing = Standing::kDifferent;
  judgement.rule = rule;
  judgement.why = why;
  judgement.measured = measured;
  judgement.allowed = allowed;
  judgement.unit = unit;
  judgement.relative = kInf;
  return judgement;
}

void leave_unjudged(Judgement& judgement, const std::string& why) {
  judgement.standing = Standing::kUnjudged;
  judgement.why = why;
}

}  // namespace

const Expected& StepJudge::source_of(const Key& key, const Expected& entry) const {
  if (!entry.copy_of) return entry;
  Key source = key;
  source.rank = *entry.copy_of;
  const auto found = against_.table.entries.find(source);
  return found == against_.table.entries.end() ? entry : found->second;
}

const Spread* StepJudge::spread_of_kind(const KindKey& kind) {
  if (!against_.table.kinds.contains(kind)) return nullptr;
  auto found = kind_spreads_.find(kind);
  if (found == kind_spreads_.end()) {
    Spread largest;
    for (const auto& [key, entry] : against_.table.entries) {
      if (entry.distance.contrasts == 0 || entry.norm == 0 || kind_of(key.what) != kind) continue;
      const double square = entry.distance.mean_square / (entry.norm * entry.norm);
      if (square >= largest.mean_square) largest = {entry.distance.contrasts, square};
    }
    found = kind_spreads_.emplace(kind, largest).first;
  }
  return found->second.contrasts > 0 ? &found->second : nullptr;
}

void StepJudge::Inputs::add(const Judgement& judgement) {
  known = true;
  noisy = noisy || judgement.noisy;
  if (judgement.standing == Standing::kSame) return;
  different = different || judgement.standing == Standing::kDifferent;
  unjudged = unjudged || judgement.standing == Standing::kUnjudged;
  relative = std::max(relative, judgement.relative < 0 ? kInf : judgement.relative);
  healthy = std::max(healthy, judgement.healthy);
}

StepJudge::Inputs StepJudge::inputs_of(const Key& key, const Item& item) const {
  Inputs inputs;
  for (const int record : item.records) {
    for (const int input : side_->flow->inputs(record)) {
      const Judgement* judgement = of_record_[static_cast<size_t>(input)];
      if (judgement != nullptr && std::ranges::find(item.records, input) == item.records.end())
        inputs.add(*judgement);
    }
  }
  if (inputs.known) return inputs;
  const trace::Record& record = side_->record(item.records.front());
  // A parameter or moment at the start of a step is what the step before left.
  const auto last = last_.find({record.where.rank, key.what.site, key.what.role});
  if (last != last_.end()) inputs.add(last->second);
  // Data, parameters and settings are made from nothing; of other values that is only not recorded,
  // and they may come from all that their rank did before. FP64 would have shown noise of any size.
  const bool leaf = !trace::is_floating(record.storage) ||
                    record.storage == trace::DType::kFloat64 ||
                    (key.what.phase == trace::Phase::kForward && key.what.role == "param");
  const auto before = before_.find(record.where.rank);
  if (leaf || before == before_.end()) return inputs;
  Inputs all = before->second;
  if (last != last_.end()) all.add(last->second);
  return all;
}

// Copies that were equal in all exporting runs must be equal; and it has the noise of what it is a
// copy of.
Judgement StepJudge::judge_copy(const Key& key, const Item& item, const Expected& entry,
                                const Inputs& inputs) const {
  const Judgement own = judge_noise(key, item, source_of(key, entry), inputs);
  Key source = key;
  source.rank = *entry.copy_of;
  const auto found = items_->find(source);
  if (found == items_->end() || found->second.digest == item.digest) return own;
  Judgement judgement = different(
      "copies",
      "not equal to rank " + std::to_string(source.rank) + "'s, as in all exporting runs; " +
          (own.standing == Standing::kDifferent ? "beyond noise, too"
                                                : "which of them is wrong is not known"),
      2, 1, "distinct copies");
  judgement.passed_on = inputs.different;
  return judgement;
}

Judgement StepJudge::judge_noise(const Key& key, const Item& item, const Expected& entry,
                                 const Inputs& inputs) const {
  if (item.mask != entry.mask)
    return different("non_finite", "non-finite values at other places than in the exporting runs",
                     static_cast<double>(item.non_finite), static_cast<double>(entry.non_finite),
                     "elements");
  Judgement judgement;
  judgement.standing = Standing::kWithin;
  judgement.rule = "noise";
  judgement.unit = "relative norm";
  judgement.noisy = true;
  const auto& table = against_.table;
  double worst = -1;
  const double jumps =
      by_jumps(table, side_->record(item.records.front()), entry.count, against_.thresholds);
  const auto hold = [&](double value, const Spread& spread, const Shape& shape,
                        const std::string& unit) {
    if (spread.contrasts == 0 || spread.mean_square == 0) return;
    const double high =
        std::hypot(bound(spread, shape, against_.judged, against_.thresholds), jumps * entry.norm);
    if (value / high <= worst) return;
    worst = value / high;
    judgement.measured = ratio(value, entry.norm);
    judgement.allowed = ratio(high, entry.norm);
    judgement.unit = unit;
  };
  const double norm_off = std::abs(item.norm - entry.norm);
  const bool has_distance = item.sketch && entry.sketch && entry.distance.mean_square > 0;
  if (has_distance) {
    const auto shape = table.kinds.find(kind_of(key.what));
    hold(distance(*item.sketch, *entry.sketch), entry.distance,
         shape == table.kinds.end() ? kOfNumbers : shape->second, "relative norm");
    judgement.healthy = judgement.allowed;
  }
  hold(norm_off, entry.norms, kOfNumbers, "relative change of the norm");
  judgement.by_norm_alone = !has_distance;
  if (!has_distance) judgement.healthy = judgement.allowed;
  const double relative = relative_distance(item, entry);
  judgement.relative = relative >= 0 ? relative : ratio(norm_off, entry.norm);
  if (worst < 0) {  // bits alone differed, the values did not
    if (judgement.relative > 0) leave_unjudged(judgement, "no spread of the values was seen");
    return judgement;
  }
  if (worst <= 1) return judgement;
  judgement.standing = Standing::kDifferent;
  judgement.passed_on = inputs.different;
  judgement.why = compare::short_number(worst) + " times the bound of " +
                  std::to_string(table.runs) + " exporting runs";
  if (!against_.excuse.empty() && inputs.unjudged && !inputs.different &&
      judgement.relative <= kGrowth * inputs.relative) {
    leave_unjudged(judgement, "beyond noise, behind bits that differ: " + against_.excuse);
    judgement.passed_on = true;
  }
  return judgement;
}

Judgement StepJudge::judge_bits(const Key& key, const Item& item, const Expected& entry,
                                const Inputs& inputs) const {
  Judgement judgement;
  judgement.rule = "bits";
  judgement.measured = judgement.relative = relative_distance(item, source_of(key, entry));
  judgement.unit = "relative norm";
  if (!against_.excuse.empty()) {
    leave_unjudged(judgement, "bits differ, " + against_.excuse);
    judgement.passed_on = inputs.different || inputs.unjudged;
  } else if (entry.kind == Class::kUnjudged) {
    leave_unjudged(judgement, entry.why);
    judgement.passed_on = inputs.different || inputs.unjudged;
  } else if (inputs.different) {
    judgement.standing = Standing::kDifferent;
    judgement.passed_on = true;
    judgement.why = "bits differ";
  } else if (inputs.unjudged) {
    leave_unjudged(judgement, "bits differ, behind what is unjudged");
    judgement.passed_on = true;
  } else if (inputs.noisy) {
    judgement.noisy = true;
    judgement.allowed = judgement.healthy = inputs.healthy;
    if (judgement.relative >= 0 && judgement.relative <= inputs.healthy) {
      judgement.standing = Standing::kWithin;
      judgement.rule = "noise";
    } else {
      leave_unjudged(judgement, "bits differ behind noise, and no exporting run shows how far");
    }
  } else {
    judgement.standing = Standing::kDifferent;
    judgement.why = "bits differ; they were equal in all " + std::to_string(against_.table.runs) +
                    " exporting runs";
  }
  return judgement;
}

Judgement StepJudge::judge_item(const Key& key, const Item& item, const Expected& entry) {
  if (born_non_finite(item, entry)) {
    Judgement judgement = different("non_finite", "no exporting run had a non-finite value there",
                                    static_cast<double>(item.non_finite), 0, "elements");
    judgement.passed_on = inputs_of(key, item).different;
    return judgement;
  }
  if (std::ranges::find(entry.digests, item.digest) != entry.digests.end()) return {};
  const Inputs inputs = inputs_of(key, item);
  if (item.count != entry.count) {
    Judgement judgement =
        different("size", "another number of elements than in the exporting runs",
                  static_cast<double>(item.count), static_cast<double>(entry.count), "elements");
    judgement.passed_on = inputs.different;
    if (!against_.excuse.empty()) leave_unjudged(judgement, "another size, " + against_.excuse);
    return judgement;
  }
  if (entry.kind == Class::kNoise) {
    if (entry.copy_of) return judge_copy(key, item, entry, inputs);
    return judge_noise(key, item, entry, inputs);
  }
  const Expected& source = source_of(key, entry);
  const Spread* spread = entry.kind == Class::kBit ? spread_of_kind(kind_of(key.what)) : nullptr;
  if (spread == nullptr || !source.sketch || item.mask != entry.mask)
    return judge_bits(key, item, entry, inputs);
  // Others of its kind have noise; that all exporting runs were equal here was luck.
  Expected like = source;
  like.distance = {spread->contrasts, spread->mean_square * source.norm * source.norm};
  like.norms = {};
  return judge_noise(key, item, like, inputs);
}

void StepJudge::remember(const Key& key, const Item& item, const Judgement& judgement) {
  for (const int record : item.records) {
    of_record_[static_cast<size_t>(record)] = &judgement;
    const int32_t rank = side_->record(record).where.rank;
    last_[{rank, key.what.site, key.what.role}] = judgement;
    before_[rank].add(judgement);
  }
}

std::map<Key, Judgement> StepJudge::judge(const compare::SideStep& side, const Items& items) {
  side_ = &side;
  items_ = &items;
  judgements_.clear();
  before_.clear();
  of_record_.assign(side.step->records.size(), nullptr);
  using Placed = std::pair<int, const Key*>;
  std::vector<Placed> order;
  for (const auto& [key, item] : items) {
    int position = std::numeric_limits<int>::max();
    for (const int record : item.records)
      position = std::min(position, side.order->position(record));
    order.emplace_back(position, &key);
  }
  std::ranges::sort(order, [](const Placed& a, const Placed& b) {
    return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
  });
  for (const auto& [position, key] : order) {
    const auto entry = against_.table.entries.find(*key);
    if (entry == against_.table.entries.end()) continue;
    const Item& item = items.at(*key);
    const auto made = judgements_.emplace(*key, judge_item(*key, item, entry->second)).first;
    remember(*key, item, made->second);
  }
  return std::move(judgements_);
}

}  // namespace nanhunt::golden
