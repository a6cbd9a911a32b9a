// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/lineage.h"

#include <algorithm>
#include <cmath>

#include "oracle/rules/rule_tools.h"

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
  return {"overflow_in_reduction", mine.op + ": all operands are finite"};
}

// Why an op of finite operands has no finite result.
std::string reason_of(const std::string& op) {
  if (op.ends_with("_attention")) return "all_masked";
  if (op.ends_with("_norm")) return "rsqrt_of_zero";
  if (op == "cross_entropy") return "log_of_zero";
  return "unknown";
}

std::string op_of(const ReplayIndex& index, const Record& record) {
  if (!record.op.empty() && find_replay(record.op) != nullptr) return record.op;
  const Record* maker = index.maker(record, record.what.site, record.what.role);
  return maker == nullptr ? record.op : maker->op;
}

Lineage of_op(const ReplayIndex& index, const trace::TraceReader& reader, const Record& record) {
  std::string why_not;
  const auto exact = recompute(index, reader, record, why_not);
  const auto found = read_tensor(reader, record).values;
  const int64_t at = first_non_finite(found);
  const std::string where = at < 0 ? "" : place_of(record, at);
  for (const Record* operand : operands_of(index.step(), record)) {
    if (trace::non_finite_elements(*operand) > 0)
      return {"handed_on", trace::describe(operand->what)};
  }
  if (!exact) return {"unknown", where + ": " + why_not};
  if (at < 0) return {"unknown", "its values are finite"};
  const double value = exact->values[static_cast<size_t>(at)];
  const std::string ends = std::string(trace::name_of(record.storage)) + " ends at " +
                           short_number(trace::max_finite(record.storage));
  const std::string op = op_of(index, record);
  if (!std::isfinite(value)) return {reason_of(op), where + ": no finite result of " + op};
  if (std::abs(value) > trace::max_finite(record.storage))
    return {"overflow",
            where + ": " + op + " of its operands is " + short_number(value) + ", " + ends};
  return {"not_from_operands", where + ": " + op + " of its operands is " + short_number(value)};
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
  if (record.what.phase == Phase::kPostCollective) return of_collective(index.step(), record);
  if (is_loaded(record)) return {"loaded", "it was so when the step began"};
  if (reader == nullptr || !record.has_values) return {"unknown", "not captured in full"};
  return of_op(index, *reader, record);
}

}  // namespace nanhunt::oracle
