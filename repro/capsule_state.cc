// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "capsule/capsule.h"
#include "capsule/verify.h"
#include "oracle/logical.h"
#include "repro/state.h"

namespace nanhunt::repro {
namespace {

using capsule::Capsule;
using oracle::Logical;

const trace::Record& record_of(const Capsule& capsule, const oracle::Piece& piece) {
  return capsule.step().records[static_cast<size_t>(piece.record)];
}

std::vector<double> values_of(const Capsule& capsule, const Logical& logical) {
  const int64_t row = logical.shape.empty() ? 1 : std::max<int64_t>(1, logical.shape.back());
  return oracle::logical_values(capsule.step(), capsule.reader(), logical, 0,
                                static_cast<int64_t>(logical.count) / row);
}

// What the capsule's own ranks say differently of it.
std::string contradiction_of(const Capsule& capsule, const std::string& tensor) {
  for (const capsule::Fault& fault : capsule.faults()) {
    if (fault.tensor == tensor) return fault.what.substr(tensor.size() + 2);
  }
  return "";
}

StateTensor tensor_of(const Capsule& capsule, Logical logical) {
  StateTensor tensor;
  tensor.site = logical.what.site;
  tensor.role = logical.what.role;
  tensor.kind = capsule::kind_of(tensor.site, tensor.role);
  const trace::Record& first =
      record_of(capsule, logical.pieces.empty() ? logical.copies.front() : logical.pieces.front());
  tensor.dtype = first.storage;
  tensor.type = trace::name_of(first.storage);
  tensor.shape = logical.shape;
  tensor.value_digest = logical.print.value_digest;
  tensor.mask_digest = logical.print.mask_digest;
  tensor.contradiction = contradiction_of(capsule, tensor.name());
  for (const oracle::Piece& piece : logical.pieces) {
    const trace::Record& record = record_of(capsule, piece);
    tensor.parts.push_back({record.where.rank, record.placement, record.local_shape,
                            static_cast<size_t>(piece.region)});
  }
  if (const capsule::Entry* entry = capsule.find(tensor.site, tensor.role)) {
    for (const int index : entry->records) {
      const trace::Record& record = capsule.step().records[static_cast<size_t>(index)];
      tensor.raw_by_rank.emplace_back(record.where.rank, record.raw_digest);
    }
  }
  auto kept = std::make_shared<const Logical>(std::move(logical));
  tensor.values = [&capsule, kept] { return values_of(capsule, *kept); };
  return tensor;
}

}  // namespace

State state_of(const Capsule& capsule) {
  capsule.require_whole(true);
  capsule::require_undamaged(capsule);
  State state;
  state.path = capsule.folder();
  state.name = state.path.string() + "@" + std::to_string(capsule.step().step);
  const auto& facts = capsule.reader().facts();
  if (!facts.empty()) {
    state.layout = facts.front();
    state.foreign = facts.front().facts.contains(capsule::kConvertedFact);
    state.tells_buffers = !state.foreign;
  }
  for (Logical& logical : oracle::assemble(capsule.step(), facts)) {
    if (logical.what.site == capsule::kRunSite) continue;
    std::pair name(logical.what.site, logical.what.role);
    state.tensors.emplace(std::move(name), tensor_of(capsule, std::move(logical)));
  }
  return state;
}

State open_capsule_state(const std::filesystem::path& folder, int64_t step) {
  const auto capsule = std::make_shared<const Capsule>(folder, step);
  State state = state_of(*capsule);
  state.held = capsule;
  return state;
}

}  // namespace nanhunt::repro
