// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/matrix.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "trace/check.h"
#include "trace/large_array.h"

namespace nanhunt::oracle {
namespace {

// Replays run one a core, so a product needs no threads of its own; and OpenBLAS's pool may hang in
// its fork handler when a child is started while another thread wakes the pool (seen with 0.3.21).
// Before main, as later the pool may have been shut down by a fork, and the call would make it
// anew.
[[maybe_unused]] const bool kWithoutThreads = (openblas_set_num_threads(1), true);

std::vector<double> norms(const Matrix& matrix, bool by_row) {
  const auto width = static_cast<blasint>(matrix.columns);
  const double* row = matrix.values.data();
  std::vector<double> result(static_cast<size_t>(by_row ? matrix.rows : matrix.columns));
  for (int64_t r = 0; r < matrix.rows; ++r, row += width) {
    if (by_row) {
      result[static_cast<size_t>(r)] = cblas_ddot(width, row, 1, row, 1);
    } else {
      for (blasint c = 0; c < width; ++c) result[static_cast<size_t>(c)] += row[c] * row[c];
    }
  }
  for (double& square : result) square = std::sqrt(square);
  return result;
}

CBLAS_TRANSPOSE how(const Matrix& matrix) {
  return matrix.transposed ? CblasTrans : CblasNoTrans;
}

}  // namespace

std::vector<double> product(const Matrix& a, const Matrix& b) {
  NANHUNT_CHECK(a.width() == b.height());
  std::vector<double> result;
  trace::resize_for_overwrite(result, static_cast<size_t>(a.height() * b.width()));
  if (a.width() == 0) std::ranges::fill(result, 0);
  if (result.empty() || a.width() == 0) return result;
  cblas_dgemm(CblasRowMajor, how(a), how(b), static_cast<blasint>(a.height()),
              static_cast<blasint>(b.width()), static_cast<blasint>(a.width()), 1.0,
              a.values.data(), static_cast<blasint>(a.columns), b.values.data(),
              static_cast<blasint>(b.columns), 0.0, result.data(), static_cast<blasint>(b.width()));
  return result;
}

std::vector<double> row_norms(const Matrix& a) {
  return norms(a, !a.transposed);
}

std::vector<double> column_norms(const Matrix& b) {
  return norms(b, b.transposed);
}

}  // namespace nanhunt::oracle
