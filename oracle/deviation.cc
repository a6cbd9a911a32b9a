// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "oracle/envelope.h"

namespace nanhunt::oracle {
namespace {

// Elements of each side that are in memory at a time: both sides' windows stay in a core's cache.
constexpr int64_t kChunkElements = int64_t{1} << 14;
// Partial sums of a row that a processor can work on at once.
constexpr int64_t kLanes = 8;

double ratio(double difference, double reference) {
  if (difference == 0) return 0;
  return reference == 0 ? std::numeric_limits<double>::infinity() : difference / reference;
}

double reference_norm(const Logical& logical) {
  return logical.partial ? trace::sketch_norm(logical.print.sketch)
                         : std::sqrt(logical.print.sum_squares);
}

std::string obstacle(const Logical& candidate, const Logical& reference) {
  if (!candidate.complete) return "candidate: " + candidate.why_not;
  if (!reference.complete) return "reference: " + reference.why_not;
  if (candidate.shape != reference.shape) return "logical shapes differ";
  const bool masked = candidate.print.masked() || reference.print.masked();
  if (masked && (candidate.partial || reference.partial))
    return "non-finite values in a partial sum";
  if (candidate.print.mask_digest != reference.print.mask_digest) {
    return "non-finite values at different places";
  }
  return "";
}

// Whether a column is neither one element nor the whole tensor.
bool has_columns(const Logical& logical) {
  if (logical.shape.empty()) return false;
  const auto columns = static_cast<uint64_t>(logical.shape.back());
  return columns > 1 && logical.count > columns;
}

// What a row adds. Elements go to lane index % kLanes, and the lanes are added from
// the first to the last: the sums do not depend on the machine.
struct Lanes {
  double difference[kLanes] = {}, reference[kLanes] = {}, largest[kLanes] = {}, sign[kLanes] = {};

  // Elements that are not finite on one side count for nothing: the masks are equal.
  void add(int64_t lane, double a, double b, double& column) {
    constexpr double kMax = std::numeric_limits<double>::max();
    const bool finite = (std::abs(a) <= kMax) & (std::abs(b) <= kMax);
    const double d = finite ? a - b : 0, kept = finite ? b : 0, size = std::abs(d);
    difference[lane] += d * d;
    column += d * d;
    sign[lane] += static_cast<double>(d * kept > 0) - static_cast<double>(d * kept < 0);
    reference[lane] += kept * kept;
    largest[lane] = size > largest[lane] ? size : largest[lane];
  }
  void add(const double* a, const double* b, double* columns, int64_t count) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        add(lane, a[i + lane], b[i + lane], columns[i + lane]);
    }
    for (int64_t lane = 0; i < count; ++i, ++lane) add(lane, a[i], b[i], columns[i]);
  }
};

double sum(const double (&lanes)[kLanes]) {
  return std::accumulate(std::begin(lanes), std::end(lanes), 0.0);
}

int64_t first_with_difference(const double* a, const double* b, double size) {
  int64_t i = 0;
  while (!(std::abs(a[i] - b[i]) == size)) ++i;
  return i;
}

// Rows are the flattened leading dimensions, in chunks; sums in FP64, of the rows in their order.
class ValueComparison {
 public:
  ValueComparison(int64_t rows, int64_t row_length)
      : rows_(rows), row_length_(row_length), columns_(static_cast<size_t>(row_length)) {}

  void add(const std::vector<double>& candidate, const std::vector<double>& reference,
           int64_t first_row) {
    for (int64_t row = 0; row * row_length_ < static_cast<int64_t>(candidate.size()); ++row) {
      const double* a = candidate.data() + row * row_length_;
      const double* b = reference.data() + row * row_length_;
      Lanes lanes;
      lanes.add(a, b, columns_.data(), row_length_);
      const double squares = sum(lanes.difference);
      difference_squares_ += squares;
      reference_squares_ += sum(lanes.reference);
      signs_ += sum(lanes.sign);
      const double largest = *std::ranges::max_element(lanes.largest);
      if (largest > largest_) {
        largest_ = largest;
        worst_element_ = (first_row + row) * row_length_ + first_with_difference(a, b, largest);
      }
      if (squares > largest_row_) {
        largest_row_ = squares;
        worst_row_ = first_row + row;
      }
    }
  }

