// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/rotary.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>

#include <utility>

namespace nanhunt::mini {
namespace {

struct Table {
  int64_t tokens = 0, size = 0;
  at::Tensor cosine, sine;  // [tokens, 1, 1, size]
};

Table make_table(int64_t tokens, int64_t size) {
  const at::NoGradGuard no_grad;
  const at::Tensor exponents = at::arange(0, size, 2, at::kDouble) / static_cast<double>(-size);
  const at::Tensor half =
      at::outer(at::arange(0, tokens, at::kDouble), at::pow(kRotaryBase, exponents));
  const at::Tensor angles = at::cat({half, half}, -1).view({tokens, 1, 1, size});
  return {tokens, size, angles.cos().to(at::kFloat), angles.sin().to(at::kFloat)};
}

const Table& table_for(int64_t tokens, int64_t size) {
  thread_local Table table;
  if (table.tokens != tokens || table.size != size) table = make_table(tokens, size);
  return table;
}

}  // namespace

at::Tensor rotate(const at::Tensor& heads) {
  const int64_t size = heads.size(3);
  const Table& table = table_for(heads.size(0), size);
  const at::Tensor first = heads.narrow(3, 0, size / 2);
  const at::Tensor second = heads.narrow(3, size / 2, size / 2);
  return heads * table.cosine + at::cat({-second, first}, -1) * table.sine;
}

}  // namespace nanhunt::mini
