// SPDX-License-Identifier: Apache-2.0
#include "oracle/logical.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "oracle/mesh.h"

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

int64_t volume(const std::vector<int64_t>& extent) {
  return std::accumulate(extent.begin(), extent.end(), int64_t{1}, std::multiplies<>());
}

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

bool boxes_overlap(const Region& a, const Region& b) {
  for (size_t d = 0; d < a.extent.size(); ++d) {
    if (a.logical_start[d] + a.extent[d] <= b.logical_start[d] ||
        b.logical_start[d] + b.extent[d] <= a.logical_start[d]) {
      return false;
    }
  }
  return true;
}

// What keeps the distinct regions from tiling the logical tensor, or "". Beyond 512 regions
// overlaps are told by the sum of the volumes alone.
std::string tiling_fault(const std::vector<const Region*>& regions, int64_t elements) {
  int64_t covered = 0;
  for (const auto* region : regions) covered += volume(region->extent);
  if (regions.size() <= 512) {
    for (size_t i = 0; i < regions.size(); ++i) {
      for (size_t j = i + 1; j < regions.size(); ++j) {
        if (boxes_overlap(*regions[i], *regions[j])) return "regions overlap";
      }
    }
  }
  if (covered < elements) {
    return std::to_string(elements - covered) + " of " + std::to_string(elements) +
           " elements are in no region";
  }
  return covered > elements ? "regions overlap" : "";
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
    logical.count = static_cast<uint64_t>(volume(logical.shape));
    logical.why_not = coherent(records);
    if (!logical.why_not.empty()) return logical;
    const auto partial = partial_axes(*first.placement, mesh_);
    logical.partial = !partial.empty();
    for (const auto& axis : partial) logical.divisor *= axis.divisor;
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
    return tiling_fault(regions, static_cast<int64_t>(logical.count));
  }

  const trace::Step& step_;
  const Mesh& mesh_;
};

// Calls put(logical flat index, local flat index) for each run of a region along its last logical
// dimension: put(logical_start, local_start, local_stride, length).
template <typename Put>
void walk_region(const Record& record, const Region& region, const Put& put) {
  const Placement& placement = *record.placement;
  if (placement.flat || region.extent.empty()) {
    const int64_t length = region.extent.empty() ? 1 : region.extent[0];
    put(region.logical_start.empty() ? 0 : region.logical_start[0],
        region.local_start.empty() ? 0 : region.local_start[0], int64_t{1}, length);
    return;
  }
  const size_t rank = region.extent.size();
  std::vector<int64_t> logical_stride(rank, 1), local_stride(rank, 1), stride_of_logical(rank, 1);
  for (size_t d = rank; d-- > 1;) {
    logical_stride[d - 1] = logical_stride[d] * placement.logical_shape[d];
    local_stride[d - 1] = local_stride[d] * record.local_shape[d];
  }
  int64_t local_base = 0;
  for (size_t d = 0; d < rank; ++d) {
    stride_of_logical[static_cast<size_t>(placement.to_logical[d])] = local_stride[d];
    local_base += region.local_start[d] * local_stride[d];
  }
  std::vector<int64_t> position(rank, 0);
  const size_t last = rank - 1;
  if (volume(region.extent) == 0) return;
  while (true) {
    int64_t logical = 0, local = local_base;
    for (size_t d = 0; d < rank; ++d) {
      logical += (region.logical_start[d] + position[d]) * logical_stride[d];
      local += position[d] * stride_of_logical[d];
    }
    put(logical, local, stride_of_logical[last], region.extent[last]);
    size_t d = last;
    while (d > 0 && ++position[d - 1] == region.extent[d - 1]) position[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

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

std::vector<double> logical_values(const trace::Step& step, const trace::TraceReader& reader,
                                   const Logical& logical, int64_t first_row, int64_t rows) {
  const int64_t row_length = logical.shape.empty() ? 1 : logical.shape.back();
  const int64_t begin = first_row * row_length, end = begin + rows * row_length;
  std::vector<double> values(static_cast<size_t>(end - begin), 0.0);
  std::map<int, std::vector<double>> local;  // few records are alive: pieces come record by record
  for (const Piece& piece : logical.pieces) {
    const Record& record = step.records[static_cast<size_t>(piece.record)];
    auto found = local.find(piece.record);
    if (found == local.end()) {
      local.clear();
      found = local.emplace(piece.record, reader.read_doubles(record)).first;
    }
    walk_region(record, record.placement->regions[static_cast<size_t>(piece.region)],
                [&](int64_t at, int64_t from, int64_t stride, int64_t length) {
                  const int64_t skip = std::max<int64_t>(0, begin - at);
                  for (int64_t i = skip; i < length && at + i < end; ++i) {
                    values[static_cast<size_t>(at + i - begin)] +=
                        found->second[static_cast<size_t>(from + i * stride)];
                  }
                });
  }
  if (logical.divisor != 1) {
    for (double& value : values) value /= logical.divisor;
  }
  return values;
}

}  // namespace nanhunt::oracle
