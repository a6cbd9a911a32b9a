// SPDX-License-Identifier: Apache-2.0
// Envelopes: how far a healthy run may be from the reference. Measured beforehand from repeated
// reference runs that are perturbed by one ulp of the parameters and by one rounding of the
// candidate's type at every tap, with the candidate's split; pooled by kind of site, phase, role
// and step, with a parametric tail. docs/rules.md has the derivation.
//
// Metrics of a deviation d = candidate - reference of one logical tensor:
//   norm      ||d|| / ||reference||                       sketch at stats, values at full
//   row       max over rows ||d_row|| / (||reference|| / sqrt(rows))          full
//   column    max over columns ||d_col|| / (||reference|| / sqrt(columns))    full
//   element   max |d_i| / rms(reference)                                      full
//   sign      |sum of sign(d_i reference_i)| / sqrt(elements)                 full
//   operands  ||d|| / ||sum of |terms| || where the reference is 0 or what rounding leaves of it
//   growth    norm / root of the sum of squares of the norms of its linked inputs (growth.h)
// Rows are the flattened leading dimensions, columns the last one. Of one row a column is an
// element, of one column it is everything: then there is no such metric.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "oracle/logical.h"
#include "oracle/thresholds.h"
#include "trace/capture_plan.h"

namespace nanhunt::oracle {

// Names and numbers of kept files follow these; append only, and raise kEnvelopeVersion.
// kInputs is no metric to judge: the norms of the linked inputs together, for growth.
enum class Metric { kNorm, kRow, kElement, kColumn, kOperands, kSign, kGrowth, kInputs };
inline constexpr int kMetrics = 8;
// Of what a pool holds: part of the key that a kept envelope is found by.
inline constexpr int kEnvelopeVersion = 2;

struct Deviation {
  bool comparable = false;
  std::string why_not;  // masks differ, shapes differ, no values ...
  double norm = 0;      // infinite where the reference is 0
  double row = -1;      // -1: no values
  double element = -1;
  double column = -1;      // -1: no values, one row, or one column
  double sign = 0;         // metric `sign` with its sign: above 0, away from 0; only with values
  double difference = 0;   // ||d||
  double reference = 0;    // ||reference||
  int64_t worst_row = -1;  // flattened leading index
  int64_t worst_column = -1;
  int64_t worst_element = -1;
  bool equal = false;  // value digests equal (not partial), or exactly zero difference
};

// Of norm, row, column, element and sign; below 0 where there is none.
double value_of(const Deviation& deviation, Metric metric);
std::string_view name_of(Metric metric);

// The distribution of one metric's square over the perturbed runs: its mean at one site, and the
// shape of its tail, that of a scaled chi-square whose degrees of freedom follow from the relative
// variance within the sites of that kind (Satterthwaite 1946).
struct Pool {
  int64_t samples = 0;  // of this site
  double mean_square = 0;
  double relative_variance = 0;  // of the square, within the sites of that kind
  int64_t kind_freedom = 0;      // samples of the kind less its sites
  double largest = 0;            // of the metric
};

struct PoolKey {
  std::string site;
  trace::Phase phase;
  std::string role;
  int64_t step = 0;
  Metric metric = Metric::kNorm;

  auto operator<=>(const PoolKey&) const = default;
};

struct Bounds {
  double lo = 0, hi = 0;
};

struct Envelope {
  std::string key;  // hash of subject, shapes, dtypes, split, library, ISA
  // Of `operands` the pools hold ||d|| itself, and only where the reference is 0: elsewhere it is
  // that of `norm` times ||reference||, which all runs share.
  std::map<PoolKey, Pool> pools;

  // Bounds for a deviation of that place: above `hi` is out of rule, below `lo` is healthy, between
  // is undecided. nullopt: no pool. The family rate is shared among the `judged` deviations. Where
  // norms were estimated from sketches, the pool holds the sketch's own error too.
  std::optional<Bounds> bounds(const trace::What& what, Metric metric, int64_t judged,
                               const Thresholds& thresholds) const;
  // Root mean square of the metric over the perturbed runs; nullopt: no pool.
  std::optional<double> healthy(const trace::What& what, Metric metric) const;
};

// What `sign` is at least, as a mean square, over healthy runs: that of independent signs.
inline constexpr double kIndependentSigns = 1;

Bounds bounds_of(const Pool& pool, int64_t judged, const Thresholds& thresholds);

// Neither side's values are needed: nullptr readers, or pieces without values, give the norm by
// sketches.
Deviation deviation(const trace::Step& candidate, const Logical& candidate_logical,
                    const trace::TraceReader* candidate_values, const trace::Step& reference,
                    const Logical& reference_logical, const trace::TraceReader* reference_values);

// From the unperturbed run (repeat 0) and the perturbed ones.
Envelope build_envelope(const trace::TraceReader& base,
                        const std::vector<const trace::TraceReader*>& perturbed,
                        const std::string& key);
void write_envelope(const Envelope& envelope, const std::filesystem::path& path);
Envelope read_envelope(const std::filesystem::path& path);

// The noise that stands for the candidate's roundings in a reference run: per site kind, role and
// phase one rounding of the coarser of the candidate's storage and compute types (FP8 operands: of
// the FP8 type), times sqrt of the number of partial sums that its collectives add there. `key` is
// its hash.
struct NoisePlan {
  trace::Perturbation perturbation;
  std::string key;
};
NoisePlan noise_plan(const trace::TraceReader& candidate, const trace::TraceReader& reference,
                     uint64_t seed);

}  // namespace nanhunt::oracle
