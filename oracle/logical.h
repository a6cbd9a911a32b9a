// SPDX-License-Identifier: Apache-2.0
// Logical assembly: from the pieces that ranks and microbatches recorded to the tensor as TP1 would
// hold it. At `stats` digest and sketch are summed, at `full` the values. Each distinct region
// enters once (further copies are compared by rules, not added); partial sums add up over the axes
// that the placements call partial.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::oracle {

// One region of one record.
struct Piece {
  int record = 0;  // index into the step
  int region = 0;  // index into its placement's regions
};

// All pieces of one logical tensor (samples of all microbatches and replicas together) in one step.
struct Logical {
  trace::What what;
  std::vector<Piece> pieces;   // each distinct (region, partial coordinate) once
  std::vector<Piece> copies;   // the further ones
  std::vector<int64_t> shape;  // logical
  bool complete = false;       // the regions of the pieces tile the shape
  std::string why_not;       // incomplete or not assemblable: unknown placement, max-reduction, ...
  bool partial = false;      // sum over ranks or microbatches
  double divisor = 1;        // of that sum, or of scaled values
  trace::RegionPrint print;  // of the sum; value_digest meaningless when partial
  uint64_t count = 0;        // logical elements
  trace::Statistics statistics;  // of the pieces together (not of the sum when partial)
};

// What the values of a record are to be divided by to be those of the logical tensor: a mean over
// ranks or microbatches, a scaled loss.
double divisor_of(const trace::Placement& placement);

// One entry per what of the step, ordered by What.
std::vector<Logical> assemble(const trace::Step& step, const std::vector<trace::RunFacts>& facts);

// True when every piece was captured with its values.
bool has_values(const trace::Step& step, const Logical& logical);

// FP64 values in logical row-major order; sums of partial pieces in FP64, by rank then sequence.
// Only where every piece has values. Bounded pieces: rows [first_row, first_row + rows) of the
// flattened leading dimensions (last dimension = row length).
std::vector<double> logical_values(const trace::Step& step, const trace::TraceReader& reader,
                                   const Logical& logical, int64_t first_row, int64_t rows);

// The same for one window after the other, in memory that is used again. Refers to its arguments.
class LogicalRows {
 public:
  LogicalRows(const trace::Step& step, const trace::TraceReader& reader, const Logical& logical)
      : step_(step), reader_(reader), logical_(logical) {}

  // Valid until the next call.
  const std::vector<double>& read(int64_t first_row, int64_t rows);

 private:
  const trace::Step& step_;
  const trace::TraceReader& reader_;
  const Logical& logical_;
  std::vector<double> window_, values_;
  std::vector<std::byte> bytes_;
};

}  // namespace nanhunt::oracle
