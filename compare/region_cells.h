// SPDX-License-Identifier: Apache-2.0
// The cells of one region of a record: pairs of logical and local flat index, in logical order; and
// a window on a logical tensor's values that holds a bounded number of rows at a time.
#pragma once

#include <functional>
#include <vector>

#include "compare/side_step.h"

namespace nanhunt::compare {

// Calls visit(logical flat index, local flat index) for each cell, logical indices ascending.
void for_each_cell(const trace::Record& record, int region,
                   const std::function<void(int64_t, int64_t)>& visit);

// True when every piece of the logical tensor was captured with values.
bool has_values(const SideStep& side, const oracle::Logical& logical);

// Reads rows as they are asked for; ascending access reads each row once.
class LogicalWindow {
 public:
  LogicalWindow(const SideStep& side, const oracle::Logical& logical);
  double at(int64_t flat_index);
  int64_t row_length() const { return row_length_; }
  int64_t rows() const { return rows_; }

 private:
  void load(int64_t row);

  const SideStep& side_;
  const oracle::Logical& logical_;
  int64_t row_length_ = 1;
  int64_t rows_ = 1;
  int64_t first_row_ = 0;
  int64_t loaded_rows_ = 0;
  std::vector<double> values_;
};

}  // namespace nanhunt::compare
