// SPDX-License-Identifier: Apache-2.0
#include "ablate/schema.h"

namespace nanhunt::ablate {

const std::vector<Leaf>& subject_schema() {
  static const std::vector<Leaf> schema = {
      {"command"},
      {"failure"},
      {"capsules"},
      {"resume"},
      {"resume_parameters"},
      {"ranks"},
      {"seed"},
      {"calibrate"},
      {"repeats"},
      {"timeout_s"},
      {"toggle.*.values"},
      {"toggle.*.reference"},
      {"toggle.*.arg"},
      {"toggle.*.effective"},
      {"toggle.*.effective_values"},
      {"toggle.*.moves"},
      {"toggle.*.needs", true},
      {"param.*.default"},
      {"param.*.arg"},
  };
  return schema;
}

const std::vector<Leaf>& case_schema() {
  static const std::vector<Leaf> schema = {
      {"subject"},
      {"capsule"},
      {"level"},
      {"steps"},
      {"poison"},
      {"timeout_s"},
      {"intended"},
      {"set.*"},
      {"reference.*"},
      {"thresholds.*"},
      {"repro"},
      {"convergence.seeds"},
      {"convergence.same"},
      {"convergence.steps"},
      {"convergence.margin"},
      {"convergence.metrics"},
      {"convergence.loss"},
      {"fault.*"},
      {"expect.verdict"},
      {"expect.site"},
      {"expect.phase"},
      {"expect.role"},
      {"expect.ranks"},
      {"expect.lineage"},
      {"expect.cause"},
      {"expect.signature"},
      {"expect.blame"},
      {"expect.state"},
      {"expect.replay"},
      {"expect.convergence"},
      {"expect.evidence"},
      {"expect.parts"},
  };
  return schema;
}

}  // namespace nanhunt::ablate
