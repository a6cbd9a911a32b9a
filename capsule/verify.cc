// SPDX-License-Identifier: Apache-2.0
#include "capsule/verify.h"

#include "trace/error.h"
#include "trace/fingerprint.h"
#include "trace/step_files.h"
#include "trace/tiling.h"

namespace nanhunt::capsule {
namespace {

using trace::Record;

bool same_counts(const trace::Statistics& a, const trace::Statistics& b) {
  return a.count == b.count && a.nan == b.nan && a.pos_inf == b.pos_inf && a.neg_inf == b.neg_inf &&
         a.zero == b.zero && a.subnormal == b.subnormal && a.saturated == b.saturated &&
         a.padding == b.padding && a.min == b.min && a.max == b.max;
}

bool same_regions(const std::vector<trace::RegionPrint>& a,
                  const std::vector<trace::RegionPrint>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].value_digest != b[i].value_digest || a[i].mask_digest != b[i].mask_digest)
      return false;
  }
  return true;
}

// "decoder.final_layernorm.weight param (rank 1, step 4) in FILE: "
std::string place_of(const Capsule& capsule, const Record& record) {
  return record.what.site + " " + record.what.role + " (rank " + std::to_string(record.where.rank) +
         ", step " + std::to_string(record.what.step) + ") in " +
         trace::file_of_row(capsule.reader().folder(), record.what.step, record.where.rank,
                            record.where.sequence)
             .string() +
         ": ";
}

// "" or why not.
std::string damage_of(const Record& record, const std::vector<std::byte>& bytes) {
  const auto prints = trace::fingerprint(
      trace::contiguous_view(bytes.data(), record.storage, record.local_shape), *record.placement);
  if (prints.raw_digest != record.raw_digest) return "the values are not those that were written";
  if (!same_regions(prints.regions, record.regions) ||
      !same_counts(prints.statistics, record.statistics)) {
    return "what the file says of the values is not what was written";
  }
  return "";
}

}  // namespace

std::vector<std::byte> read_piece(const Capsule& capsule, const Record& record) {
  const int64_t elements = trace::elements_in(record.local_shape);
  std::vector<std::byte> bytes(static_cast<size_t>(elements) * trace::size_of(record.storage));
  capsule.reader().read_values(record, 0, elements, bytes);
  if (const std::string damage = damage_of(record, bytes); !damage.empty()) {
    throw trace::Error(
        trace::ErrorKind::kUnreadable,
        "capsule " + capsule.folder().string() + ": " + place_of(capsule, record) + damage);
  }
  return bytes;
}

std::vector<Fault> damaged_values(const Capsule& capsule) {
  std::vector<Fault> faults;
  for (const Entry& entry : capsule.entries()) {
    const Level breaks = facts_of(kind_of(entry.site, entry.role)).breaks;
    for (const int index : entry.records) {
      const Record& record = capsule.step().records[static_cast<size_t>(index)];
      // What is incoherent is told by Capsule, and is not to be read.
      if (!record.has_values || !Capsule::incoherence(capsule.step(), record).empty()) continue;
      try {
        read_piece(capsule, record);
      } catch (const trace::Error& error) {
        faults.push_back({error.what(), breaks, name_of(entry)});
      }
    }
  }
  return faults;
}

void require_undamaged(const Capsule& capsule) {
  const auto faults = damaged_values(capsule);
  if (faults.empty()) return;
  std::string more;
  if (faults.size() > 1) more = " (and " + std::to_string(faults.size() - 1) + " more)";
  throw trace::Error(trace::ErrorKind::kUnreadable, faults.front().what + more);
}

}  // namespace nanhunt::capsule
