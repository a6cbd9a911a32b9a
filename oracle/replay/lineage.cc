// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/lineage.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "oracle/replay/poison.h"
#include "oracle/rules/reduction_range.h"

namespace nanhunt::oracle {
namespace {

using trace::Phase;
using trace::Record;

// First Inf, else first NaN, else -1.
int64_t first_non_finite(const std::vector<double>& values) {
  const auto inf = std::ranges::find_if(values, [](double v) { return std::isinf(v); });
  if (inf != values.end()) return inf - values.begin();
  const auto nan = std::ranges::find_if(values, [](double v) { return std::isnan(v); });
  return nan != values.end() ? nan - values.begin() : -1;
}

std::vector<const Record*> operands_of(const trace::Step& step, const Record& record) {
  std::vector<const Record*> operands;
  for (const trace::Link& link : record.links) {
    const int at = step.find(record.where.rank, link.sequence);
    if (at >= 0) operands.push_back(&record_at(step, at));
  }
  return operands;
}

// A parameter or datum as the step finds it.
bool is_loaded(const Record& record) {
  return record.what.phase == Phase::kForward && record.links.empty();
}

bool only_moves(const std::string& op) {
  static const std::set<std::string> kMoves{"all_gather", "gather", "scatter", "broadcast",
                                            "all_to_all", "send",   "recv"};
  return kMoves.contains(op);
}

// Of a result that is not finite where all operands are.
Lineage of_finite_operands(const trace::Step& step, const Meeting& meeting,
                           const trace::Collective& entry, size_t position) {
  const std::string finite = entry.op + ": all operands are finite";
  if (only_moves(entry.op)) return {"not_from_operands", finite + ", and it only moves them"};
  if (!entry.is_reduction()) return {"unknown", finite + ", and what it forms is not known"};
  const ReductionRange range = range_of_reduction(step, meeting, position);
  if (range.can_overflow()) return {"overflow_in_reduction", finite};
  return {"not_from_operands", finite + ", nothing that it forms can be above " +
                                   short_number(range.largest) + ", and " +
                                   std::string(trace::name_of(range.type)) + " ends at " +
                                   short_number(range.end)};
}

// Of a result of a collective: the ranks whose operand is not finite, or that all are.
Lineage of_collective(const trace::Step& step, const Record& record) {
  const int entry = step.find_collective(record.where.rank, record.collective);
  if (entry < 0) return {"unknown", "its collective was not logged"};
  const auto& mine = step.collectives[static_cast<size_t>(entry)];
  const auto position = static_cast<size_t>(std::ranges::find(mine.outputs, record.where.sequence) -
                                            mine.outputs.begin());
  const auto all = meetings(step);
  const auto meeting = std::ranges::find_if(all, [&](const Meeting& one) {
    return std::ranges::find(one.entries, entry) != one.entries.end();
  });
  bool all_seen = meeting->whole;
  std::vector<int32_t> from;
  for (const int index : meeting->entries) {
    const auto& theirs = step.collectives[static_cast<size_t>(index)];
    const Record* given = operand(step, theirs, position);
    all_seen &= given != nullptr;
    if (given != nullptr && trace::non_finite_elements(*given) > 0) from.push_back(theirs.rank);
  }
  if (!from.empty()) return {"received", mine.op + ": the operand of ranks " + list_of(from)};
  if (!all_seen) return {"unknown", mine.op + ": not every operand was captured"};
  return of_finite_operands(step, *meeting, mine, position);
}

std::string op_of(const ReplayIndex& index, const Record& record) {
  if (!record.op.empty() && find_replay(record.op) != nullptr) return record.op;
  const Record* maker = index.maker(record, record.what.site, record.what.role);
  return maker == nullptr ? record.op : maker->op;
}

bool is_finite(const Record* record) {
  return trace::non_finite_elements(*record) == 0;
}

Lineage unwritten_at(const Record& record, int64_t element) {
  return {"uninitialised", place_of(record, element) +
                               ": the bits that fresh memory was filled with; nothing wrote it "
                               "before it was read"};
}

// Of a record whose operands cannot have handed it on.
std::optional<Lineage> of_poison(const trace::TraceReader* reader, const Record& record) {
  if (reader == nullptr) return std::nullopt;
  const auto element = first_unwritten(*reader, record);
  return element ? std::optional(unwritten_at(record, *element)) : std::nullopt;
}

// NaN of operands that are Inf, or -Inf all of them.
bool is_of_infinities(const std::string& kind) {
  return kind == "zero_times_inf" || kind == "inf_minus_inf" || kind == "inf_over_inf" ||
         kind == "all_masked";
}

// An operand that lies at the largest value of its type: cut off there, before it was used.
const Record* saturated(const std::vector<const Record*>& operands) {
  const auto at = std::ranges::find_if(operands, [](const Record* operand) {
    return trace::is_floating(operand->storage) && operand->storage != trace::DType::kFloat32 &&
           operand->statistics.absmax() == trace::max_finite(operand->storage);
  });
  return at == operands.end() ? nullptr : *at;
}

Lineage of_op(const ReplayIndex& index, const trace::TraceReader& reader, const Record& record) {
  const auto found = read_tensor(reader, record).values;
  const int64_t at = first_non_finite(found);
  if (at < 0) return {"unknown", "its values are finite"};
  const auto element = static_cast<size_t>(at);
  std::string why_not;
  const auto exact = recompute(index, reader, record, why_not);
  const auto why = diagnose(intermediates(index, reader, record, element), record.storage);
  const auto operands = operands_of(index.step(), record);
  const auto not_finite = std::ranges::find_if_not(operands, is_finite);
  const std::string where = place_of(record, at) + ": ", op = op_of(index, record);
  const double value = exact ? exact->values[element] : std::nan("");
  const bool fits = std::abs(value) <= trace::max_finite(record.storage);
  if (not_finite != operands.end() && !fits) {
    const bool born = std::isnan(found[element]) && why && is_of_infinities(why->kind);
    if (born) return {why->kind, where + why->detail};
    return {"handed_on", where + trace::describe((*not_finite)->what)};
  }
  const std::string given = exact ? op + " of its operands is " + short_number(value) : why_not;
  if (std::isfinite(value) && !fits && !(why && why->kind == "exp_overflow")) {
    const std::string ends = ", " + std::string(trace::name_of(record.storage)) + " ends at " +
                             short_number(trace::max_finite(record.storage));
    if (const Record* cut = saturated(operands)) {
      return {"saturated_then_used", where + given + ends + "; " + trace::describe(cut->what) +
                                         " lies at the end of its type"};
    }
    return {"overflow", where + given + ends};
  }
  if (why) return {why->kind, where + why->detail + "; " + given};
  if (exact && fits && first_unwritten(reader, record) == at) return unwritten_at(record, at);
  return {exact && fits ? "not_from_operands" : "unknown", where + given};
}

}  // namespace

std::string place_of(const trace::Record& record, int64_t element) {
  std::vector<int64_t> index(record.local_shape.size());
  for (size_t d = index.size(); d-- > 0;) {
    if (record.local_shape[d] == 0) return "element " + std::to_string(element);
    index[d] = element % record.local_shape[d];
    element /= record.local_shape[d];
  }
  const auto axes = axes_of(record);
  const bool placed =
      record.placement && record.placement->regions.size() == 1 && !record.placement->flat;
  std::string text;
  for (size_t d = 0; d < index.size(); ++d) {
    int64_t at = index[d];
    if (placed && !axes[d].empty()) {
      const auto& region = record.placement->regions.front();
      at += region.logical_start[static_cast<size_t>(record.placement->to_logical[d])] -
            region.local_start[d];
    }
    text += (text.empty() ? "" : ", ") + (axes[d].empty() ? "index" : axes[d]) + " " +
            std::to_string(at);
  }
  return text.empty() ? "the value" : text;
}

Lineage lineage_of(const ReplayIndex& index, const trace::TraceReader* reader,
                   const trace::Record& record) {
  if (record.what.phase == Phase::kPostCollective) {
    const Lineage told = of_collective(index.step(), record);
    return told.kind == "received" ? told : of_poison(reader, record).value_or(told);
  }
  if (std::ranges::all_of(operands_of(index.step(), record), is_finite)) {
    if (auto unwritten = of_poison(reader, record)) return *unwritten;
  }
  if (is_loaded(record)) return {"loaded", "it was so when the step began"};
  if (reader == nullptr || !record.has_values) return {"unknown", "not captured in full"};
  return of_op(index, *reader, record);
}

}  // namespace nanhunt::oracle
