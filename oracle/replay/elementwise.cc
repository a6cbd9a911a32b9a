// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/elementwise.h"

#include <algorithm>
#include <cmath>

#include "oracle/replay/value_stream.h"

namespace nanhunt::oracle {
namespace {

// One term over one block after another.
class TermStream {
 public:
  TermStream(const Elementwise& term, const trace::TraceReader& reader)
      : term_(term), rooms_(term.inputs.size()) {
    for (size_t k = 0; k < term.inputs.size(); ++k) {
      streams_.emplace_back(reader, term.inputs[k]->record());
      inputs_.push_back(rooms_[k].data());
    }
  }

  void compute(int64_t begin, int64_t count, double* values, double* magnitudes) {
    for (size_t k = 0; k < streams_.size(); ++k) streams_[k].read(begin, count, rooms_[k].data());
    term_.function(inputs_.data(), static_cast<size_t>(count), values, magnitudes);
  }

 private:
  const Elementwise& term_;
  std::vector<Block> rooms_;
  std::vector<ValueStream> streams_;
  std::vector<const double*> inputs_;
};

double roundings_of(const std::vector<Elementwise>& terms) {
  double all = terms.front().roundings;
  for (size_t k = 1; k < terms.size(); ++k) all = std::max(all, terms[k].roundings) + 1;
  return all;
}

}  // namespace

std::optional<Elementwise> pointwise(Call& call, ByElement function, double roundings) {
  Operand* input = call.activation_operand();
  if (input == nullptr) return std::nullopt;
  return Elementwise{{input},
                     [=](const double* const* x, size_t count, double* values, double* magnitudes) {
                       function(x[0], count, values, magnitudes);
                     },
                     roundings};
}

std::optional<Elementwise> pointwise_gradient(Call& call, Operand& gradient, ByElement slope,
                                              double roundings) {
  Operand* input = call.activation_operand();
  if (input == nullptr) return std::nullopt;
  const auto chain = [=](const double* const* in, size_t count, double* values,
                         double* magnitudes) {
    slope(in[0], count, values, magnitudes);
    for (size_t i = 0; i < count; ++i) {
      values[i] *= in[1][i];
      magnitudes[i] *= std::abs(in[1][i]);
    }
  };
  return Elementwise{{input, &gradient}, chain, roundings};
}

Elementwise handed_on(Operand& input) {
  return {{&input},
          [](const double* const* x, size_t count, double* values, double* magnitudes) {
            for (size_t i = 0; i < count; ++i) {
              values[i] = x[0][i];
              magnitudes[i] = std::abs(x[0][i]);
            }
          },
          0};
}

std::optional<Recomputed> in_one_piece(const Elementwise& op, const trace::Record& target) {
  const auto axes = axes_of(target);
  std::vector<Tensor> rooms(op.inputs.size());
  std::vector<const double*> inputs;
  size_t count = 0;
  for (Operand* input : op.inputs) {
    const Tensor& x = in_order_of(input->tensor(), axes, rooms[inputs.size()]);
    if (x.shape != target.local_shape) return std::nullopt;
    count = x.values.size();
    inputs.push_back(x.values.data());
  }
  Recomputed result{std::vector<double>(count), std::vector<double>(count), op.roundings};
  op.function(inputs.data(), count, result.values.data(), result.magnitudes.data());
  return result;
}

bool lie_as_target(const std::vector<Elementwise>& terms, const trace::Record& target) {
  return std::ranges::all_of(terms, [&](const Elementwise& term) {
    return std::ranges::all_of(
        term.inputs, [&](const Operand* input) { return lie_alike(input->record(), target); });
  });
}

void sum_by_blocks(const std::vector<Elementwise>& terms, const trace::TraceReader& reader,
                   const trace::Record& target, const std::vector<std::string>& derivative_of,
                   const TakeCompared& take) {
  std::vector<TermStream> streams;
  for (const Elementwise& term : terms) streams.emplace_back(term, reader);
  ValueStream recorded(reader, target);
  Block found, values, magnitudes, more, more_magnitudes;
  const int64_t all = elements_of(target);
  const double roundings = roundings_of(terms);
  for (int64_t begin = 0; begin == 0 || begin < all; begin += kBlockElements) {
    const int64_t count = std::min(kBlockElements, all - begin);
    const auto size = static_cast<size_t>(count);
    streams.front().compute(begin, count, values.data(), magnitudes.data());
    for (size_t k = 1; k < streams.size(); ++k) {
      streams[k].compute(begin, count, more.data(), more_magnitudes.data());
      for (size_t i = 0; i < size; ++i) {
        values[i] += more[i];
        magnitudes[i] += more_magnitudes[i];
      }
    }
    recorded.read(begin, count, found.data());
    take({begin, found.first(size), values.first(size), magnitudes.first(size), roundings,
          derivative_of});
  }
}

int64_t bytes_by_blocks(const std::vector<Elementwise>& terms) {
  constexpr int64_t kRooms = 5;
  int64_t streams = 1;
  for (const Elementwise& term : terms) streams += static_cast<int64_t>(term.inputs.size());
  return streams * ValueStream::kBytes + (streams + kRooms) * static_cast<int64_t>(sizeof(Block));
}

}  // namespace nanhunt::oracle
