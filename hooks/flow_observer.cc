// SPDX-License-Identifier: Apache-2.0
#include "hooks/flow_observer.h"

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hooks/flow_map.h"
#include "hooks/tensor_view.h"

namespace nanhunt::hooks {
namespace {

enum class Use : uint8_t { kRead, kChanged, kOverwritten };

struct OpKind {
  std::vector<Use> uses;  // by argument
  bool writes = false;
  bool by_element = false;  // lists are processed element by element
  bool exact = false;       // rounds only where the result's type is narrower
  // Reads tensors, and writes to one or returns one with memory of its own. What a view or
  // something like `reshape`, whose result may be one, does to memory it does by other ops.
  bool hands_on = false;
};

// In "Tensor(a!)[] self" the mark sits on the element type.
bool is_written(const c10::Argument& argument) {
  const c10::AliasInfo* alias = argument.alias_info();
  if (alias == nullptr) return false;
  if (alias->isWrite()) return true;
  for (const c10::AliasInfo& element : alias->containedTypes()) {
    if (element.isWrite()) return true;
  }
  return false;
}

bool overwrites_self(std::string_view name) {
  for (const char* op : {"aten::copy_", "aten::fill_", "aten::zero_", "aten::_foreach_copy_",
                         "aten::_foreach_zero_", "aten::normal_", "aten::uniform_"}) {
    if (name == op) return true;
  }
  return false;
}

// Ops that only move values.
constexpr std::string_view kExact[] = {"aten::cat",
                                       "aten::clone",
                                       "aten::constant_pad_nd",
                                       "aten::contiguous",
                                       "aten::copy_",
                                       "aten::_to_copy",
                                       "aten::embedding",
                                       "aten::fill_",
                                       "aten::flip",
                                       "aten::gather",
                                       "aten::index",
                                       "aten::index_select",
                                       "aten::masked_fill",
                                       "aten::max",
                                       "aten::min",
                                       "aten::neg",
                                       "aten::relu",
                                       "aten::repeat",
                                       "aten::roll",
                                       "aten::slice_backward",
                                       "aten::stack",
                                       "aten::to",
                                       "aten::where",
                                       "aten::zero_"};

// Or a list, tuple or optional, of whatever.
bool may_be_tensor(const c10::Argument& argument) {
  using enum c10::TypeKind;
  const c10::TypeKind kind = argument.type()->kind();
  return kind == TensorType || kind == ListType || kind == TupleType || kind == OptionalType ||
         kind == AnyType;
}

bool has_own_memory(const c10::Argument& result) {
  return may_be_tensor(result) && result.alias_info() == nullptr;
}

OpKind kind_of(const c10::FunctionSchema& schema) {
  const std::string_view name = schema.name();
  const bool overwrites = overwrites_self(name);
  OpKind kind;
  kind.exact = std::ranges::find(kExact, name) != std::end(kExact);
  kind.by_element = name.starts_with("aten::_foreach") || name.starts_with("aten::_fused_");
  for (const c10::Argument& argument : schema.arguments()) {
    const bool written = is_written(argument);
    const Use use = !written                              ? Use::kRead
                    : overwrites || argument.kwarg_only() ? Use::kOverwritten
                                                          : Use::kChanged;
    kind.uses.push_back(use);
    kind.writes = kind.writes || written;
  }
  kind.hands_on = std::ranges::any_of(schema.arguments(), may_be_tensor) &&
                  (kind.writes || std::ranges::any_of(schema.returns(), has_own_memory));
  return kind;
}

// A schema lives as long as its operator and its name's address with it, so the address names the
// overload. Reading the schema copies it, hence the cache. nullptr for ranges that are no ops.
const OpKind* kind_of(const at::RecordFunction& function) {
  thread_local std::unordered_map<const char*, OpKind> kinds;
  const auto known = kinds.find(function.name());
  if (known != kinds.end()) return &known->second;
  const auto schema = function.operator_schema();
  if (!schema) return nullptr;
  return &kinds.emplace(function.name(), kind_of(*schema)).first->second;
}

struct Operand {
  at::Tensor tensor;
  Carried set;
  size_t argument;
  size_t element = 0;
  size_t elements = 0;  // length of the list that it is in; 0: not in a list
  Use use = Use::kRead;
};

using Operands = c10::SmallVector<Operand, 4>;

struct FlowContext : at::ObserverContext {
  FlowContext(const OpKind& of_op, Operands&& of_call)
      : kind(&of_op), operands(std::move(of_call)) {}

  const OpKind* kind;
  Operands operands;
};

template <class Visit>
void each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    visit(value.toTensor(), size_t{0}, size_t{0});
  } else if (value.isList()) {
    const auto elements = value.toListRef();
    for (size_t i = 0; i < elements.size(); ++i) {
      if (elements[i].isTensor()) visit(elements[i].toTensor(), i, elements.size());
    }
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) each_tensor(element, visit);
  }
}

