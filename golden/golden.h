// SPDX-License-Identifier: Apache-2.0
// What a healthy run is expected to be: one entry a captured tensor, from N exporting runs, without
// its values. A later run is held against it (check.h); file.h keeps it.
//
// Classes, of each entry by itself:
//   bit       the digest was the same in all runs, of at least two (or the user says that the
//             program repeats): a later run must have it, too
//   noise     it differed, over at least three runs: distance and norm have a spread, and a later
//             run is judged by the tail of that spread (spread.h)
//   unjudged  nothing was shown: one run alone, two that differ, not there in each run, non-finite
//             values at changing places. A later run that differs cannot be told from a healthy
//             one.
//
// Runs of one layout (ranks, mesh, who sits where) make one table, by rank. Bits say nothing across
// layouts; for a later run in one that was not exported there is a table of logical tensors over
// all runs, whose spread counts from three layouts on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "golden/spread.h"
#include "trace/record.h"

namespace nanhunt::golden {

enum class Class { kBit, kNoise, kUnjudged };
std::string_view name_of(Class value);

// One captured tensor. Of logical tensors (table `across`) rank and microbatch are -1.
struct Key {
  trace::What what;
  int32_t rank = -1;
  int32_t microbatch = -1;
  int32_t repeat = 0;  // n-th record of that name

  auto operator<=>(const Key&) const = default;
};

struct Expected {
  Class kind = Class::kUnjudged;
  std::string why;                // unjudged: the reason
  std::vector<uint64_t> digests;  // bit: one; unjudged: those that were seen; noise: none
  uint64_t count = 0;             // elements
  uint64_t non_finite = 0;
  uint64_t mask = 0;         // digest of the places of the non-finite values
  bool mask_varies = false;  // between the exporting runs
  double norm = 0;           // Euclidean, of the finite values; mean over the runs
  // Lower rank whose digest this entry shared in every run: its sketch and spread are that one's.
  std::optional<int32_t> copy_of;
  std::optional<trace::Sketch> sketch;  // mean over the runs; where spread is of use
  Spread distance, norms;               // noise: of the sketch and of the norm
};

// What all entries of one kind of site share: the shape of the tail of their distances.
struct KindKey {
  std::string site;  // numbers replaced by *
  trace::Phase phase = trace::Phase::kForward;
  std::string role;
  int64_t step = 0;

  auto operator<=>(const KindKey&) const = default;
};
KindKey kind_of(const trace::What& what);

// The loss of one step, as compare/measurements.h reads it.
struct CurveKey {
  std::string site, role;
  int64_t step = 0;

  auto operator<=>(const CurveKey&) const = default;
};
struct CurvePoint {
  Class kind = Class::kUnjudged;
  std::string why;
  std::vector<double> values;  // bit: one; unjudged: those that were seen; NaN and Inf as they are
  double mean = 0;             // noise
  Spread spread;
};

struct Table {
  std::string layout;  // "4 ranks, tp 2, dp 2"
  std::string places;  // hash of the mesh coordinates by rank
  int runs = 0;
  int layouts = 1;  // of the runs; above 1 in `across` only
  std::set<int64_t> steps;
  // Setting -> its values over the runs: versions, flags, threads, types, device.
  std::map<std::string, std::set<std::string>> configuration;
  std::map<Key, Expected> entries;
  std::map<KindKey, Shape> kinds;
  std::map<CurveKey, CurvePoint> curves;
};

struct Golden {
  std::map<std::string, double> thresholds;
  std::string thresholds_sha256;
  bool repeats_by_word = false;  // the user says that the program repeats to the bit
  int runs = 0;
  std::vector<Table> tables;  // one a layout
  Table across;               // logical tensors of all runs
};

// Entries with a spread of their own, copies left out, and curve points: what the family rate is
// shared among (a noise entry counts twice, by distance and by norm), and bit entries of a kind
// that has noise.
int64_t judged_quantities(const Table& table);
int64_t count(const Table& table, Class kind);

}  // namespace nanhunt::golden
