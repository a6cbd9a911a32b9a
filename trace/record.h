// SPDX-License-Identifier: Apache-2.0
// A record: one captured tensor. *What* it is (the same in every layout), *where* it was seen, its
// placement, the facts that rules need, statistics and fingerprints. The values, when captured in
// full, stay in the file until asked for (trace_reader.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "trace/dtype.h"
#include "trace/fingerprint.h"
#include "trace/placement.h"
#include "trace/vocabulary.h"

namespace nanhunt::trace {

// Names a logical tensor, or one of its pieces, in every layout. The samples that a piece covers
// are told by its regions; `occurrence` counts repeats for the same samples within a step
// (recompute).
struct What {
  int64_t step = 0;
  std::string site;  // dotted, layer numbers global: "decoder.layers.3.mlp.linear_fc1"
  Phase phase = Phase::kForward;
  std::string role;  // input output grad_input grad_output weight grad main_grad param exp_avg ...
  int32_t occurrence = 0;

  auto operator<=>(const What&) const = default;
};

struct Where {
  int32_t rank = 0;
  int32_t microbatch = -1;  // -1: not inside one
  int64_t sequence = 0;     // program order on that rank, over all lanes, dense from 0 in each step
  Lane lane = Lane::kCompute;
};

// A record that this one consumed, on the same rank and step, by sequence number.
// Values that cross ranks are told by the collective log.
struct Link {
  int64_t sequence = 0;
  LinkGrade grade = LinkGrade::kFlow;

  bool operator==(const Link&) const = default;
};

struct Record {
  What what;
  Where where;
  DType storage = DType::kFloat32;  // of the elements
  DType compute = DType::kFloat32;  // in which the producing op rounds or accumulates
  // Relative error by rounding since the records that it links to: root of the sum of squares of
  // the unit roundoffs of the ops in between. 0: not followed.
  float rounding = 0;
  std::vector<int64_t> local_shape;
  std::shared_ptr<const Placement> placement;
  std::string op;          // kind of the producing op: "linear", "attention", "all_reduce", ...
  std::string attributes;  // JSON object of its attributes: {"eps":1e-05,"scale":0.25}; "" = none
  std::vector<Link> links;
  int64_t collective = -1;  // index into the collective log of (step, rank); -1: none
  Statistics statistics;
  uint64_t raw_digest = 0;
  std::vector<uint64_t> segment_digests;
  std::vector<RegionPrint> regions;
  bool has_values = false;
};

// Elements that are NaN or Inf and may not be: -Inf in a mask means "masked" and is not counted.
uint64_t non_finite_elements(const Record& record);
// "step 2 decoder.layers.0.mlp.linear_fc1 forward output"
std::string describe(const What& what);
// Site with each number replaced by *: sites of one kind share it.
std::string site_kind(const std::string& site);

}  // namespace nanhunt::trace
