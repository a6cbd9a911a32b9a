// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/capsule_source.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "capsule/load.h"
#include "oracle/logical.h"
#include "trace/check.h"
#include "trace/region_runs.h"
#include "trace/tiling.h"

namespace nanhunt::checkpoint {
namespace {

using capsule::Capsule;
using capsule::Kind;
using trace::Record;

const ElementType* type_of(trace::DType dtype) {
  static const std::map<trace::DType, const char*> names = {
      {trace::DType::kFloat64, "F64"},        {trace::DType::kFloat32, "F32"},
      {trace::DType::kFloat16, "F16"},        {trace::DType::kBFloat16, "BF16"},
      {trace::DType::kFloat8E4M3, "F8_E4M3"}, {trace::DType::kFloat8E5M2, "F8_E5M2"},
      {trace::DType::kInt64, "I64"},          {trace::DType::kInt32, "I32"},
      {trace::DType::kInt16, "I16"},          {trace::DType::kInt8, "I8"},
      {trace::DType::kUInt8, "U8"},           {trace::DType::kBool, "BOOL"}};
  return element_type(names.at(dtype));
}

std::string tensor_name(const std::string& site, const std::string& role) {
  return role == "param" || role == "buffer" ? site : site + "." + role;
}

TensorEntry entry_of(const std::string& name, trace::DType dtype,
                     const std::vector<int64_t>& shape) {
  TensorEntry entry;
  entry.name = name;
  entry.type = type_of(dtype);
  entry.shape = shape;
  entry.elements = trace::elements_in(shape);
  entry.bytes = entry.elements * static_cast<int64_t>(trace::size_of(dtype));
  return entry;
}

TensorKind kind_of_state(const std::string& site, const std::string& role,
                         const TensorEntry& entry) {
  TensorEntry parameter = entry;
  parameter.name = site;
  switch (capsule::kind_of(site, role)) {
    case Kind::kParameters:
    case Kind::kMasters:
      return kind_of(parameter);
    case Kind::kModelState:
      return TensorKind::kBuffer;
    case Kind::kOptimizerStep:
      return entry.elements == 1 ? TensorKind::kStep : TensorKind::kOther;
    case Kind::kMoments: {
      const TensorKind kind = kind_of(entry);
      return kind == TensorKind::kSecondMoment ? kind : TensorKind::kFirstMoment;
    }
    default:
      return TensorKind::kOther;
  }
}

// Of canonical values by logical position, so the same over layouts.
uint64_t digest_of(const trace::RegionPrint& print) {
  return print.value_digest ^ (print.mask_digest * 0x9E3779B97F4A7C15u);
}

// What readers of one file share; keeps the capsule, and the bytes of the tensor read last.
struct Source {
  std::shared_ptr<const Capsule> capsule;
  std::map<std::string, oracle::Logical> logicals;  // by the name of the tensor
  std::map<std::string, int> pieces;                // its record, of rank-bound ones
  std::string read;
  std::vector<std::byte> bytes;

  const Record& record(int index) const {
    return capsule->step().records[static_cast<size_t>(index)];
  }
};

std::vector<std::byte> logical_bytes(const Source& source, const std::string& name) {
  const oracle::Logical& logical = source.logicals.at(name);
  const Record& first = source.record(logical.pieces.front().record);
  const std::vector<std::string> axes(logical.shape.size(), "dim");
  const capsule::Wanted wanted{
      logical.what.site, logical.what.role, first.storage, logical.shape,
      std::make_shared<const trace::Placement>(trace::whole(axes, logical.shape))};
  const auto plan = capsule::plan_load(*source.capsule, {wanted}, -1, false);
  NANHUNT_CHECK(plan.tensors.front().outcome == capsule::Outcome::kLoaded);
  std::vector<std::byte> bytes(static_cast<size_t>(trace::elements_in(logical.shape)) *
                               trace::size_of(first.storage));
  capsule::load(*source.capsule, wanted, plan.tensors.front(), bytes);
  return bytes;
}

std::vector<std::byte> piece_bytes(const Source& source, const std::string& name) {
  const Record& record = source.record(source.pieces.at(name));
  const int64_t count = trace::elements_in(record.local_shape);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * trace::size_of(record.storage));
  source.capsule->reader().read_values(record, 0, count, bytes);
  return bytes;
}

void read(Source& source, const TensorEntry& tensor, int64_t start, std::span<std::byte> out) {
  if (source.read != tensor.name) {
    source.bytes = source.logicals.contains(tensor.name) ? logical_bytes(source, tensor.name)
                                                         : piece_bytes(source, tensor.name);
    source.read = tensor.name;
  }
  if (!out.empty()) std::memcpy(out.data(), source.bytes.data() + start, out.size());
}

bool holds(const Record& record, int region, int64_t index) {
  bool found = false;
  trace::for_each_run(*record.placement, record.local_shape,
                      record.placement->regions[static_cast<size_t>(region)], index, index + 1,
                      [&](const trace::Run& run) { found = found || run.length > 0; });
  return found;
}

std::vector<int32_t> ranks_of(const Source& source, const TensorEntry& tensor, int64_t index) {
  std::set<int32_t> ranks;
  if (const auto piece = source.pieces.find(tensor.name); piece != source.pieces.end())
    return {source.record(piece->second).where.rank};
  const oracle::Logical& logical = source.logicals.at(tensor.name);
  for (const auto* list : {&logical.pieces, &logical.copies}) {
    for (const oracle::Piece& piece : *list) {
      const Record& record = source.record(piece.record);
      if (index < 0 || holds(record, piece.region, index)) ranks.insert(record.where.rank);
    }
  }
  return {ranks.begin(), ranks.end()};
}

class Adder {
 public:
  Adder(std::shared_ptr<const Capsule> capsule, CheckpointFile& file)
      : file_(file), source_(std::make_shared<Source>()) {
    source_->capsule = std::move(capsule);
    for (const capsule::Fault& fault : source_->capsule->faults()) {
      if (!fault.contradiction) faulty_.insert(fault.tensor);
    }
  }

