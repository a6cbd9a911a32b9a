// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

bool is_parameter(const trace::Record& record) {
  return record.what.role == "param" || record.what.role == "weight";
}

bool is_parameter_of(const trace::Record& record, const std::string& site,
                     const std::string& name) {
  return record.what.site == site + "." + name ||
         (record.what.site == site && record.what.role == name);
}

const Tensor* tensor_of(Operand* operand) {
  return operand == nullptr ? nullptr : &operand->tensor();
}

}  // namespace

const Tensor& Operand::tensor() {
  used = true;
  if (!read_) read_tensor(*reader_, *record_, slice_, tensor_);
  read_ = true;
  return tensor_;
}

void Operand::take(Slice slice) {
  slice_ = slice;
  read_ = false;
}

bool Operand::is_parameter() const {
  return oracle::is_parameter(*record_);
}

std::optional<double> Call::attribute(const std::string& name) const {
  return oracle::attribute(forward_, name);
}

bool Call::flag(const std::string& name) const {
  const auto json = nlohmann::json::parse(forward_.attributes, nullptr, false);
  return json.is_object() && json.value(name, nlohmann::json()) == true;
}

// A tied parameter has another site's name: it is taken when no other has that name.
Operand* Call::find_parameter(const std::string& name) const {
  Operand* tied = nullptr;
  int same_name = 0;
  for (Operand& operand : operands_) {
    const trace::Record& record = operand.record();
    if (!is_parameter(record)) continue;
    if (is_parameter_of(record, forward_.what.site, name)) return &operand;
    if (parameter_name(record) != name) continue;
    tied = &operand;
    ++same_name;
  }
  return same_name == 1 ? tied : nullptr;
}

Operand* Call::parameter_operand(const std::string& name) {
  Operand* operand = find_parameter(name);
  if (operand != nullptr) operand->used = true;
  return operand;
}

const Tensor* Call::parameter(const std::string& name) {
  return tensor_of(parameter_operand(name));
}

const trace::Record* Call::parameter_record(const std::string& name) const {
  const Operand* operand = find_parameter(name);
  return operand == nullptr ? nullptr : &operand->record();
}

bool Call::is_own_output(const trace::Record& record) const {
  return derivative_ && record.what.site == forward_.what.site &&
         record.what.role == forward_.what.role && record.what.phase == forward_.what.phase;
}

std::vector<Operand*> Call::activation_operands() {
  std::vector<Operand*> found;
  for (Operand& operand : operands_) {
    const trace::Record& record = operand.record();
    if (is_parameter(record) || !trace::is_floating(record.storage)) continue;
    if (is_own_output(record)) continue;
    operand.used = true;
    found.push_back(&operand);
  }
  return found;
}

Operand* Call::activation_operand() {
  const auto all = activation_operands();
  return all.size() == 1 ? all.front() : nullptr;
}

const Tensor* Call::activation() {
  return tensor_of(activation_operand());
}

std::vector<const Tensor*> Call::activations() {
  std::vector<const Tensor*> found;
  for (Operand* operand : activation_operands()) found.push_back(&operand->tensor());
  return found;
}

const trace::Record* Call::record_of_role(const std::string& role) const {
  for (const Operand& operand : operands_) {
    if (operand.record().what.role == role && !is_parameter(operand.record()))
      return &operand.record();
  }
  return nullptr;
}

Operand* Call::operand_of_role(const std::string& role) {
  for (Operand& operand : operands_) {
    if (operand.record().what.role != role || is_parameter(operand.record())) continue;
    operand.used = true;
    return &operand;
  }
  return nullptr;
}

const Tensor* Call::of_role(const std::string& role) {
  return tensor_of(operand_of_role(role));
}

const Tensor* Call::indices() {
  for (Operand& operand : operands_) {
    if (!trace::is_floating(operand.record().storage)) return &operand.tensor();
  }
  return nullptr;
}

Recomputed exactly(std::vector<double> values) {
  Recomputed result{std::move(values), {}, 0};
  result.magnitudes.resize(result.values.size());
  std::ranges::transform(result.values, result.magnitudes.begin(),
                         [](double value) { return std::abs(value); });
  return result;
}

Recomputed sum(Recomputed a, const Recomputed& b) {
  for (size_t i = 0; i < a.values.size(); ++i) {
    a.values[i] += b.values[i];
    a.magnitudes[i] += b.magnitudes[i];
  }
  a.roundings = std::max(a.roundings, b.roundings) + 1;
  return a;
}

std::string parameter_name(const trace::Record& record) {
  const std::string& role = record.what.role;
  if (role == "weight" && !record.what.site.ends_with(".bias")) return role;
  if (role != "weight" && role != "param" && role != "grad" && role != "main_grad") return "";
  const size_t dot = record.what.site.rfind('.');
  return dot == std::string::npos ? record.what.site : record.what.site.substr(dot + 1);
}

}  // namespace nanhunt::oracle
