// SPDX-License-Identifier: Apache-2.0
// Indices of a Step, and the words for how far a rank got.
#include "trace/trace_reader.h"

namespace nanhunt::trace {

namespace {

int lookup(const std::map<std::pair<int32_t, int64_t>, int>& index, int32_t rank, int64_t key) {
  const auto entry = index.find({rank, key});
  return entry == index.end() ? -1 : entry->second;
}

std::string why(const RankProgress& progress) {
  const std::string reason(name_of(progress.cut));
  return progress.cut_detail.empty() ? reason : reason + ": " + progress.cut_detail;
}

}  // namespace

int Step::find(int32_t rank, int64_t sequence) const {
  return lookup(record_index, rank, sequence);
}

int Step::find_collective(int32_t rank, int64_t log_index) const {
  return lookup(collective_index, rank, log_index);
}

const std::map<What, std::vector<int>>& Step::by_what() const {
  return what_index;
}

void Step::build_index() {
  record_index.clear();
  collective_index.clear();
  what_index.clear();
  for (size_t i = 0; i < records.size(); ++i) {
    const Where& where = records[i].where;
    record_index[{where.rank, where.sequence}] = static_cast<int>(i);
  }
  // In order of rank and sequence, also when `records` is not.
  for (const auto& [place, i] : record_index) {
    what_index[records[static_cast<size_t>(i)].what].push_back(i);
  }
  // Steps made in memory may leave the log indices out: then they count up on each rank.
  std::map<int32_t, int64_t> next;
  const bool given = collective_log_index.size() == collectives.size();
  for (size_t i = 0; i < collectives.size(); ++i) {
    const int32_t rank = collectives[i].rank;
    const int64_t log_index = given ? collective_log_index[i] : next[rank]++;
    collective_index[{rank, log_index}] = static_cast<int>(i);
  }
}

std::string describe_progress(const RankProgress& progress) {
  const std::string rank = "rank " + std::to_string(progress.rank);
  if (!progress.present) {
    const bool told = progress.cut != CutReason::kStepEnd;
    return rank + " wrote nothing" + (told ? " (it died before: " + why(progress) + ")" : "");
  }
  if (progress.complete) return "";
  const std::string sequence = std::to_string(progress.last_sequence);
  if (progress.cut == CutReason::kStepEnd) {
    return rank + " reached the end of the step at sequence " + sequence +
           ", but segments before it are missing";
  }
  std::string text = rank + " ends at sequence " + sequence + ", no further segments";
  if (progress.cut >= CutReason::kTrigger) text += " (" + why(progress) + ")";
  return text;
}

}  // namespace nanhunt::trace
