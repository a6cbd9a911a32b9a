// SPDX-License-Identifier: Apache-2.0
// masked_row: a softmax over no key at all (log-sum-exp of all -Inf). The rows of the attention
// output that are not finite are exactly those whose mask lets no key through. Needs values of
// both. The mask says masked by true (attribute {"true":"masked"}), or by -Inf when it is added to
// the scores.
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "compare/region_cells.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

using Row = std::pair<int64_t, int64_t>;  // sample, query

// Rows with no allowed key, of a mask of (sample, query, key); nullopt for other shapes.
std::optional<std::set<Row>> shut_rows(const SideStep& side, const trace::Record& mask) {
  if (!mask.has_values || mask.placement->logical_shape.size() != 3) return std::nullopt;
  const bool boolean = !trace::is_floating(mask.storage);
  const bool true_masks = true_is_masked(mask);
  const auto values = side.source->reader->read_doubles(mask);
  const auto& shape = mask.placement->logical_shape;
  std::map<Row, bool> open;
  for (size_t r = 0; r < mask.placement->regions.size(); ++r) {
    for_each_cell(mask, static_cast<int>(r), [&](int64_t logical, int64_t local) {
      const int64_t row = logical / shape[2];
      const double value = values[static_cast<size_t>(local)];
      const bool allowed = boolean ? (value != 0) != true_masks : value != -HUGE_VAL;
      open[{row / shape[1], row % shape[1]}] |= allowed;
    });
  }
  std::set<Row> shut;
  for (const auto& [row, allowed] : open) {
    if (!allowed) shut.insert(row);
  }
  return shut;
}

std::optional<std::set<Row>> bad_rows(const SideStep& side, const trace::Record& output) {
  if (!output.has_values || output.placement->logical_shape.size() < 3) return std::nullopt;
  const auto values = side.source->reader->read_doubles(output);
  const auto& shape = output.placement->logical_shape;
  int64_t length = 1;
  for (size_t d = 2; d < shape.size(); ++d) length *= shape[d];
  std::set<Row> bad;
  for (size_t r = 0; r < output.placement->regions.size(); ++r) {
    for_each_cell(output, static_cast<int>(r), [&](int64_t logical, int64_t local) {
      if (std::isfinite(values[static_cast<size_t>(local)])) return;
      const int64_t row = logical / length;
      bad.insert({row / shape[1], row % shape[1]});
    });
  }
  return bad;
}

const trace::Record* mask_of(const SideStep& side, const trace::Record& output) {
  for (const int index : records_at(side, output.what.site, trace::Phase::kForward, "mask")) {
    const auto& mask = side.record(index);
    if (mask.where.rank == output.where.rank && mask.where.microbatch == output.where.microbatch) {
      return &mask;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<Signature> masked_row(const SignatureInput& input) {
  if (input.side.source->reader == nullptr) return std::nullopt;
  size_t rows = 0;
  for (const int index : input.draft.records) {
    const auto& output = input.side.record(index);
    if (!has_non_finite(output) || output.what.phase != trace::Phase::kForward) return std::nullopt;
    const auto* mask = mask_of(input.side, output);
    if (mask == nullptr) return std::nullopt;
    const auto bad = bad_rows(input.side, output);
    const auto shut = shut_rows(input.side, *mask);
    if (!bad || !shut || *bad != *shut) return std::nullopt;
    rows = bad->size();
  }
  if (rows == 0) return std::nullopt;
  return Signature{"masked_row", std::to_string(rows) +
                                     " rows have no key that the mask lets through, and exactly "
                                     "these are not finite"};
}

}  // namespace nanhunt::compare
