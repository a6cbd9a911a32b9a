// SPDX-License-Identifier: Apache-2.0
// only_late_positions: rows out of the envelope lie in the last part of the token axis alone, and
// fill at least half of it. Needs values on both sides.
#include <algorithm>
#include <cmath>

#include "compare/numbers.h"
#include "compare/region_cells.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

// Index of the token axis among the leading dimensions, or -1.
int token_axis(const trace::Record& record) {
  const auto& axes = record.placement->axes;
  for (size_t d = 0; d + 1 < axes.size(); ++d) {
    if (axes[d] == "token") return static_cast<int>(d);
  }
  return -1;
}

struct Positions {
  std::vector<int64_t> out, rows;  // by token
};

Positions count_positions(const SignatureInput& input, const LogicalPair& pair, int axis,
                          double allowed) {
  LogicalWindow candidate(input.side, *pair.candidate),
      reference(*input.reference, *pair.reference);
  const auto& shape = pair.reference->shape;
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(axis) + 1; d + 1 < shape.size(); ++d) inner *= shape[d];
  const int64_t tokens = shape[static_cast<size_t>(axis)];
  Positions positions{std::vector<int64_t>(static_cast<size_t>(tokens), 0),
                      std::vector<int64_t>(static_cast<size_t>(tokens), 0)};
  const double row_size =
      std::sqrt(pair.reference->print.sum_squares / static_cast<double>(reference.rows()));
  for (int64_t row = 0; row < reference.rows(); ++row) {
    double squares = 0;
    for (int64_t i = 0; i < reference.row_length(); ++i) {
      const int64_t cell = row * reference.row_length() + i;
      const double difference = candidate.at(cell) - reference.at(cell);
      squares += difference * difference;
    }
    const auto token = static_cast<size_t>(row / inner % tokens);
    ++positions.rows[token];
    positions.out[token] += std::sqrt(squares) > allowed * row_size;
  }
  return positions;
}

}  // namespace

std::optional<Signature> only_late_positions(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair || !has_values(input.side, *pair->candidate) ||
      !has_values(*input.reference, *pair->reference) || input.judge.envelope == nullptr) {
    return std::nullopt;
  }
  const int axis = token_axis(input.side.record(input.draft.record));
  const auto bounds =
      input.judge.envelope->bounds(pair->candidate->what, oracle::Metric::kRow,
                                   input.judge.deviations_judged, *input.judge.thresholds);
  if (axis < 0 || !bounds) return std::nullopt;
  const Positions positions = count_positions(input, *pair, axis, bounds->hi);
  const auto first = std::ranges::find_if(positions.out, [](int64_t count) { return count > 0; });
  if (first == positions.out.end()) return std::nullopt;
  const int64_t begin = first - positions.out.begin();
  const auto tokens = static_cast<int64_t>(positions.out.size());
  if (begin < (tokens + 1) / 2) return std::nullopt;
  int64_t out = 0, rows = 0;
  for (int64_t token = begin; token < tokens; ++token) {
    out += positions.out[static_cast<size_t>(token)];
    rows += positions.rows[static_cast<size_t>(token)];
  }
  if (2 * out < rows) return std::nullopt;
  return Signature{"only_late_positions",
                   "tokens " + std::to_string(begin) + " to " + std::to_string(tokens - 1) +
                       " of " + std::to_string(tokens) + ": " + std::to_string(out) + " of " +
                       std::to_string(rows) + " rows are out, none before"};
}

}  // namespace nanhunt::compare