  void run() {
    const Capsule& capsule = *source_->capsule;
    for (oracle::Logical& logical : oracle::assemble(capsule.step(), capsule.reader().facts())) {
      const std::string &site = logical.what.site, &role = logical.what.role;
      if (site == capsule::kRunSite) continue;
      const bool bound = capsule::facts_of(capsule::kind_of(site, role)).layout_bound;
      if (bound || differs_by_rank(site, role) || faulty_.contains(site + " " + role) ||
          logical.pieces.empty() || !logical.complete) {
        add_pieces(site, role);
      } else {
        add_logical(std::move(logical));
      }
    }
    file_.header.read = [source = source_](const TensorEntry& tensor, int64_t start,
                                           std::span<std::byte> out) {
      read(*source, tensor, start, out);
    };
    if (capsule.reader().world_size() < 2) return;
    file_.ranks = [source = source_](const TensorEntry& tensor, int64_t index) {
      return ranks_of(*source, tensor, index);
    };
  }

 private:
  void add(TensorEntry entry, TensorKind kind, const TensorFacts& facts) {
    file_.header.tensors.push_back(std::move(entry));
    file_.kinds.push_back(kind);
    file_.facts.push_back(facts);
  }

  void add_logical(oracle::Logical logical) {
    const std::string &site = logical.what.site, &role = logical.what.role;
    const std::string name = tensor_name(site, role);
    const Record& first = source_->record(logical.pieces.front().record);
    const TensorEntry entry = entry_of(name, first.storage, logical.shape);
    TensorFacts facts;
    facts.statistics = logical.statistics;
    facts.digest = digest_of(logical.print);
    add(entry, kind_of_state(site, role, entry), facts);
    source_->logicals.emplace(name, std::move(logical));
  }

  // Running statistics of which each rank keeps its own: what one of them holds, no other shows.
  bool differs_by_rank(const std::string& site, const std::string& role) const {
    if (!capsule::facts_of(capsule::kind_of(site, role)).copies_may_differ) return false;
    const capsule::Entry* entry = source_->capsule->find(site, role);
    return entry != nullptr && std::ranges::any_of(entry->records, [&](int index) {
             return source_->record(index).raw_digest !=
                    source_->record(entry->records.front()).raw_digest;
           });
  }

  void add_pieces(const std::string& site, const std::string& role) {
    const capsule::Entry* entry = source_->capsule->find(site, role);
    if (entry == nullptr) return;
    for (const int index : entry->records) {
      const Record& record = source_->record(index);
      if (!record.has_values) continue;
      const std::string name =
          tensor_name(site, role) + " (rank " + std::to_string(record.where.rank) + ")";
      TensorFacts facts;
      facts.statistics = record.statistics;
      facts.digest = record.raw_digest;
      add(entry_of(name, record.storage, record.local_shape), TensorKind::kOther, facts);
      source_->pieces[name] = index;
    }
  }

  CheckpointFile& file_;
  std::shared_ptr<Source> source_;
  std::set<std::string> faulty_;
};

}  // namespace

void add_capsule(std::shared_ptr<const Capsule> capsule, const std::string& name,
                 const std::string& original, Checkpoint* checkpoint) {
  static const std::regex digits("[0-9]+");
  CheckpointFile file;
  file.header.path = capsule->folder();
  file.name = name;
  file.shape = std::regex_replace(original, digits, "#");
  file.unit = checkpoint->units++;
  Adder(std::move(capsule), file).run();
  checkpoint->tied.resize(static_cast<size_t>(checkpoint->units));
  checkpoint->files.push_back(std::move(file));
}

std::vector<Finding> replica_mismatches(const Capsule& capsule, const std::string& name) {
  std::vector<Finding> findings;
  for (const capsule::Fault& fault : capsule.faults()) {
    if (!fault.contradiction) continue;
    const size_t space = fault.tensor.rfind(' ');
    const std::string site = fault.tensor.substr(0, space), role = fault.tensor.substr(space + 1);
    const capsule::Entry* entry = capsule.find(site, role);
    NANHUNT_CHECK(entry != nullptr);
    const Record& record = capsule.step().records[static_cast<size_t>(entry->records.front())];
    Finding finding;
    finding.rule = "replica_mismatch";
    finding.tensor = tensor_name(site, role);
    finding.file = name;
    finding.dtype = type_of(record.storage)->name;
    finding.shape = record.placement->logical_shape;
    finding.elements = finding.affected = trace::elements_in(finding.shape);
    for (const int index : entry->records)
      finding.ranks.push_back(capsule.step().records[static_cast<size_t>(index)].where.rank);
    finding.evidence = fault.what.substr(fault.tensor.size() + 2);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace nanhunt::checkpoint
