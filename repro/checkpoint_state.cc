// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string_view>

#include "checkpoint/layout.h"
#include "checkpoint/state_name.h"
#include "repro/state.h"
#include "trace/error.h"
#include "trace/fingerprint.h"

namespace nanhunt::repro {
namespace {

using checkpoint::Checkpoint;
using checkpoint::CheckpointFile;
using checkpoint::TensorEntry;

// Elements as they are read: of a complex number both parts, of a packed code its byte.
int64_t views_in(const TensorEntry& tensor) {
  return tensor.bytes / static_cast<int64_t>(trace::size_of(tensor.type->view));
}

std::vector<std::byte> read_bytes(const CheckpointFile& file, const TensorEntry& tensor) {
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes));
  checkpoint::TensorData(file.header).read(tensor, 0, bytes);
  return bytes;
}

std::vector<double> read_values(const CheckpointFile& file, const TensorEntry& tensor) {
  const auto bytes = read_bytes(file, tensor);
  std::vector<double> values(static_cast<size_t>(views_in(tensor)));
  trace::widen_to_double(bytes.data(), tensor.type->view, values.size(), values.data());
  return values;
}

// Traces' name where a trace has the type; U16 is read as int16 and is no int16.
std::string type_name(const checkpoint::ElementType& type) {
  const std::string_view name = type.name;
  const bool other =
      type.coded || type.views() != 1 || type.bits < 8 || (name.starts_with("U") && name != "U8");
  return std::string(other ? name : trace::name_of(type.view));
}

void print(const CheckpointFile& file, const TensorEntry& entry, StateTensor* tensor) {
  const auto bytes = read_bytes(file, entry);
  const std::vector<int64_t> shape{views_in(entry)};
  const trace::Prints prints =
      trace::fingerprint(trace::contiguous_view(bytes.data(), entry.type->view, shape),
                         trace::whole({"element"}, shape));
  tensor->value_digest = prints.regions.front().value_digest;
  tensor->mask_digest = prints.regions.front().mask_digest;
}

bool same(const StateTensor& a, const StateTensor& b) {
  return a.type == b.type && a.shape == b.shape && a.value_digest == b.value_digest &&
         a.mask_digest == b.mask_digest;
}

void add(const std::shared_ptr<const Checkpoint>& checkpoint, const CheckpointFile& file,
         const TensorEntry& entry, const checkpoint::StateName& name, State* state) {
  StateTensor tensor;
  tensor.site = name.site;
  tensor.role = name.role;
  tensor.kind = capsule::kind_of(tensor.site, tensor.role);
  tensor.file = file.name;
  tensor.dtype = entry.type->view;
  tensor.type = type_name(*entry.type);
  tensor.shape = entry.shape;
  print(file, entry, &tensor);
  tensor.values = [checkpoint, &file, &entry] { return read_values(file, entry); };
  const auto [at, first] = state->tensors.try_emplace({tensor.site, tensor.role}, tensor);
  if (first || same(at->second, tensor)) return;
  throw trace::Error(trace::ErrorKind::kUnreadable,
                     file.header.path.string() + ": tensor " + entry.name + ": is in " +
                         at->second.file +
                         ", too, with other values, and nothing says whether they are copies or "
                         "slices: compare file with file");
}

StateTensor number(const std::string& role, double value, trace::DType dtype) {
  StateTensor tensor;
  tensor.site = "data";
  tensor.role = role;
  tensor.kind = capsule::Kind::kCursor;
  tensor.file = "trainer_state.json";
  tensor.dtype = dtype;
  tensor.type = trace::name_of(dtype);
  const auto whole = static_cast<int64_t>(value);
  const void* data = dtype == trace::DType::kInt64 ? static_cast<const void*>(&whole) : &value;
  const trace::Prints prints =
      trace::fingerprint(trace::contiguous_view(data, dtype, {}), trace::whole({}, {}));
  tensor.value_digest = prints.regions.front().value_digest;
  tensor.mask_digest = prints.regions.front().mask_digest;
  tensor.values = [value] { return std::vector<double>{value}; };
  return tensor;
}

void add_trainer(State* state) {
  if (!state->trainer) return;
  const auto put = [&](const StateTensor& tensor) {
    state->tensors.try_emplace({tensor.site, tensor.role}, tensor);
  };
  if (state->trainer->step) {
    put(number("global_step", static_cast<double>(*state->trainer->step), trace::DType::kInt64));
  }
  if (state->trainer->epoch) put(number("epoch", *state->trainer->epoch, trace::DType::kFloat64));
}

}  // namespace

State open_checkpoint_state(const std::filesystem::path& path) {
  const auto checkpoint = std::make_shared<const Checkpoint>(checkpoint::open_checkpoint(path));
  State state;
  state.name = path.string();
  state.path = path;
  state.foreign = true;
  state.tells_buffers = false;
  state.not_read = checkpoint->not_read;
  state.trainer = checkpoint::read_trainer_state(path);
  state.config = checkpoint::read_config(path);
  std::vector<std::string> names;
  for (const CheckpointFile& file : checkpoint->files) {
    for (const TensorEntry& entry : file.header.tensors) names.push_back(entry.name);
  }
  const std::string wrapper = checkpoint::common_wrapper(names);
  for (const CheckpointFile& file : checkpoint->files) {
    for (const TensorEntry& entry : file.header.tensors)
      add(checkpoint, file, entry, checkpoint::state_name(entry.name, wrapper), &state);
  }
  if (state.tensors.empty()) {
    throw trace::Error(trace::ErrorKind::kUnreadable,
                       path.string() + ": holds no tensor, there is nothing to compare");
  }
  add_trainer(&state);
  return state;
}

}  // namespace nanhunt::repro
