// SPDX-License-Identifier: Apache-2.0
#include "hooks/op_listener.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "hooks/c10d_calls.h"

namespace nanhunt::hooks {
namespace {

thread_local std::weak_ptr<OpListener> listener_of_thread;
thread_local bool thread_listens = false;
std::mutex listeners_mutex;
std::vector<std::weak_ptr<OpListener>>& all_listeners() {
  static std::vector<std::weak_ptr<OpListener>> listeners;
  return listeners;
}

std::shared_ptr<OpListener> only_listener() {
  std::lock_guard lock(listeners_mutex);
  std::shared_ptr<OpListener> only;
  for (const auto& weak : all_listeners()) {
    auto listener = weak.lock();
    if (listener && only) return nullptr;  // which of them issued this is not known
    if (listener) only = std::move(listener);
  }
  return only;
}

struct ListenerContext : at::ObserverContext {
  std::weak_ptr<OpListener> listener;
  std::optional<CollectiveWatch::Issued> issued;  // nullopt: a wait
};

constexpr std::string_view kViews[] = {
    "aten::alias",   "aten::as_strided", "aten::chunk",       "aten::detach", "aten::expand",
    "aten::narrow",  "aten::permute",    "aten::select",      "aten::slice",  "aten::split",
    "aten::squeeze", "aten::t",          "aten::transpose",   "aten::unbind", "aten::unsqueeze",
    "aten::view",    "aten::view_as",    "aten::_unsafe_view"};

// What the functional collectives do before and after c10d is called reads no result.
bool is_functional(const at::RecordFunction& function) {
  return std::strncmp(function.name(), "_c10d_functional::", 18) == 0;
}
bool is_wait(const at::RecordFunction& function) {
  return std::string_view(function.name()) == "_c10d_functional::wait_tensor";
}

// Of calls whose end is looked at.
std::unique_ptr<at::ObserverContext> before_call(const std::shared_ptr<OpListener>& listener,
                                                 const at::RecordFunction& function) {
  auto context = std::make_unique<ListenerContext>();
  context->listener = listener;
  if (is_wait(function)) return context;
  context->issued = listener->before_collective(function);
  if (!context->issued) return nullptr;
  return context;
}

std::unique_ptr<at::ObserverContext> before_op(const at::RecordFunction& function) {
  const bool moves_data = is_c10d(function);
  if (!thread_listens && !moves_data) return nullptr;
  auto listener = listener_of_thread.lock();
  if (!listener && moves_data) listener = only_listener();
  if (!listener) return nullptr;
  try {
    const bool looked_at = moves_data || is_wait(function);
    if (looked_at && listener->on()) return before_call(listener, function);
    if (!looked_at && !is_functional(function)) listener->before_op(function);
  } catch (const std::exception& error) {
    listener->failed(error.what());
  }
  return nullptr;
}

void after_op(const at::RecordFunction& function, at::ObserverContext* observer) {
  if (observer == nullptr) return;
  auto& context = static_cast<ListenerContext&>(*observer);
  const auto listener = context.listener.lock();
  if (!listener) return;
  try {
    if (context.issued) {
      context.issued->work = work_of(function);
      listener->after_collective(std::move(*context.issued));
      return;
    }
    for (const c10::IValue& output : function.outputs()) {
      if (output.isTensor()) listener->after_wait(output.toTensor());
    }
  } catch (const std::exception& error) {
    listener->failed(error.what());
  }
}

}  // namespace

void each_use(const at::RecordFunction& function,
              const std::function<void(const at::Tensor& tensor, bool overwritten)>& visit) {
  const std::string_view name = function.name();
  if (std::ranges::find(kViews, name) != std::end(kViews)) return;
  const bool overwrites = name == "aten::copy_" || name == "aten::zero_" || name == "aten::fill_";
  bool first_argument = true;
  const auto use = [&](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.has_storage()) visit(tensor, overwrites && first_argument);
  };
  for (const c10::IValue& input : function.inputs()) {
    if (input.isTensor()) {
      use(input.toTensor());
    } else if (input.isTensorList()) {
      for (const c10::IValue& element : input.toListRef()) use(element.toTensor());
    }
    first_argument = false;
  }
}

void observe_ops() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::addGlobalCallback(at::RecordFunctionCallback(before_op, after_op)
                              .needsInputs(true)
                              .needsOutputs(true)
                              .scopes({at::RecordScope::FUNCTION}));
  });
}

void listen_on_this_thread(const std::shared_ptr<OpListener>& listener) {
  listener_of_thread = listener;
  thread_listens = true;
  std::lock_guard lock(listeners_mutex);
  std::erase_if(all_listeners(), [](const auto& each) { return each.expired(); });
  all_listeners().push_back(listener);
}

void stop_listening_on_this_thread() {
  thread_listens = false;
}

}  // namespace nanhunt::hooks
