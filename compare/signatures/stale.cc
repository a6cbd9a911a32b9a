// SPDX-License-Identifier: Apache-2.0
// stale: a wrong record holds, bit for bit, what the same place held a microbatch or a step
// earlier: a buffer that was read before it was written, parameters that were gathered too late.
// By raw digests, so at `stats` too. What is equal by nature is no sign of it: constants, values
// that are all 0 or 1, scalars that are whole numbers, and tensors of which nothing says that they
// should have changed. That is said by an operand that changed in between, by the reference's own
// tensor (which may say the contrary as well), or by a rule that is about nothing else.
#include <algorithm>
#include <cmath>
#include <set>

#include "compare/numbers.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

using trace::Record;

// Whether equal bits on two occasions are worth a word.
bool is_telling(const Record& record) {
  const auto& counts = record.statistics;
  if (counts.non_finite() > 0 || record.what.role == "mask") return false;
  if (counts.count == 1) return counts.sum != std::round(counts.sum);
  const bool of_zeros_and_ones = counts.sum == counts.sum_squares;
  return counts.min < counts.max && !of_zeros_and_ones;
}

std::vector<const Record*> at_place(const trace::Step& step, const Record& like) {
  std::vector<const Record*> found;
  const auto& what = like.what;
  auto next = step.by_what().lower_bound({step.step, what.site, what.phase, what.role, 0});
  for (; next != step.by_what().end(); ++next) {
    const auto& key = next->first;
    if (key.site != what.site || key.phase != what.phase || key.role != what.role) break;
    for (const int index : next->second) {
      const auto& record = step.records[static_cast<size_t>(index)];
      if (record.where.rank == like.where.rank) found.push_back(&record);
    }
  }
  return found;
}

bool same_bits(const Record& a, const Record& b) {
  return a.raw_digest == b.raw_digest && a.local_shape == b.local_shape && a.storage == b.storage;
}

// The latest of an earlier microbatch or, failing that, of the step before.
struct Earlier {
  const trace::Step* step = nullptr;
  const Record* record = nullptr;
};

// The reference judges the sum of such records, and says of none of them that it is wrong.
bool is_term_of_a_sum(const Record& record) {
  return record.placement && std::ranges::any_of(record.placement->mesh, [](const auto& along) {
           return along.kind == trace::PlacementKind::kPartial;
         });
}

// Told wrong by its own values: nothing good to be stale of.
bool is_wrong_itself(const SignatureInput& input, const Record& record) {
  const bool by_reference = input.draft.origin.finding.decider == oracle::Decider::kReference;
  if (by_reference && is_term_of_a_sum(record)) return false;
  return record.has_values && std::ranges::any_of(input.draft.records, [&](int index) {
           return &input.side.record(index) == &record;
         });
}

Earlier earlier_equal(const SignatureInput& input, const Record& record) {
  Earlier found;
  for (const Record* other : at_place(*input.side.step, record)) {
    const bool earlier = other->where.microbatch != record.where.microbatch &&
                         other->where.sequence < record.where.sequence;
    if (earlier && same_bits(*other, record) && !is_wrong_itself(input, *other))
      found = {input.side.step.get(), other};
  }
  if (found.record != nullptr || input.previous == nullptr) return found;
  for (const Record* other : at_place(*input.previous, record)) {
    if (!same_bits(*other, record)) continue;
    if (found.record == nullptr || other->where.microbatch == record.where.microbatch) {
      found = {input.previous, other};
    }
  }
  return found;
}

const Record* operand_like(const Earlier& earlier, const Record& operand) {
  for (const auto& link : earlier.record->links) {
    const int index = earlier.step->find(earlier.record->where.rank, link.sequence);
    if (index < 0) continue;
    const auto& other = earlier.step->records[static_cast<size_t>(index)];
    if (other.what.site == operand.what.site && other.what.phase == operand.what.phase &&
        other.what.role == operand.what.role) {
      return &other;
    }
  }
  return nullptr;
}

// The operand at that place of another microbatch than the record that consumed it: what the
// record's own microbatch had there.
const Record* own_operand(const SideStep& side, const Record& record, const Record& operand) {
  if (operand.where.microbatch < 0 || operand.where.microbatch == record.where.microbatch)
    return nullptr;
  for (const Record* other : at_place(*side.step, operand)) {
    if (other->where.microbatch == record.where.microbatch) return other;
  }
  return nullptr;
}

bool operand_changed(const SideStep& side, const Record& record, const Earlier& earlier) {
  return std::ranges::any_of(record.links, [&](const trace::Link& link) {
    const int index = side.step->find(record.where.rank, link.sequence);
    if (index < 0) return false;
    const Record* own = own_operand(side, record, side.record(index));
    if (own != nullptr && own->raw_digest != side.record(index).raw_digest) return true;
    const Record* before = operand_like(earlier, side.record(index));
    return before != nullptr && before->raw_digest != side.record(index).raw_digest;
  });
}

std::vector<uint64_t> digests_of(const trace::Step& step, trace::What what) {
  what.step = step.step;
  std::vector<uint64_t> digests;
  const auto found = step.by_what().find(what);
  if (found == step.by_what().end()) return digests;
  for (const int index : found->second) {
    digests.push_back(step.records[static_cast<size_t>(index)].raw_digest);
  }
  return digests;
}

// What the reference says of two steps; nullopt: nothing.
std::optional<bool> changes_in_reference(const SignatureInput& input, const Record& record) {
  if (input.reference == nullptr || input.reference_previous == nullptr) return std::nullopt;
  const auto now = digests_of(*input.reference->step, record.what);
  const auto before = digests_of(*input.reference_previous, record.what);
  if (now.empty() || now.size() != before.size()) return std::nullopt;
  return now != before;
}

bool should_have_changed(const SignatureInput& input, const Record& record,
                         const Earlier& earlier) {
  if (earlier.step != input.side.step.get()) {
    const std::string& rule = input.draft.origin.finding.rule;
    if (rule == "state_carried" || rule == "parameter_moved") return true;
    if (const auto changes = changes_in_reference(input, record)) return *changes;
  }
  return operand_changed(input.side, record, earlier);
}

}  // namespace

std::optional<Signature> stale(const SignatureInput& input) {
  std::set<int32_t> ranks;
  std::string when;
  for (const int index : input.draft.records) {
    const auto& record = input.side.record(index);
    if (!is_telling(record)) continue;
    const Earlier earlier = earlier_equal(input, record);
    if (earlier.record == nullptr || !should_have_changed(input, record, earlier)) continue;
    ranks.insert(record.where.rank);
    when = earlier.step == input.side.step.get()
               ? "microbatch " + std::to_string(earlier.record->where.microbatch)
               : "step " + std::to_string(earlier.step->step);
  }
  if (ranks.empty()) return std::nullopt;
  return Signature{
      "stale", "holds the bits of " + when + " on ranks " + list_of({ranks.begin(), ranks.end()})};
}

}  // namespace nanhunt::compare
