// SPDX-License-Identifier: Apache-2.0
#include "oracle/logical.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "oracle/mesh.h"
#include "trace/tiling.h"

namespace nanhunt::oracle {
namespace {

using trace::MeshAxis;
using trace::Placement;
using trace::PlacementKind;
using trace::Record;
using trace::Region;

// Where a piece sits on the axes along which the tensor is a partial sum.
using PartialCoordinate = std::vector<int32_t>;
using PieceKey = std::tuple<std::vector<int64_t>, std::vector<int64_t>, PartialCoordinate>;

std::vector<trace::AxisPlacement> partial_axes(const Placement& placement, const Mesh& mesh) {
  std::vector<trace::AxisPlacement> axes;
  for (const auto& axis : placement.mesh) {
    if (axis.kind == PlacementKind::kPartial && mesh.size(axis.axis) > 1) axes.push_back(axis);
  }
  return axes;
}

PartialCoordinate coordinate_of(const Record& record, const std::vector<trace::AxisPlacement>& axes,
                                const Mesh& mesh) {
  PartialCoordinate coordinate;
  for (const auto& axis : axes) {
    coordinate.push_back(axis.axis == MeshAxis::kMicrobatch
                             ? record.where.microbatch
                             : mesh.coordinate(record.where.rank, axis.axis));
  }
  return coordinate;
}

// "" when the partial sums can be added up.
std::string partial_fault(const std::vector<trace::AxisPlacement>& axes) {
  for (const auto& axis : axes) {
    if (axis.op != trace::ReduceOp::kSum)
      return std::string(trace::name_of(axis.op)) + "-reduction";
  }
  return "";
}

void add_print(Logical& logical, const trace::RegionPrint& print) {
  logical.print = trace::add(logical.print, print);
}

void divide(trace::RegionPrint& print, double divisor) {
  if (divisor == 1) return;
  print.sum_squares /= divisor * divisor;
  for (auto& bucket : print.sketch) bucket /= divisor;
}

class Assembly {
 public:
  Assembly(const trace::Step& step, const Mesh& mesh) : step_(step), mesh_(mesh) {}

  Logical assemble(const trace::What& what, const std::vector<int>& records) const {
    Logical logical;
    logical.what = what;
    const Record& first = step_.records[static_cast<size_t>(records.front())];
    logical.shape = first.placement ? first.placement->logical_shape : std::vector<int64_t>{};
    logical.count = static_cast<uint64_t>(trace::elements_in(logical.shape));
    logical.why_not = coherent(records);
    if (!logical.why_not.empty()) return logical;
    const auto partial = partial_axes(*first.placement, mesh_);
    logical.partial = !partial.empty();
    logical.divisor = divisor_of(*first.placement);
    collect(logical, records, partial);
    divide(logical.print, logical.divisor);
    logical.why_not = complete_fault(logical, partial);
    logical.complete = logical.why_not.empty();
    return logical;
  }

 private:
  std::string coherent(const std::vector<int>& records) const {
    const Record& first = step_.records[static_cast<size_t>(records.front())];
    for (const int index : records) {
      const Record& record = step_.records[static_cast<size_t>(index)];
      if (!record.placement || trace::is_unknown(*record.placement)) return "unknown placement";
      if (record.placement->logical_shape != first.placement->logical_shape) {
        return "ranks disagree about the logical shape";
      }
      if (record.regions.size() != record.placement->regions.size())
        return "no fingerprints of regions";
      if (partial_axes(*record.placement, mesh_) != partial_axes(*first.placement, mesh_)) {
        return "ranks disagree about the partial sums";
      }
    }
    return partial_fault(partial_axes(*first.placement, mesh_));
  }

  void collect(Logical& logical, const std::vector<int>& records,
               const std::vector<trace::AxisPlacement>& partial) const {
    std::set<PieceKey> seen;
    std::set<int> counted;
    for (const int index : records) {
      const Record& record = step_.records[static_cast<size_t>(index)];
      const auto coordinate = coordinate_of(record, partial, mesh_);
      for (size_t r = 0; r < record.regions.size(); ++r) {
        const Region& region = record.placement->regions[r];
        const Piece piece{index, static_cast<int>(r)};
        if (!seen.insert({region.logical_start, region.extent, coordinate}).second) {
          logical.copies.push_back(piece);
          continue;
        }
        logical.pieces.push_back(piece);
        add_print(logical, record.regions[r]);
        if (counted.insert(index).second) {
          logical.statistics = trace::merge(logical.statistics, record.statistics);
        }
      }
    }
  }

  std::string complete_fault(const Logical& logical,
                             const std::vector<trace::AxisPlacement>& partial) const {
    std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, int64_t> terms;
    std::vector<const Region*> regions;
    for (const Piece& piece : logical.pieces) {
      const Record& record = step_.records[static_cast<size_t>(piece.record)];
      const Region& region = record.placement->regions[static_cast<size_t>(piece.region)];
      if (++terms[{region.logical_start, region.extent}] == 1) regions.push_back(&region);
    }
    int64_t expected = 1;
    for (const auto& axis : partial) expected *= mesh_.size(axis.axis);
    for (const auto& [region, count] : terms) {
      if (count != expected) {
        return std::to_string(count) + " of " + std::to_string(expected) +
               " partial sums are there";
      }
    }
    return trace::tiling_fault(regions, static_cast<int64_t>(logical.count));
  }

  const trace::Step& step_;
  const Mesh& mesh_;
};

}  // namespace

double divisor_of(const Placement& placement) {
  double divisor = 1;
  for (const auto& axis : placement.mesh) {
    const bool divides = axis.kind == PlacementKind::kPartial || axis.kind == PlacementKind::kBatch;
    if (divides) divisor *= axis.divisor;
  }
  return divisor;
}

std::vector<Logical> assemble(const trace::Step& step, const std::vector<trace::RunFacts>& facts) {
  const Mesh mesh(facts);
  const Assembly assembly(step, mesh);
  std::vector<Logical> result;
  for (const auto& [what, records] : step.by_what())
    result.push_back(assembly.assemble(what, records));
  return result;
}

bool has_values(const trace::Step& step, const Logical& logical) {
  return logical.complete && std::ranges::all_of(logical.pieces, [&](const Piece& piece) {
           return step.records[static_cast<size_t>(piece.record)].has_values;
         });
}

}  // namespace nanhunt::oracle