  void write(Deviation& deviation) const {
    const double norm = std::sqrt(reference_squares_);
    const double elements = static_cast<double>(std::max<int64_t>(1, rows_ * row_length_));
    deviation.difference = std::sqrt(difference_squares_);
    deviation.reference = norm;
    deviation.norm = ratio(deviation.difference, norm);
    deviation.row = ratio(std::sqrt(largest_row_), norm / std::sqrt(static_cast<double>(rows_)));
    deviation.element = ratio(largest_, norm / std::sqrt(elements));
    deviation.worst_row = worst_row_;
    deviation.worst_element = worst_element_;
    deviation.sign = signs_ / std::sqrt(elements);
    deviation.equal = difference_squares_ == 0;
    if (rows_ > 1 && row_length_ > 1) write_column(norm, deviation);
  }

 private:
  void write_column(double norm, Deviation& deviation) const {
    const auto largest = std::ranges::max_element(columns_);
    deviation.column =
        ratio(std::sqrt(*largest), norm / std::sqrt(static_cast<double>(row_length_)));
    if (*largest > 0) deviation.worst_column = largest - columns_.begin();
  }

  int64_t rows_, row_length_;
  std::vector<double> columns_;  // sums of squares of the differences
  double difference_squares_ = 0, reference_squares_ = 0, largest_ = 0, largest_row_ = 0;
  double signs_ = 0;
  int64_t worst_row_ = -1, worst_element_ = -1;
};

void compare_values(const trace::Step& candidate, const Logical& a,
                    const trace::TraceReader& a_values, const trace::Step& reference,
                    const Logical& b, const trace::TraceReader& b_values, Deviation& deviation) {
  const int64_t row_length = a.shape.empty() ? 1 : std::max<int64_t>(1, a.shape.back());
  const int64_t rows = static_cast<int64_t>(a.count) / row_length;
  const int64_t chunk = std::max<int64_t>(1, kChunkElements / row_length);
  ValueComparison comparison(rows, row_length);
  LogicalRows mine(candidate, a_values, a), other(reference, b_values, b);
  for (int64_t row = 0; row < rows; row += chunk) {
    const int64_t count = std::min(chunk, rows - row);
    comparison.add(mine.read(row, count), other.read(row, count), row);
  }
  comparison.write(deviation);
}

}  // namespace

Deviation deviation(const trace::Step& candidate, const Logical& candidate_logical,
                    const trace::TraceReader* candidate_values, const trace::Step& reference,
                    const Logical& reference_logical, const trace::TraceReader* reference_values) {
  Deviation result;
  result.why_not = obstacle(candidate_logical, reference_logical);
  if (!result.why_not.empty()) return result;
  result.comparable = true;
  const bool exact = !candidate_logical.partial && !reference_logical.partial;
  if (exact && candidate_logical.print.value_digest == reference_logical.print.value_digest) {
    result.equal = true;
    result.reference = reference_norm(reference_logical);
    if (has_values(candidate, candidate_logical)) {
      result.row = result.element = 0;
      if (has_columns(reference_logical)) result.column = 0;
    }
    return result;
  }
  if (candidate_values != nullptr && reference_values != nullptr &&
      has_values(candidate, candidate_logical) && has_values(reference, reference_logical)) {
    compare_values(candidate, candidate_logical, *candidate_values, reference, reference_logical,
                   *reference_values, result);
    return result;
  }
  const auto difference =
      trace::subtract(candidate_logical.print.sketch, reference_logical.print.sketch);
  result.difference = trace::sketch_norm(difference);
  result.reference = reference_norm(reference_logical);
  result.norm = ratio(result.difference, result.reference);
  return result;
}

double value_of(const Deviation& deviation, Metric metric) {
  switch (metric) {
    case Metric::kNorm:
      return deviation.norm;
    case Metric::kRow:
      return deviation.row;
    case Metric::kColumn:
      return deviation.column;
    case Metric::kElement:
      return deviation.element;
    case Metric::kSign:
      return deviation.row < 0 ? -1 : std::abs(deviation.sign);
    case Metric::kOperands:
    case Metric::kGrowth:
    case Metric::kInputs:
      break;
  }
  return -1;
}

}  // namespace nanhunt::oracle
