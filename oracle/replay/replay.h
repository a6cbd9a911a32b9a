// SPDX-License-Identifier: Apache-2.0
// A replay computes one op again in FP64 from the operands that the trace captured: forward, and
// backward as the product of a gradient with the op's derivative. One file per op, all of them
// listed in replay_list.cc. Formulas, sources and the bounds they give: docs/rules.md, "Local
// replay".
//
// A replay takes operands by what they are (the parameter of that name, the activation) and says
// what it took. What fits no operand of the formula makes the record unexplained, not wrong: it is
// left without replay and counted in coverage.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "oracle/replay/intermediate.h"
#include "oracle/replay/tensor.h"

namespace nanhunt::oracle {

// The op's result in exact arithmetic from those operands, and how far rounding may move it: each
// of the `roundings` intermediate results of relative error u moves element i by at most u
// magnitudes[i], to first order (Higham, Accuracy and Stability of Numerical Algorithms, section
// 3.1). In the order of the recorded tensor.
struct Recomputed {
  std::vector<double> values;
  std::vector<double> magnitudes;
  double roundings = 0;
  std::vector<std::string> derivative_of = {};  // as in Finding
};

// A record that was consumed. Values are read when asked for, and kept.
class Operand {
 public:
  Operand(const trace::Record& record, const trace::TraceReader& reader)
      : record_(&record), reader_(&reader), slice_(whole_of(record)) {}

  const trace::Record& record() const { return *record_; }
  const Tensor& tensor();  // counts as use
  // From here on the tensor is that slice alone.
  void take(Slice slice);
  bool is_parameter() const;  // as the op saw it: itself, or a copy in another type

  bool used = false;

 private:
  const trace::Record* record_;
  const trace::TraceReader* reader_;
  Slice slice_;
  bool read_ = false;
  Tensor tensor_;
};

// What takes each element by itself, and needs no other: a sum, a product, a function of one
// number. It is computed block by block, in the cache; as a whole where its operands lie in another
// order.
struct Elementwise {
  // Of `count` elements: values and magnitudes, as in Recomputed, from as many of each input.
  using Function = std::function<void(const double* const* inputs, size_t count, double* values,
                                      double* magnitudes)>;

  std::vector<Operand*> inputs;  // of the shape of the target
  Function function;
  double roundings = 0;
};

// One op: the record that its site gave in forward, and the operands at hand.
class Call {
 public:
  // forward: the record of the op's output, for its site and attributes; target: the record to be
  // computed, by the op's derivative or by the op. All outlive the call.
  Call(const trace::Record& forward, const trace::Record& target, std::vector<Operand>& operands,
       bool derivative = false)
      : forward_(forward), target_(target), operands_(operands), derivative_(derivative) {}

  const trace::Record& target() const { return target_; }
  const std::string& op() const { return forward_.op; }
  std::optional<double> attribute(const std::string& name) const;
  bool flag(const std::string& name) const;  // an attribute that is true

  // Parameter NAME ("weight") of the op's site, in whatever type the op saw it; nullptr when it is
  // not among the operands. What is handed out counts as used.
  const Tensor* parameter(const std::string& name);
  // The record of it, without use.
  const trace::Record* parameter_record(const std::string& name) const;
  // The only operand that is no parameter, and of floating type; nullptr when there is none or more
  // than one. The op's own output, which a derivative may have kept, does not count.
  const Tensor* activation();
  // All of them, in program order.
  std::vector<const Tensor*> activations();
  // The operand of integer type ("tokens", "labels"); nullptr when there is none.
  const Tensor* indices();
  // The operand of that role ("mask", "labels"), not a parameter; nullptr when there is none.
  const Tensor* of_role(const std::string& role);
  const trace::Record* record_of_role(const std::string& role) const;

  // The same operands, with values that are not read yet.
  Operand* parameter_operand(const std::string& name);
  Operand* activation_operand();
  std::vector<Operand*> activation_operands();
  Operand* operand_of_role(const std::string& role);

  // A record of the op's own output that its derivative kept.
  bool is_own_output(const trace::Record& record) const;

 private:
  Operand* find_parameter(const std::string& name) const;

  const trace::Record& forward_;
  const trace::Record& target_;
  std::vector<Operand>& operands_;
  bool derivative_;
};

// Whether a slice of the result follows from the same slice of every operand that is no parameter,
// so that a large record can be computed piece by piece: in pieces that stay in the cache, or, of
// products, in larger ones.
enum class BySlices { kNo, kSmall, kLarge };

struct Replay {
  std::vector<std::string> ops;  // op kinds of records that it computes: "linear"
  // The op's output. nullopt: the operands do not fit the formula.
  std::optional<Recomputed> (*forward)(Call&) = nullptr;
  // What `gradient`, that of the op's output, gives for the target: an operand of the op, or one of
  // its parameters. nullptr: no derivative known.
  std::optional<Recomputed> (*backward)(Call&, const Tensor& gradient) = nullptr;
  // What implementations form on their way to `element` of the target, in the order of the formula;
  // of operands that may be NaN or Inf. Empty: the operands do not fit. nullptr: nothing is formed
  // that could be NaN or Inf where the result is not.
  Intermediates (*on_the_way)(Call&, size_t element) = nullptr;
  Intermediates (*on_the_way_back)(Call&, const Tensor& gradient, size_t element) = nullptr;
  BySlices by_slices = BySlices::kNo;  // of forward, and of backward to what is no parameter
  // In place of `forward`, and of `backward` to what is no parameter.
  std::optional<Elementwise> (*elementwise)(Call&) = nullptr;
  std::optional<Elementwise> (*elementwise_back)(Call&, Operand& gradient) = nullptr;
};

const std::vector<Replay>& replays();
// nullptr when no replay computes that kind of op.
const Replay* find_replay(const std::string& op);

// The value itself, for replays that move values only, and for sums.
Recomputed exactly(std::vector<double> values);
// a + b, element by element: one rounding more.
Recomputed sum(Recomputed a, const Recomputed& b);

// "weight" for a record of a parameter or its gradient at "decoder.final_layernorm.weight"; "" for
// others.
std::string parameter_name(const trace::Record& record);

}  // namespace nanhunt::oracle
