// SPDX-License-Identifier: Apache-2.0
#include "hooks/torch_ops/capsules.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "hooks/tensor_view.h"
#include "hooks/torch_ops/point_text.h"

namespace nanhunt::hooks {
namespace {

CapsulePlan plan_of(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("folder"))
    throw std::invalid_argument("a capsule needs a folder");
  CapsulePlan plan;
  plan.folder = json["folder"].get<std::string>();
  plan.keep = json.value("keep", int64_t{0});
  plan.run = json.value("run", uint64_t{0});
  plan.queue_bytes = json.value("queue_bytes", plan.queue_bytes);
  if (plan.queue_bytes < 1) throw std::invalid_argument("queue_bytes is not positive");
  if (!json.value("wait", true)) plan.when_full = WhenFull::kLeaveOut;
  return plan;
}

}  // namespace

JobCapsules::JobCapsules(const std::string& plan, const std::string& facts)
    : writer_(plan_of(plan)), rank_(writer_.add_rank(parse_run_facts(facts))) {}

void JobCapsules::begin(int64_t step) {
  rank_.begin(step);
}

bool JobCapsules::add(const std::string& point, const at::Tensor& tensor) {
  const auto host = host_tensor(tensor);
  if (!host) return false;
  const TapPoint said = parse_point(point);
  rank_.add(said.site, said.role, host->view, said.placement);
  return true;
}

void JobCapsules::end() {
  rank_.end();
}

void JobCapsules::close() {
  writer_.close();
}

LoadedCapsule::LoadedCapsule(const std::string& folder, int64_t step, const std::string& facts)
    : facts_(parse_run_facts(facts)), capsule_(folder, step) {
  capsule_.require_whole();
}

std::string LoadedCapsule::tensors() const {
  nlohmann::json list = nlohmann::json::array();
  for (const capsule::Entry& entry : capsule_.entries()) {
    const auto& record = capsule_.step().records[static_cast<size_t>(entry.records.front())];
    list.push_back({{"site", entry.site},
                    {"role", entry.role},
                    {"kind", capsule::facts_of(capsule::kind_of(entry.site, entry.role)).name},
                    {"dtype", trace::name_of(record.storage)},
                    {"shape", record.placement->logical_shape},
                    {"lost", entry.site == capsule::kRunSite
                                 ? ""
                                 : capsule::unused_text(capsule::name_of(entry))}});
  }
  return list.dump();
}

std::string LoadedCapsule::load(const std::string& point, const at::Tensor& tensor) const {
  const TapPoint said = parse_point(point);
  const auto dtype = dtype_of(tensor.scalar_type());
  if (!dtype || !said.placement) return said.site + " " + said.role + ": no type of a capsule";
  const capsule::Wanted wanted{said.site, said.role, *dtype, tensor.sizes().vec(), said.placement};
  const auto plan =
      capsule::plan_load(capsule_, {wanted}, facts_.rank, capsule::same_layout(capsule_, facts_));
  const capsule::Planned& planned = plan.tensors.front();
  if (planned.outcome != capsule::Outcome::kLoaded) return planned.why;
  const at::Tensor packed = tensor.to(at::kCPU).contiguous().clone();
  capsule::load(capsule_, wanted, planned,
                {static_cast<std::byte*>(packed.data_ptr()), packed.nbytes()});
  at::Tensor target = tensor;
  target.copy_(packed);
  return "";
}

}  // namespace nanhunt::hooks
