// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/attention.h"

#include <algorithm>
#include <cmath>

namespace nanhunt::plain {
namespace {

using Matrix = std::vector<double>;  // [token][size] or [query][key]

// Where one head of one sample lies in qkv and in the result.
struct Place {
  int64_t sample, head, heads, tokens, size;

  size_t qkv(int64_t token, int64_t part, int64_t c) const {
    return static_cast<size_t>((((sample * tokens + token) * heads + head) * 3 + part) * size + c);
  }
  size_t context(int64_t token, int64_t c) const {
    return static_cast<size_t>(((sample * tokens + token) * heads + head) * size + c);
  }
};

// Turns each pair (c, c + size / 2) by the angle token * 10000^(-2c / size); backwards undoes it.
// Cosine and sine are FP32 numbers, as models hold their tables.
void rotate(Matrix& rows, const Place& place, bool backwards) {
  const int64_t half = place.size / 2;
  for (int64_t t = 0; t < place.tokens; ++t) {
    for (int64_t c = 0; c < half; ++c) {
      const double exponent = -2.0 * static_cast<double>(c) / static_cast<double>(place.size);
      const double angle = static_cast<double>(t) * std::pow(10000.0, exponent);
      const double cosine = static_cast<float>(std::cos(angle));
      const double sine = static_cast<float>(backwards ? -std::sin(angle) : std::sin(angle));
      double& first = rows[static_cast<size_t>(t * place.size + c)];
      double& second = rows[static_cast<size_t>(t * place.size + c + half)];
      const double before = first;
      first = before * cosine - second * sine;
      second = second * cosine + before * sine;
    }
  }
}

Matrix part_of(const Tensor& qkv, const Place& place, int64_t part) {
  Matrix rows;
  for (int64_t t = 0; t < place.tokens; ++t) {
    for (int64_t c = 0; c < place.size; ++c) rows.push_back(qkv[place.qkv(t, part, c)]);
  }
  return rows;
}

double dot(const Matrix& a, int64_t a_row, const Matrix& b, int64_t b_row, int64_t size) {
  double sum = 0;
  for (int64_t c = 0; c < size; ++c) {
    sum += a[static_cast<size_t>(a_row * size + c)] * b[static_cast<size_t>(b_row * size + c)];
  }
  return sum;
}

// into[row] += factor * from[from_row]
void add_row(Matrix& into, int64_t row, double factor, const Matrix& from, int64_t from_row,
             int64_t size) {
  for (int64_t c = 0; c < size; ++c) {
    into[static_cast<size_t>(row * size + c)] +=
        factor * from[static_cast<size_t>(from_row * size + c)];
  }
}

struct Head {
  Matrix query, key, value;
  Matrix weight;  // [query][key], 0 where a query may not look
  double scale;
};

int64_t keys_of(int64_t query, int64_t length) {
  return std::min(query + 1, length);
}

Head look(const Tensor& qkv, const Place& place, const AttentionShape& shape) {
  Head head{part_of(qkv, place, 0), part_of(qkv, place, 1), part_of(qkv, place, 2),
            Matrix(static_cast<size_t>(place.tokens * place.tokens), 0.0),
            1.0 / std::sqrt(static_cast<double>(place.size))};
  if (shape.rotary) {
    rotate(head.query, place, false);
    rotate(head.key, place, false);
  }
  for (int64_t q = 0; q < place.tokens; ++q) {
    double* row = &head.weight[static_cast<size_t>(q * place.tokens)];
    const int64_t keys = keys_of(q, shape.lengths[static_cast<size_t>(place.sample)]);
    for (int64_t k = 0; k < keys; ++k) {
      row[k] = head.scale * dot(head.query, q, head.key, k, place.size);
    }
    const double largest = *std::max_element(row, row + keys);
    double sum = 0;
    for (int64_t k = 0; k < keys; ++k) sum += row[k] = std::exp(row[k] - largest);
    for (int64_t k = 0; k < keys; ++k) row[k] /= sum;
  }
  return head;
}

std::vector<Place> places_of(const Tensor& qkv, const AttentionShape& shape) {
  std::vector<Place> places;
  const int64_t size = qkv.shape[2] / (3 * shape.heads);
  for (int64_t sample = 0; sample < qkv.shape[0]; ++sample) {
    for (int64_t head = 0; head < shape.heads; ++head) {
      places.push_back({sample, head, shape.heads, qkv.shape[1], size});
    }
  }
  return places;
}

void write_part(Tensor& qkv, const Place& place, int64_t part, const Matrix& rows) {
  for (int64_t t = 0; t < place.tokens; ++t) {
    for (int64_t c = 0; c < place.size; ++c) {
      qkv[place.qkv(t, part, c)] =
          static_cast<float>(rows[static_cast<size_t>(t * place.size + c)]);
    }
  }
}

// With o = p v: dv = p^T do, dp = do v^T, ds = p (dp - sum(p dp)), dq = ds k / sqrt(size), dk =
// ds^T q.
void differentiate(Tensor& result, const Tensor& gradient, const Tensor& qkv, const Place& place,
                   const AttentionShape& shape) {
  const Head head = look(qkv, place, shape);
  const int64_t size = place.size;
  Matrix outer;
  for (int64_t t = 0; t < place.tokens; ++t) {
    for (int64_t c = 0; c < size; ++c) outer.push_back(gradient[place.context(t, c)]);
  }
  Matrix query(outer.size(), 0.0), key(outer.size(), 0.0), value(outer.size(), 0.0);
  for (int64_t q = 0; q < place.tokens; ++q) {
    const double* weight = &head.weight[static_cast<size_t>(q * place.tokens)];
    const int64_t keys = keys_of(q, shape.lengths[static_cast<size_t>(place.sample)]);
    double mean = 0;
    for (int64_t k = 0; k < keys; ++k) mean += weight[k] * dot(outer, q, head.value, k, size);
    for (int64_t k = 0; k < keys; ++k) {
      const double score = head.scale * weight[k] * (dot(outer, q, head.value, k, size) - mean);
      add_row(query, q, score, head.key, k, size);
      add_row(key, k, score, head.query, q, size);
      add_row(value, k, weight[k], outer, q, size);
    }
  }
  if (shape.rotary) {
    rotate(query, place, true);
    rotate(key, place, true);
  }
  write_part(result, place, 0, query);
  write_part(result, place, 1, key);
  write_part(result, place, 2, value);
}

}  // namespace

Tensor attention(const Tensor& qkv, const AttentionShape& shape) {
  Tensor result = zeros({qkv.shape[0], qkv.shape[1], qkv.shape[2] / 3});
  for (const Place& place : places_of(qkv, shape)) {
    const Head head = look(qkv, place, shape);
    for (int64_t q = 0; q < place.tokens; ++q) {
      Matrix row(static_cast<size_t>(place.size), 0.0);
      for (int64_t k = 0; k < place.tokens; ++k) {
        const double weight = head.weight[static_cast<size_t>(q * place.tokens + k)];
        if (weight != 0) add_row(row, 0, weight, head.value, k, place.size);
      }
      for (int64_t c = 0; c < place.size; ++c) {
        result[place.context(q, c)] = static_cast<float>(row[static_cast<size_t>(c)]);
      }
    }
  }
  return result;
}

Tensor attention_gradient(const Tensor& gradient, const Tensor& qkv, const AttentionShape& shape) {
  Tensor result = zeros(qkv.shape);
  for (const Place& place : places_of(qkv, shape)) {
    differentiate(result, gradient, qkv, place, shape);
  }
  return result;
}

}  // namespace nanhunt::plain
