// SPDX-License-Identifier: Apache-2.0
// How far captured values are from recomputed ones, against what rounding explains. Derivation in
// docs/rules.md, "Local replay".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oracle/replay/replay.h"

namespace nanhunt::oracle {

struct Rounding {
  double inside = 0;         // unit roundoff in which the op computes
  double result = 0;         // and of the recorded type
  double min_subnormal = 0;  // of that type
  double max_finite = 0;
  // Relative error of roundings between the operands and the op that the replay does not do (casts
  // of operands, BF16 between two ops): root of the sum of their squares. Not 0: nothing is proven.
  double operands = 0;
};

// Each ratio is error over bound: above 1 is out of rule.
struct ErrorTest {
  double proven = 0;   // worst element against the deterministic bound; 0 when nothing is proven
  double element = 0;  // worst element against the statistical bound
  double norm = 0;     // sum of squares of all errors
  double scale = 0;    // projection on the values: a common factor, truncation
  double shift = 0;    // sum of all errors: a bias
  int64_t compared = 0;
  int64_t worst = -1;              // element of the largest ratio
  double expected = 0, found = 0;  // there
  double factor = 1;               // least-squares factor of found against expected

  double suspicious() const;
  // The test of `suspicious`: "element", "norm", "scale" or "shift".
  std::string leading() const;
};

// Part by part. lambda: `suspicious_lambda`. Elements whose recomputed value is not finite are
// left out (an operand was not finite, or nobody can say); a value that is not finite where the
// recomputed one is and would fit the type is out of any bound.
class ErrorTester {
 public:
  // elements: of all parts together; roundings: as in Recomputed.
  ErrorTester(const Rounding& rounding, double roundings, double lambda, int64_t elements);
  ~ErrorTester();
  ErrorTester(ErrorTester&&) noexcept;

  // What was recorded, and what was recomputed with its magnitudes, as in Recomputed. Parts that
  // are a multiple of kBlock (error_sums.h), but for the last, give the same bits however cut.
  void add(std::span<const double> found, std::span<const double> values,
           std::span<const double> magnitudes);
  // After the last part: true when the bounds of the whole hold only if errors are dependent, or
  // not at all. Then all parts go to `add_dependence`, in any order, before `result`.
  bool wants_dependence() const;
  void add_dependence(std::span<const double> found, std::span<const double> values,
                      std::span<const double> magnitudes);
  ErrorTest result() const;
  // Root of the sum of squares of the magnitudes, over the elements that were compared; 0 where the
  // op rounds nothing.
  double norm_of_magnitudes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The same of values in one piece.
ErrorTest test_errors(const std::vector<double>& found, const Recomputed& expected,
                      const Rounding& rounding, double lambda);

}  // namespace nanhunt::oracle
