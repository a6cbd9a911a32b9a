// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/replay_index.h"

#include <algorithm>

#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {

using trace::Phase;
using trace::Record;

namespace {

bool names_gradient(const std::string& role) {
  return role.starts_with("grad") || role == "main_grad";
}

}  // namespace

bool is_forward(const Record& record) {
  return record.what.phase == Phase::kForward || record.what.phase == Phase::kLoss;
}

ReplayIndex::ReplayIndex(const trace::Step& step) : step_(&step) {
  // In program order: a link leads to an earlier record.
  for (const Record& record : step.records) {
    bool gradient = record.what.phase == Phase::kBackward ||
                    (!is_forward(record) && names_gradient(record.what.role));
    // Operands and results of collectives that no program named: what they were made of tells.
    for (const trace::Link& link : record.links) {
      if (gradient || is_forward(record) || link.sequence >= record.where.sequence) break;
      const int at = step.find(record.where.rank, link.sequence);
      gradient = at >= 0 && static_cast<size_t>(at) < gradient_.size() &&
                 gradient_[static_cast<size_t>(at)];
    }
    gradient_.push_back(gradient);
  }
  for (const Record& record : step.records) {
    if (!is_forward(record) || record.op.empty()) continue;
    makers_[{record.where.rank, record.what.site}].push_back(&record);
  }
}

const Record* ReplayIndex::maker(const Record& like, const std::string& site,
                                 const std::string& role) const {
  const auto at = makers_.find({like.where.rank, site});
  if (at == makers_.end()) return nullptr;
  const Record* best = nullptr;
  int best_score = -1;
  for (const Record* record : at->second) {
    const bool same = record->what.role == role;
    if (!same && record->what.role != "output") continue;
    const int score = 2 * same + (record->where.microbatch == like.where.microbatch);
    if (score > best_score) best = record;
    best_score = std::max(best_score, score);
  }
  return best;
}

bool ReplayIndex::consumes(const Record& like, const std::string& consumer,
                           const std::string& producer) const {
  const auto at = makers_.find({like.where.rank, consumer});
  if (at == makers_.end()) return false;
  for (const Record* record : at->second) {
    if (record->where.microbatch != like.where.microbatch) continue;
    for (const trace::Link& link : record->links) {
      const int source = step_->find(record->where.rank, link.sequence);
      if (source < 0) continue;
      const auto& what = record_at(*step_, source).what;
      if (what.site == producer && what.role.starts_with("output")) return true;
    }
  }
  return false;
}

bool ReplayIndex::is_gradient(const Record& record) const {
  return gradient_[static_cast<size_t>(&record - step_->records.data())];
}

}  // namespace nanhunt::oracle
