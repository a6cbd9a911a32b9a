// SPDX-License-Identifier: Apache-2.0
#include "bench/planting.h"

#include "trace/segment.h"

namespace nanhunt::bench {
namespace {

namespace fs = std::filesystem;

void copy_without(const trace::TraceReader& reader, int64_t step, int32_t rank,
                  const fs::path& to) {
  fs::remove_all(to);
  fs::create_directories(to);
  // Linked: a segment is written beside the old one and renamed.
  fs::copy(reader.folder(), to, fs::copy_options::recursive | fs::copy_options::create_hard_links);
  for (const auto& entry : fs::recursive_directory_iterator(to)) {
    const auto name = trace::parse_segment_path(entry.path());
    if (name && name->rank == rank && name->step == step) fs::remove(entry.path());
  }
}

std::vector<std::byte> bytes_of(const trace::TraceReader& reader, const trace::Record& record) {
  if (!record.has_values) return {};
  size_t count = 1;
  for (const int64_t extent : record.local_shape) count *= static_cast<size_t>(extent);
  std::vector<std::byte> bytes(count * trace::size_of(record.storage));
  reader.read_values(record, 0, static_cast<int64_t>(count), bytes);
  return bytes;
}

}  // namespace

void plant(const trace::TraceReader& reader, const trace::Step& step, const trace::Record& target,
           const Values& values, const fs::path& to) {
  const int32_t rank = target.where.rank;
  copy_without(reader, step.step, rank, to);
  trace::Segment segment;
  segment.step = step.step;
  segment.rank = rank;
  segment.facts = *reader.facts_of(rank);
  for (const auto& record : step.records) {
    if (record.where.rank != rank) continue;
    segment.records.push_back(record);
    segment.values.push_back(bytes_of(reader, record));
    if (&record != &target) continue;
    auto changed = packed(values, record.storage);
    const auto prints = trace::fingerprint(
        trace::contiguous_view(changed.data(), record.storage, record.local_shape),
        *record.placement);
    segment.records.back().statistics = prints.statistics;
    segment.records.back().raw_digest = prints.raw_digest;
    segment.records.back().regions = prints.regions;
    if (record.has_values) segment.values.back() = std::move(changed);
  }
  for (size_t c = 0; c < step.collectives.size(); ++c) {
    if (step.collectives[c].rank != rank) continue;
    segment.collectives.push_back(step.collectives[c]);
    segment.collective_index.push_back(step.collective_log_index[c]);
  }
  segment.cut = trace::CutReason::kStepEnd;
  trace::write_segment(to, segment);
}

}  // namespace nanhunt::bench
