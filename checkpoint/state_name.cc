// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/state_name.h"

#include <algorithm>
#include <set>

#include "checkpoint/tensor_kind.h"

namespace nanhunt::checkpoint {
namespace {

const std::set<std::string> kWrappers = {"_orig_mod", "_fsdp_wrapped_module",
                                         "_checkpoint_wrapped_module"};
// Longest first: the shorter ones begin the longer ones.
const char* const kOwners[] = {"optimizer.state.", "optim.state.", "optimizer.", "optim.",
                               "state."};

bool is_state_role(const std::string& last) {
  static const std::set<std::string> roles = {"exp_avg",         "exp_avg_sq", "max_exp_avg_sq",
                                              "momentum_buffer", "step",       "master_param"};
  return roles.contains(last);
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ".") + part;
  return text;
}

}  // namespace

std::string common_wrapper(const std::vector<std::string>& names) {
  const std::string wrapper = "module.";
  const bool all = std::ranges::all_of(
      names, [&](const std::string& name) { return name.starts_with(wrapper); });
  return all && !names.empty() ? wrapper : "";
}

StateName state_name(const std::string& name, const std::string& wrapper) {
  std::vector<std::string> parts =
      components_of(name.starts_with(wrapper) ? name.substr(wrapper.size()) : name);
  std::erase_if(parts, [](const std::string& part) { return kWrappers.contains(part); });
  if (parts.size() < 2 || !is_state_role(parts.back())) return {join(parts), "param"};
  const std::string role = parts.back() == "master_param" ? "master" : parts.back();
  parts.pop_back();
  std::string site = join(parts);
  for (const std::string owner : kOwners) {
    if (!site.starts_with(owner)) continue;
    site = site.substr(owner.size());
    break;
  }
  return {site, role};
}

}  // namespace nanhunt::checkpoint
