// SPDX-License-Identifier: Apache-2.0
// order_swapped, by values: the rows of the last dimension that are wrong (tokens, samples, slices
// of shards), or the columns (heads, channels), hold each other's values. Lines are compared by
// sketches of 64 sums of their own; what is left of each against the line that it holds is at most
// kLeft of what it is against its own, and the wrong lines are a permutation of themselves without
// a fixed point. Needs values.
#include <algorithm>
#include <cmath>

#include "compare/signatures/cells.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

constexpr double kLeft = 0.2;
constexpr int64_t kShortest = 8;  // elements of a line: shorter ones are alike by chance
constexpr size_t kMostLines = 4096;

// Where an element lies: its line, and its place within.
struct Lines {
  int64_t count = 0, length = 0;
  bool rows = true;
  int64_t line(int64_t index, int64_t width) const { return rows ? index / width : index % width; }
  int64_t place(int64_t index, int64_t width) const { return rows ? index % width : index / width; }
};

struct Line {
  int64_t index = 0;
  trace::Sketch found{}, expected{};
};

// The finalizer of SplitMix64: bucket from the low bits, sign from the highest.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::vector<int64_t> wrong_lines(const Cells& cells, const Lines& lines) {
  std::vector<bool> wrong(static_cast<size_t>(lines.count));
  for (int64_t i = 0; i < cells.count; ++i) {
    if (cells.wrong(i)) wrong[static_cast<size_t>(lines.line(i, cells.columns()))] = true;
  }
  std::vector<int64_t> list;
  for (size_t line = 0; line < wrong.size(); ++line) {
    if (wrong[line]) list.push_back(static_cast<int64_t>(line));
  }
  return list;
}

std::vector<Line> sketched(const Cells& cells, const Lines& lines,
                           const std::vector<int64_t>& wrong) {
  std::vector<int> slot(static_cast<size_t>(lines.count), -1);
  std::vector<Line> result(wrong.size());
  for (size_t w = 0; w < wrong.size(); ++w) {
    result[w].index = wrong[w];
    slot[static_cast<size_t>(wrong[w])] = static_cast<int>(w);
  }
  for (int64_t i = 0; i < cells.count; ++i) {
    const int at = slot[static_cast<size_t>(lines.line(i, cells.columns()))];
    if (at < 0) continue;
    const uint64_t hash = mixed(static_cast<uint64_t>(lines.place(i, cells.columns())) + 1);
    const size_t bucket = hash % trace::kSketchBuckets;
    const double sign = hash >> 63 != 0 ? 1 : -1;
    result[static_cast<size_t>(at)].found[bucket] += sign * cells.found(i);
    result[static_cast<size_t>(at)].expected[bucket] += sign * cells.expected(i);
  }
  return result;
}

double distance(const trace::Sketch& a, const trace::Sketch& b) {
  return trace::sketch_norm(trace::subtract(a, b));
}

// By line: the one whose values it holds; empty when they are no permutation.
std::vector<size_t> permutation(const std::vector<Line>& lines) {
  std::vector<size_t> from;
  std::vector<bool> used(lines.size());
  for (size_t a = 0; a < lines.size(); ++a) {
    size_t nearest = lines.size();
    double least = kLeft * distance(lines[a].found, lines[a].expected);
    for (size_t b = 0; b < lines.size(); ++b) {
      if (b == a || used[b]) continue;
      const double left = distance(lines[a].found, lines[b].expected);
      if (left > least) continue;
      least = left;
      nearest = b;
    }
    if (nearest == lines.size()) return {};
    used[nearest] = true;
    from.push_back(nearest);
  }
  return from;
}

std::optional<Signature> swapped(const Cells& cells, const Lines& lines) {
  if (lines.count < 2 || lines.length < kShortest) return std::nullopt;
  const auto wrong = wrong_lines(cells, lines);
  if (wrong.size() < 2 || wrong.size() > kMostLines) return std::nullopt;
  const auto of_lines = sketched(cells, lines, wrong);
  const auto from = permutation(of_lines);
  if (from.empty()) return std::nullopt;
  return Signature{"order_swapped",
                   std::to_string(wrong.size()) + (lines.rows ? " rows" : " columns") +
                       " hold each other's values: " + std::to_string(of_lines.front().index) +
                       " those of " + std::to_string(of_lines[from.front()].index)};
}

}  // namespace

std::optional<Signature> lines_swapped(const SignatureInput& input) {
  const auto cells = cells_of(input);
  if (!cells || !cells->expected || cells->count == 0) return std::nullopt;
  const int64_t width = cells->columns(), height = cells->count / width;
  if (auto rows = swapped(*cells, {height, width, true})) return rows;
  const auto again = cells_of(input);
  return swapped(*again, {width, height, false});
}

}  // namespace nanhunt::compare
