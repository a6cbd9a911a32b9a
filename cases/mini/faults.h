// SPDX-License-Identifier: Apache-2.0
// The fault library: defects after public reports, each at one named place of the subject, all off
// by default. The environment variable NANHUNT_FAULT_FILE names a JSON file {"name": ..., "layer":
// .., "rank": .., "microbatch": .., "step": .., "element": ..}; nothing else tells the program of
// it, and no name of it ever reaches a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nanhunt::mini {

enum class FaultName {
  kNone,
  kNormGradNotSummed,     // sequence-parallel norm gradients keep their local sum
  kRowBiasOnEveryRank,    // row-parallel bias added before the reduction, on every rank (layer:
                          // linear_proj)
  kRowGradReducedAgain,   // backward of the forward reduction reduces too (layer: linear_proj)
  kReduceScatterOnWorld,  // linear_proj's reduce-scatter over all ranks instead of the tp group
                          // (layer)
  kMaskedRow,  // one query row of one sample may attend to nothing (layer, element: sample and row)
  kClipSkippedOnRank,   // gradients of this rank are not clipped (rank)
  kNormCountsReplicas,  // replicated parameters enter the global norm once per tp rank
  kReducedCopyDropped,  // input gradient of the output layer: a contiguous copy is reduced, the
                        // original returned
  kLargeMlpWeight,      // one row of linear_fc1 is so large that its product leaves FP16 (layer,
                        // element: row)
  kFp8DequantiseScale,  // dequantise scale of one linear is not its quantise scale (layer, element:
                        // which linear)
  kFusedMaskLastBlock,  // fused attention leaves the last query block unmasked (layer)
  kBucketReadEarly,  // one parameter's range of a bucket is read before its reduction is waited for
                     // (rank, element)
  kNanOnRank,        // linear_fc1 of one rank gives one NaN (layer, rank, microbatch, element)
  kRowNotWritten,    // linear_fc1 of one rank leaves one row of a fresh buffer as it is (layer,
                     // rank, microbatch, element: row)
  // Graded: how small a fault is still found
  kRowMissingShare,  // linear_proj: one row lacks one rank's share (layer, element)
  kRowsSwapped,      // linear_proj: two rows swapped (layer, element)
  kElementOutlier,   // linear_proj: one element + 30 sigma (layer, element)
  kShardScaled,      // linear_fc1: one rank's shard times 1 + 2^-5 (layer, rank)
  // In code that all layouts share
  kGeluTanh,         // tanh form where erf is meant, coefficient off
  kSoftmaxScale,     // scale 1/k instead of 1/sqrt(k)
  kLossDenominator,  // token count off by the number of samples
  // In a run that goes on from a capsule
  kMastersFromValues,  // masters are made of the loaded values, not loaded
  kStepNotRestored,    // the optimizer counts its steps from 0 again
  kDataFromStart,      // after the first batch the data begin anew
  kValuesNotGathered,  // data-parallel ranks but the first keep the values they were built with
  kMasksRedrawn,       // dropout draws from another stream
  kLoaderDraws,        // the first tensor-parallel rank alone makes a data loader, which draws a
                       // number of the stream that dropout draws from
  kFrozenMomentLost,   // exp_avg of a frozen parameter is zeroed
  // Too small for one step
  kHighHalfKept,  // BF16, tensor parallel: updated matrices are stored by the high half of their
                  // bits, rounded toward zero
  // Of run to run
  kMasksFromClock,  // dropout draws from the clock
  // Of release 2 alone (releases.h)
  kNormEpsDefault,       // eps of the norms 1e-6 instead of 1e-5
  kGeluDefault,          // tanh form of GELU instead of the erf form
  kDropoutDefault,       // dropout 0.1 instead of 0
  kParameterRenamed,     // weight of linear_fc1 (layer)
  kOptimizerNotLoaded,   // of a capsule the parameters alone are loaded
};

struct Fault {
  FaultName name = FaultName::kNone;
  int64_t layer = 0, rank = 0, microbatch = 0, step = 0, element = 0;

  // True when this fault is switched on in that step (it stays on from `step` on).
  bool is(FaultName fault, int64_t at_step) const { return name == fault && at_step >= step; }
};

// From NANHUNT_FAULT_FILE; none when not set. Throws trace::Error(kUsage) naming file and field.
Fault fault_from_environment();

}  // namespace nanhunt::mini
