// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/matrix.h"

#include <cblas.h>

#include <cmath>

#include "trace/check.h"

namespace nanhunt::oracle {
namespace {

// Replays run one a core, so a product needs no threads of its own; and OpenBLAS's pool may hang in
// its fork handler when a child is started while another thread wakes the pool (seen with 0.3.21).
// Before main, as later the pool may have been shut down by a fork, and the call would make it
// anew.
[[maybe_unused]] const bool kWithoutThreads = (openblas_set_num_threads(1), true);

std::vector<double> norms(const Matrix& matrix, bool by_row) {
  std::vector<double> squares(static_cast<size_t>(by_row ? matrix.rows : matrix.columns));
  const double* value = matrix.values.data();
  for (int64_t r = 0; r < matrix.rows; ++r) {
    for (int64_t c = 0; c < matrix.columns; ++c, ++value) {
      squares[static_cast<size_t>(by_row ? r : c)] += *value * *value;
    }
  }
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

CBLAS_TRANSPOSE how(const Matrix& matrix) {
  return matrix.transposed ? CblasTrans : CblasNoTrans;
}

}  // namespace

std::vector<double> product(const Matrix& a, const Matrix& b) {
  NANHUNT_CHECK(a.width() == b.height());
  std::vector<double> result(static_cast<size_t>(a.height() * b.width()));
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
