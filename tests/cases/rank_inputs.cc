// SPDX-License-Identifier: Apache-2.0
#include "tests/cases/rank_inputs.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "cases/mini/rounding.h"

namespace nanhunt::mini {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSpecial[] = {0.0f, -0.0f, kInf, -kInf, kNan, 1e-41f, -1e-41f, 1.0f};

float combine(float a, float b, const ReduceOptions& options) {
  float result = 0;
  switch (options.op) {
    case trace::ReduceOp::kSum:
      result = a + b;
      break;
    case trace::ReduceOp::kProduct:
      result = a * b;
      break;
    case trace::ReduceOp::kMax:
      result = std::isnan(a) || std::isnan(b) ? kNan
               : a == b                       ? (std::signbit(a) ? b : a)
                                              : std::max(a, b);
      break;
    case trace::ReduceOp::kMin:
      result = std::isnan(a) || std::isnan(b) ? kNan
               : a == b                       ? (std::signbit(a) ? a : b)
                                              : std::min(a, b);
      break;
  }
  return options.accumulate_in_storage ? rounded_to(result, options.storage) : result;
}

float tree(std::vector<float> level, const ReduceOptions& options) {
  while (level.size() > 1) {
    std::vector<float> next;
    for (size_t i = 0; i < level.size(); i += 2) {
      next.push_back(i + 1 < level.size() ? combine(level[i], level[i + 1], options) : level[i]);
    }
    level = next;
  }
  return level[0];
}

float chain(const std::vector<float>& column, size_t first, const ReduceOptions& options) {
  float sum = column[first % column.size()];
  for (size_t k = 1; k < column.size(); ++k) {
    sum = combine(sum, column[(first + k) % column.size()], options);
  }
  return sum;
}

}  // namespace

std::vector<float> rank_input(int rank, size_t elements, trace::DType storage, bool special) {
  std::mt19937 random(static_cast<uint32_t>(rank) * 7919u + static_cast<uint32_t>(elements));
  std::uniform_real_distribution<float> mantissa(-2.0f, 2.0f);
  std::uniform_int_distribution<int> exponent(-12, 12);
  std::vector<float> values(elements);
  for (float& value : values) {
    value = std::ldexp(mantissa(random), exponent(random));
    if (special && random() % 2 == 0) value = kSpecial[random() % std::size(kSpecial)];
  }
  round_to(values, storage);
  return values;
}

std::vector<float> naive_reduction(const std::vector<std::vector<float>>& inputs,
                                   const ReduceOptions& options) {
  const size_t elements = inputs[0].size();
  const size_t piece = (elements + inputs.size() - 1) / inputs.size();
  std::vector<float> result;
  for (size_t i = 0; i < elements; ++i) {
    std::vector<float> column;
    for (const auto& input : inputs) column.push_back(input[i]);
    const size_t first = options.order == ReduceOrder::kRing ? i / piece + 1 : 0;
    const float value =
        options.order == ReduceOrder::kTree ? tree(column, options) : chain(column, first, options);
    result.push_back(rounded_to(value, options.storage));
  }
  return result;
}

std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) {
    bits.push_back(std::isnan(value) ? 0x7FC00000u : std::bit_cast<uint32_t>(value));
  }
  return bits;
}

std::vector<std::string> run_on_threads(World& world, const std::function<void(int rank)>& body) {
  std::vector<std::string> failures(static_cast<size_t>(world.size()));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world.size(); ++rank) {
    threads.emplace_back([&body, &failures, rank] {
      try {
        body(rank);
      } catch (const std::exception& error) {
        failures[static_cast<size_t>(rank)] = error.what();
      }
    });
  }
  threads.clear();
  return failures;
}

}  // namespace nanhunt::mini
