// SPDX-License-Identifier: Apache-2.0
// Products of FP64 matrices (BLAS), row-major, and norms along them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nanhunt::oracle {

struct Matrix {
  const std::vector<double>& values;
  int64_t rows, columns;
  bool transposed = false;  // use it as columns x rows

  int64_t height() const { return transposed ? columns : rows; }
  int64_t width() const { return transposed ? rows : columns; }
  double at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(transposed ? column * columns + row
                                                 : row * columns + column)];
  }
};

inline Matrix transposed(Matrix m) {
  return {m.values, m.rows, m.columns, !m.transposed};
}

// a b, height of a by width of b.
std::vector<double> product(const Matrix& a, const Matrix& b);
// Euclidean norm of each row (column) as the matrix is used. By Cauchy-Schwarz the sum of |terms|
// of element (i, j) of a product is at most row_norms(a)[i] column_norms(b)[j].
std::vector<double> row_norms(const Matrix& a);
std::vector<double> column_norms(const Matrix& b);

}  // namespace nanhunt::oracle
