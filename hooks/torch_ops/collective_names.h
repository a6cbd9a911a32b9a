// SPDX-License-Identifier: Apache-2.0
// What a job's collectives are called and how their tensors are placed. A collective inside a
// module's forward is that module's; one on the memory of a gradient is that parameter's; one in
// backward belongs to the site of the latest record that its operand carries; one that carries
// gradients of several parameters is a bucket of them; any other is counted.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "hooks/c10d_calls.h"
#include "hooks/rank_taps.h"

namespace nanhunt::hooks {

// True when the call moves floating-point tensors.
bool moves_floats(const C10dCall& call);

class CollectiveNames {
 public:
  explicit CollectiveNames(int32_t world_size) : world_size_(world_size) {}

  void group(const std::string& name, const std::string& axis);
  void enter(const std::string& site);
  void leave();
  void gradient(const std::string& site, const at::Tensor& gradient);
  void recorded(int64_t sequence, const TapPoint& point);
  std::string site_of(int64_t sequence) const;  // "" when not recorded() in this step
  void next();  // the next call is another one
  void end_step();

  // `carried`: sequence numbers of the records in the tensor's memory. A placement is known only
  // where the group is all ranks: how its members' neighbours on other axes are related is not said
  // by the call.
  TapPoint point(const C10dCall& call, trace::Phase phase, const at::Tensor& tensor, size_t index,
                 const std::vector<int64_t>& carried) const;

 private:
  std::string site(const C10dCall& call, const at::Tensor& tensor, size_t index,
                   const std::vector<int64_t>& carried, bool& is_gradient) const;

  int32_t world_size_;
  std::map<std::string, std::string> axes_;  // by group
  std::vector<std::string> modules_;
  std::vector<std::pair<std::string, at::Tensor>> gradients_;
  struct Recorded {
    std::string site;
    bool is_gradient = false;  // of a parameter
  };
  std::unordered_map<int64_t, Recorded> recorded_;  // of the step, by sequence number
  int64_t count_ = 0;
};

}  // namespace nanhunt::hooks
