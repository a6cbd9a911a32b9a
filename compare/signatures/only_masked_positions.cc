// SPDX-License-Identifier: Apache-2.0
// only_masked_positions: what is wrong, or not finite, lies at (sample, token) positions alone that
// the captured mask says do not count (padding). Harmless where the mask selects; not where it
// multiplies, since 0 NaN = NaN. Needs values of tensor and mask.
//
// By chance: k different positions drawn at random are all masked with probability C(M, k) / C(N,
// k), M of N being masked. Said below kChance.
#include <algorithm>
#include <cmath>

#include "compare/region_cells.h"
#include "compare/signatures/cells.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

const double kLogChance = std::log(0.01);

struct PositionMask {
  std::string name;
  int64_t samples = 0, tokens = 0;
  std::vector<bool> masked;  // by position
  int64_t count() const { return std::ranges::count(masked, true); }
};

// A mask of (sample, token). It says masked by true (attribute {"true":"masked"}), by -Inf when it
// is added, else by 0.
std::optional<PositionMask> mask_of_positions(const SideStep& side) {
  for (const auto& logical : side.logicals) {
    const bool mask = logical.what.role == "mask" || logical.what.role.ends_with("_mask");
    if (!mask || logical.shape.size() != 2 || !has_values(side, logical)) continue;
    const auto& record = side.record(logical.pieces.front().record);
    if (record.placement->axes != std::vector<std::string>{"sample", "token"}) continue;
    LogicalWindow values(side, logical);
    const bool added = logical.statistics.neg_inf > 0;
    const bool true_masks = true_is_masked(record);
    PositionMask result{
        logical.what.site + " " + logical.what.role, logical.shape[0], logical.shape[1], {}};
    for (int64_t i = 0; i < static_cast<int64_t>(logical.count); ++i) {
      const double value = values.at(i);
      result.masked.push_back(added ? value == -HUGE_VAL : (value != 0) == true_masks);
    }
    return result;
  }
  return std::nullopt;
}

std::vector<bool> wrong_positions(const Cells& cells, int sample, int token, int64_t tokens) {
  const int64_t sample_stride = cells.stride(static_cast<size_t>(sample));
  const int64_t token_stride = cells.stride(static_cast<size_t>(token));
  const int64_t samples = cells.shape[static_cast<size_t>(sample)];
  std::vector<bool> wrong(static_cast<size_t>(samples * tokens));
  for (int64_t i = 0; i < cells.count; ++i) {
    if (!cells.wrong(i)) continue;
    const int64_t position = i / sample_stride % samples * tokens + i / token_stride % tokens;
    wrong[static_cast<size_t>(position)] = true;
  }
  return wrong;
}

}  // namespace

std::optional<Signature> only_masked_positions(const SignatureInput& input) {
  const auto mask = mask_of_positions(input.side);
  if (!mask) return std::nullopt;
  const auto cells = cells_of(input);
  if (!cells) return std::nullopt;
  const int sample = cells->dimension("sample"), token = cells->dimension("token");
  if (sample < 0 || token < 0 || cells->shape[static_cast<size_t>(sample)] != mask->samples ||
      cells->shape[static_cast<size_t>(token)] != mask->tokens) {
    return std::nullopt;
  }
  const auto wrong = wrong_positions(*cells, sample, token, mask->tokens);
  int64_t count = 0;
  for (size_t position = 0; position < wrong.size(); ++position) {
    if (wrong[position] && !mask->masked[position]) return std::nullopt;
    count += wrong[position];
  }
  const auto all = static_cast<int64_t>(wrong.size());
  if (count == 0 || log_chance(mask->count(), count, all) > kLogChance) return std::nullopt;
  return Signature{"only_masked_positions",
                   "all " + std::to_string(count) + " wrong positions are among the " +
                       std::to_string(mask->count()) + " of " + std::to_string(all) + " that " +
                       mask->name +
                       " leaves out: harmless where it selects, not where it multiplies"};
}

}  // namespace nanhunt::compare
