// SPDX-License-Identifier: Apache-2.0
// write_example_trace FOLDER [SCALE]: the trace that docs/trace_format.md looks into. One step, one
// rank, three tensors with values. All numbers are multiplied by SCALE (default 1).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "trace/error.h"
#include "trace/segment.h"

namespace nanhunt::trace {
namespace {

// Bits of a bfloat16 whose value is exact.
uint16_t bfloat16_code(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

template <typename Code>
void add(Segment* segment, Record record, const std::vector<Code>& codes) {
  std::vector<std::byte> bytes(codes.size() * sizeof(Code));
  std::memcpy(bytes.data(), codes.data(), bytes.size());
  const Placement placement = *record.placement;
  const Prints prints =
      fingerprint(contiguous_view(bytes.data(), record.storage, record.local_shape), placement);
  record.statistics = prints.statistics;
  record.raw_digest = prints.raw_digest;
  record.regions = prints.regions;
  record.has_values = true;
  record.where = {segment->rank, 0, static_cast<int64_t>(segment->records.size()), Lane::kCompute};
  segment->records.push_back(std::move(record));
  segment->values.push_back(std::move(bytes));
}

Record record_of(const Segment& segment, const std::string& site, const std::string& role,
                 const std::string& op, DType dtype, std::vector<int64_t> shape) {
  Record record;
  record.what = {segment.step, site, Phase::kForward, role, 0};
  record.storage = dtype;
  record.op = op;
  record.placement = std::make_shared<Placement>(whole({"token", "channel"}, shape));
  record.local_shape = std::move(shape);
  return record;
}

Segment example(float scale) {
  Segment segment;
  segment.step = 12;
  segment.rank = 3;
  segment.facts.rank = 3;
  segment.facts.world_size = 4;
  segment.facts.mesh_size = {2, 1, 1, 1, 2, 1, 1, 1};
  segment.facts.mesh_coordinate = {1, 0, 0, 0, 1, 0, 0, 0};
  segment.facts.host = "node-7";
  segment.facts.device = "cpu";
  segment.facts.facts = {{"threads", "2"}, {"torch.version", "2.11.0"}};
  const std::string site = "decoder.layers.0.mlp.linear_fc1";
  add(&segment, record_of(segment, site, "weight", "linear", DType::kFloat8E4M3, {2, 2}),
      std::vector<uint8_t>{0x38, 0xB8, 0x7E, 0x01});
  std::vector<uint16_t> codes;
  for (const float value : {0.5f, -1.25f, 3.0f, 0.0f, 96.0f, -0.0078125f}) {
    codes.push_back(bfloat16_code(value * scale));
  }
  Record output = record_of(segment, site, "output", "linear", DType::kBFloat16, {2, 3});
  output.links = {{0, LinkGrade::kFlow}};
  add(&segment, output, codes);
  Record mask =
      record_of(segment, "decoder.layers.0.attention", "mask", "attention", DType::kBool, {1, 3});
  mask.attributes = R"({"scale":0.25})";
  add(&segment, mask, std::vector<uint8_t>{1, 1, 0});
  return segment;
}

}  // namespace
}  // namespace nanhunt::trace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: write_example_trace FOLDER [SCALE]\n");
    return 2;
  }
  try {
    const float scale = argc > 2 ? std::strtof(argv[2], nullptr) : 1.0f;
    nanhunt::trace::write_segment(argv[1], nanhunt::trace::example(scale));
  } catch (const nanhunt::trace::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