bool meets(const Operand& source, size_t element, size_t elements, bool by_element) {
  return !by_element || source.elements == 0 || source.elements != elements ||
         source.element == element;
}

std::unique_ptr<at::ObserverContext> before_op(const at::RecordFunction& function) {
  FlowMap* map = FlowMap::of_this_thread();
  if (map == nullptr) return nullptr;
  try {
    const OpKind* kind = kind_of(function);
    if (kind == nullptr || !kind->hands_on) return nullptr;
    Operands operands;
    bool carries = false;
    const auto inputs = function.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Use use = i < kind->uses.size() ? kind->uses[i] : Use::kRead;
      each_tensor(inputs[i], [&](const at::Tensor& tensor, size_t element, size_t elements) {
        if (!tensor.defined() || !tensor.has_storage()) return;
        operands.push_back({tensor, map->carried(tensor), i, element, elements, use});
        carries = carries || !operands.back().set.records.empty();
      });
    }
    if (!carries) return nullptr;
    return std::make_unique<FlowContext>(*kind, std::move(operands));
  } catch (...) {
    return nullptr;  // no link is better than a dead training run
  }
}

double unit_roundoff(const at::Tensor& tensor) {
  const auto type = dtype_of(tensor.scalar_type());
  return type && trace::is_floating(*type) ? trace::unit_roundoff(*type) : 0;
}

// What the op itself adds to the square of the relative error of that result.
double rounded_by_op(const FlowContext& context, const at::Tensor& result) {
  const double u = unit_roundoff(result);
  if (!context.kind->exact) return u * u;
  const auto narrows = [&](const Operand& source) {
    const double given = unit_roundoff(source.tensor);
    return source.use == Use::kRead && given > 0 && given < u;
  };
  return std::ranges::any_of(context.operands, narrows) ? u * u : 0;
}

// Relative errors of independent factors add in squares, and so they do here for terms of a sum,
// which is more than they come to.
void take_up(Carried& result, const Operand& source) {
  merge_into(result.records, source.set.records);
  result.rounding = std::min(result.rounding + source.set.rounding, 1.0);
}

bool same_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.is_alias_of(b) && memory_extent(a) == memory_extent(b);
}

void pass_to_written(FlowMap& map, const FlowContext& context) {
  for (const Operand& target : context.operands) {
    if (target.use == Use::kRead) continue;
    Carried set;
    set.rounding = rounded_by_op(context, target.tensor);
    if (target.use == Use::kChanged) set.rounding += target.set.rounding;
    bool overwritten = target.use == Use::kOverwritten;
    for (const Operand& source : context.operands) {
      // An overwritten argument gives nothing; a changed one keeps what it carries by itself, and
      // so does an out= argument that is an input too (what x.mul_(0.5) does inside).
      if (source.use == Use::kOverwritten || &source == &target) continue;
      if (!meets(source, target.element, target.elements, context.kind->by_element)) continue;
      if (overwritten && same_memory(source.tensor, target.tensor)) {
        overwritten = false;
        set.rounding += source.set.rounding;
      } else {
        take_up(set, source);
      }
    }
    if (overwritten) {
      map.assign(target.tensor, set);
    } else {
      map.add(target.tensor, set);
    }
  }
}

void pass_to_outputs(FlowMap& map, const FlowContext& context, const at::RecordFunction& function) {
  const auto pass = [&](const at::Tensor& output, size_t element, size_t elements) {
    if (!output.defined() || !output.has_storage()) return;
    Carried set;
    set.rounding = rounded_by_op(context, output);
    for (const Operand& source : context.operands) {
      if (source.tensor.is_alias_of(output)) return;  // a view, or the written argument itself
      if (meets(source, element, elements, context.kind->by_element)) take_up(set, source);
    }
    map.add(output, set);
  };
  for (const c10::IValue& output : function.outputs()) each_tensor(output, pass);
}

void after_op(const at::RecordFunction& function, at::ObserverContext* observer) {
  FlowMap* map = FlowMap::of_this_thread();
  if (map == nullptr || observer == nullptr) return;
  try {
    const auto& context = static_cast<const FlowContext&>(*observer);
    if (context.kind->writes) pass_to_written(*map, context);
    pass_to_outputs(*map, context, function);
  } catch (...) {
  }
}

}  // namespace

void observe_flow() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::addGlobalCallback(at::RecordFunctionCallback(before_op, after_op)
                              .needsInputs(true)
                              .needsOutputs(true)
                              .scopes({at::RecordScope::FUNCTION}));
  });
}

}  // namespace nanhunt::hooks
