// SPDX-License-Identifier: Apache-2.0
// order_swapped, by fingerprints: whole records hold each other's values, so `stats` is enough. The
// pieces of an all-gather lie in another order than they were sent (raw digests); sites of one kind
// hold each other's tensors, as when layers are loaded under each other's names (sketches, which go
// by logical position); in the layout of the reference, ranks hold each other's (raw digests).
#include <algorithm>
#include <map>

#include "compare/numbers.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

using trace::Record;

constexpr double kLeft = 0.2;  // of the distance to the own tensor

// Raw digests of what the members of that call sent, in group order; empty when one is missing.
std::vector<uint64_t> digests_sent(const SideStep& side, const trace::Collective& call,
                                   size_t position) {
  std::map<int32_t, uint64_t> sent;
  for (const auto& entry : side.step->collectives) {
    if (entry.group_sequence != call.group_sequence || entry.group != call.group ||
        entry.op != call.op || position >= entry.inputs.size()) {
      continue;
    }
    const int index = side.step->find(entry.rank, entry.inputs[position]);
    if (index >= 0) sent[entry.rank] = side.record(index).raw_digest;
  }
  std::vector<uint64_t> digests;
  for (const int32_t rank : call.group) {
    if (sent.contains(rank)) digests.push_back(sent[rank]);
  }
  return digests.size() == call.group.size() ? digests : std::vector<uint64_t>{};
}

std::optional<Signature> pieces_swapped(const SignatureInput& input) {
  const auto& result = input.side.record(input.draft.record);
  const int entry = input.side.step->find_collective(result.where.rank, result.collective);
  if (entry < 0) return std::nullopt;
  const auto& call = input.side.step->collectives[static_cast<size_t>(entry)];
  const auto output = std::ranges::find(call.outputs, result.where.sequence);
  if (call.op != "all_gather" || output == call.outputs.end()) return std::nullopt;
  const auto sent =
      digests_sent(input.side, call, static_cast<size_t>(output - call.outputs.begin()));
  const auto& got = result.segment_digests;
  if (sent.empty() || got == sent || !std::ranges::is_permutation(got, sent)) return std::nullopt;
  std::string order;
  for (const uint64_t digest : got) {
    const auto sender = std::ranges::find(sent, digest) - sent.begin();
    order += " " + std::to_string(call.group[static_cast<size_t>(sender)]);
  }
  return Signature{"order_swapped", "the pieces lie in the order of ranks" + order +
                                        ", sent by ranks " + list_of(call.group)};
}

// Each is the other's reference, and not its own.
bool hold_each_other(const LogicalPair& a, const LogicalPair& b) {
  const auto off = [](const LogicalPair& one, const LogicalPair& other) {
    const auto& reference = other.reference->print;
    return sketch_distance(one.candidate->print.sketch, reference.sketch, reference);
  };
  return off(a, b) <= kLeft * off(a, a) && off(b, a) <= kLeft * off(b, b);
}

std::optional<Signature> sites_swapped(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair || !has_ratio(*pair->candidate, *pair->reference)) return std::nullopt;
  const auto& what = pair->candidate->what;
  const std::string kind = trace::site_kind(what.site);
  for (const auto& logical : input.side.logicals) {
    const auto& other = logical.what;
    if (other.site == what.site || other.phase != what.phase || other.role != what.role ||
        other.occurrence != what.occurrence || trace::site_kind(other.site) != kind) {
      continue;
    }
    const LogicalPair partner{&logical, find_logical(*input.reference, other)};
    if (partner.reference == nullptr || !has_ratio(logical, *partner.reference) ||
        logical.shape != pair->candidate->shape || !hold_each_other(*pair, partner)) {
      continue;
    }
    return Signature{"order_swapped", "it and " + other.site + " hold each other's values"};
  }
  return std::nullopt;
}

std::map<int32_t, const Record*> by_rank(const SideStep& side, const Record& like) {
  std::map<int32_t, const Record*> found;
  for (const int index : records_at(side, like.what.site, like.what.phase, like.what.role)) {
    const auto& record = side.record(index);
    if (record.what.occurrence == like.what.occurrence &&
        record.where.microbatch == like.where.microbatch) {
      found[record.where.rank] = &record;
    }
  }
  return found;
}

bool same_place_in_mesh(const SignatureInput& input, int32_t rank) {
  const auto* mine = facts_of(*input.side.source, rank);
  const auto* other = facts_of(*input.reference->source, rank);
  return mine != nullptr && other != nullptr && mine->mesh_size == other->mesh_size &&
         mine->mesh_coordinate == other->mesh_coordinate;
}

std::optional<Signature> ranks_swapped(const SignatureInput& input) {
  if (input.reference == nullptr) return std::nullopt;
  const auto& first = input.side.record(input.draft.record);
  const auto mine = by_rank(input.side, first), other = by_rank(*input.reference, first);
  if (mine.size() < 2 || mine.size() != other.size()) return std::nullopt;
  const auto holds = [&](int32_t rank, int32_t values_of) {
    const auto found = other.find(values_of);
    return found != other.end() && mine.at(rank)->local_shape == found->second->local_shape &&
           mine.at(rank)->raw_digest == found->second->raw_digest;
  };
  const int32_t rank = first.where.rank;
  if (holds(rank, rank) || !same_place_in_mesh(input, rank)) return std::nullopt;
  for (const auto& [partner, record] : mine) {
    if (!holds(rank, partner) || !holds(partner, rank)) continue;
    if (!same_place_in_mesh(input, partner)) continue;
    return Signature{"order_swapped", "ranks " + list_of({rank, partner}) +
                                          " hold each other's values, bit for bit"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Signature> order_swapped(const SignatureInput& input) {
  if (auto pieces = pieces_swapped(input)) return pieces;
  if (auto sites = sites_swapped(input)) return sites;
  return ranks_swapped(input);
}

}  // namespace nanhunt::compare
