// SPDX-License-Identifier: Apache-2.0
// lane_pattern: wrong elements lie in columns (indices of the last dimension) of one residue class
// of a power of two, "every 32nd column", or within one tile, aligned and a power of two in both
// directions: the shape of a lane, a register or a tile of a kernel that goes wrong, not of a term
// of the model. Needs values.
//
// By chance: c different columns of W, drawn at random, lie in one class of period P with
// probability P C(W/P, c) / C(W, c); log2 W periods are tried. Rows and columns of a tile of B by D
// likewise, as if independent. Said below kChance.
#include <algorithm>
#include <cmath>

#include "compare/signatures/cells.h"

namespace nanhunt::compare {
namespace {

const double kLogChance = std::log(1e-3);
constexpr int64_t kFewestColumns = 3;

struct Marked {
  std::vector<int64_t> rows, columns;  // with a wrong element, ascending
};

Marked marked_lines(const Cells& cells) {
  const int64_t width = cells.columns();
  const int64_t height = width == 0 ? 0 : cells.count / width;
  std::vector<bool> columns(static_cast<size_t>(width)), rows(static_cast<size_t>(height));
  for (int64_t i = 0; i < width * height; ++i) {
    if (!cells.wrong(i)) continue;
    columns[static_cast<size_t>(i % width)] = true;
    rows[static_cast<size_t>(i / width)] = true;
  }
  const auto indices = [](const std::vector<bool>& marks) {
    std::vector<int64_t> list;
    for (size_t i = 0; i < marks.size(); ++i) {
      if (marks[i]) list.push_back(static_cast<int64_t>(i));
    }
    return list;
  };
  return {indices(rows), indices(columns)};
}

double log_trials(int64_t all) {
  return std::log(std::log2(static_cast<double>(all)));
}

std::optional<Signature> residue_class(const std::vector<int64_t>& columns, int64_t width) {
  int64_t period = 1;
  while (2 * period <= width) {
    const bool all = std::ranges::all_of(
        columns, [&](int64_t column) { return (column - columns.front()) % (2 * period) == 0; });
    if (!all) break;
    period *= 2;
  }
  const int64_t members = (width + period - 1) / period;
  const auto drawn = static_cast<int64_t>(columns.size());
  const double chance =
      std::log(static_cast<double>(period)) + log_chance(members, drawn, width) + log_trials(width);
  if (period < 2 || chance > kLogChance) return std::nullopt;
  return Signature{"lane_pattern", "wrong in " + std::to_string(drawn) + " of " +
                                       std::to_string(width) + " columns, all among every " +
                                       std::to_string(period) + ". from " +
                                       std::to_string(columns.front() % period)};
}

// The smallest aligned block of a power of two that holds them all, and its chance.
struct Block {
  int64_t begin = 0, size = 0;
  double log_chance = 0;
};

Block block_of(const std::vector<int64_t>& lines, int64_t all) {
  Block block{0, 1, 0};
  while (lines.front() / block.size != lines.back() / block.size) block.size *= 2;
  block.begin = lines.front() / block.size * block.size;
  const auto blocks = static_cast<double>((all + block.size - 1) / block.size);
  block.log_chance = std::log(blocks) + log_trials(all) +
                     log_chance(std::min(block.size, all), static_cast<int64_t>(lines.size()), all);
  return block;
}

// Not a whole sample, nor all that a rank holds of a row: those have names of their own.
std::optional<Signature> tile(const SignatureInput& input, const Cells& cells,
                              const Marked& marked) {
  const int64_t width = cells.columns(), height = cells.count / width;
  const Block columns = block_of(marked.columns, width), rows = block_of(marked.rows, height);
  const int64_t held = input.side.record(input.draft.record).local_shape.empty()
                           ? width
                           : input.side.record(input.draft.record).local_shape.back();
  const int64_t inner = cells.shape.size() < 3 ? height : cells.shape[cells.shape.size() - 2];
  if (columns.size >= std::min(held, width) || rows.size >= std::min(inner, height))
    return std::nullopt;
  if (static_cast<int64_t>(marked.rows.size()) < kFewestColumns) return std::nullopt;
  if (columns.log_chance > kLogChance || rows.log_chance > kLogChance) return std::nullopt;
  const auto range = [](const Block& block) {
    return std::to_string(block.begin) + " to " + std::to_string(block.begin + block.size - 1);
  };
  return Signature{"lane_pattern", "wrong within rows " + range(rows) + " and columns " +
                                       range(columns) + " alone, a tile of " +
                                       std::to_string(rows.size) + " x " +
                                       std::to_string(columns.size)};
}

}  // namespace

std::optional<Signature> lane_pattern(const SignatureInput& input) {
  const auto cells = cells_of(input);
  if (!cells || cells->shape.empty() || cells->columns() < 2) return std::nullopt;
  const Marked marked = marked_lines(*cells);
  if (static_cast<int64_t>(marked.columns.size()) < kFewestColumns) return std::nullopt;
  if (auto found = residue_class(marked.columns, cells->columns())) return found;
  return tile(input, *cells, marked);
}

}  // namespace nanhunt::compare
