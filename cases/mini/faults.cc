// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/faults.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cases/mini/nearest_name.h"
#include "trace/error.h"

namespace nanhunt::mini {
namespace {

constexpr std::pair<std::string_view, FaultName> kNames[] = {
    {"none", FaultName::kNone},
    {"norm_grad_not_summed", FaultName::kNormGradNotSummed},
    {"row_bias_on_every_rank", FaultName::kRowBiasOnEveryRank},
    {"row_grad_reduced_again", FaultName::kRowGradReducedAgain},
    {"reduce_scatter_on_world", FaultName::kReduceScatterOnWorld},
    {"masked_row", FaultName::kMaskedRow},
    {"clip_skipped_on_rank", FaultName::kClipSkippedOnRank},
    {"norm_counts_replicas", FaultName::kNormCountsReplicas},
    {"reduced_copy_dropped", FaultName::kReducedCopyDropped},
    {"large_mlp_weight", FaultName::kLargeMlpWeight},
    {"fp8_dequantise_scale", FaultName::kFp8DequantiseScale},
    {"fused_mask_last_block", FaultName::kFusedMaskLastBlock},
    {"bucket_read_early", FaultName::kBucketReadEarly},
    {"nan_on_rank", FaultName::kNanOnRank},
    {"row_not_written", FaultName::kRowNotWritten},
    {"row_missing_share", FaultName::kRowMissingShare},
    {"rows_swapped", FaultName::kRowsSwapped},
    {"element_outlier", FaultName::kElementOutlier},
    {"shard_scaled", FaultName::kShardScaled},
    {"gelu_tanh", FaultName::kGeluTanh},
    {"softmax_scale", FaultName::kSoftmaxScale},
    {"loss_denominator", FaultName::kLossDenominator},
    {"masters_from_values", FaultName::kMastersFromValues},
    {"step_not_restored", FaultName::kStepNotRestored},
    {"data_from_start", FaultName::kDataFromStart},
    {"values_not_gathered", FaultName::kValuesNotGathered},
    {"masks_redrawn", FaultName::kMasksRedrawn},
    {"loader_draws", FaultName::kLoaderDraws},
    {"frozen_moment_lost", FaultName::kFrozenMomentLost},
    {"high_half_kept", FaultName::kHighHalfKept},
    {"masks_from_clock", FaultName::kMasksFromClock},
    {"norm_eps_default", FaultName::kNormEpsDefault},
    {"gelu_default", FaultName::kGeluDefault},
    {"dropout_default", FaultName::kDropoutDefault},
    {"parameter_renamed", FaultName::kParameterRenamed},
    {"optimizer_not_loaded", FaultName::kOptimizerNotLoaded},
};

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, path + ": " + what);
}

FaultName name_from(const std::string& path, const nlohmann::json& value) {
  if (!value.is_string()) refuse(path, "field 'name' is not a text");
  const auto text = value.get<std::string>();
  std::vector<std::string> known;
  for (const auto& [name, fault] : kNames) {
    if (name == text) return fault;
    known.emplace_back(name);
  }
  refuse(path, "field 'name': no fault '" + text + "'; the nearest is '" +
                   nearest_name(text, known) + "'");
}

int64_t number_from(const std::string& path, const std::string& key, const nlohmann::json& value) {
  if (!value.is_number_integer()) refuse(path, "field '" + key + "' is not a whole number");
  if (value < 0) refuse(path, "field '" + key + "' is negative");
  return value.get<int64_t>();
}

Fault fault_from(const std::string& path, const nlohmann::json& fields) {
  if (!fields.is_object()) refuse(path, "the fault is not a JSON object");
  Fault fault;
  for (const auto& [key, value] : fields.items()) {
    if (key == "name") {
      fault.name = name_from(path, value);
    } else if (key == "layer") {
      fault.layer = number_from(path, key, value);
    } else if (key == "rank") {
      fault.rank = number_from(path, key, value);
    } else if (key == "microbatch") {
      fault.microbatch = number_from(path, key, value);
    } else if (key == "step") {
      fault.step = number_from(path, key, value);
    } else if (key == "element") {
      fault.element = number_from(path, key, value);
    } else {
      refuse(path,
             "no field '" + key + "'; the nearest is '" +
                 nearest_name(key, {"name", "layer", "rank", "microbatch", "step", "element"}) +
                 "'");
    }
  }
  if (!fields.contains("name")) refuse(path, "field 'name' is missing");
  return fault;
}

}  // namespace

Fault fault_from_environment() {
  const char* path = std::getenv("NANHUNT_FAULT_FILE");
  if (path == nullptr || *path == '\0') return {};
  std::ifstream file(path);
  if (!file) refuse(path, "cannot read the fault file");
  const auto fields = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (fields.is_discarded()) refuse(path, "the fault file is not JSON");
  return fault_from(path, fields);
}

}  // namespace nanhunt::mini
