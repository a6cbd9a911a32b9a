// SPDX-License-Identifier: Apache-2.0
// Watches every ATen op (RecordFunction) and carries records from the inputs' memory to the
// outputs', in the map bound to the op's thread (flow_map.h). Backward ops run on the thread that
// called backward on the CPU, so the flow goes on through autograd.
//
// Views share memory and need nothing. An op that writes into an argument adds the other arguments'
// records to it; copy_, fill_, zero_ and out= overwrite it. In lists (_foreach, fused optimizers)
// element i meets element i of the other lists of that length.
//
// Beside the records goes the error by rounding since they were taken: the sum of the squares of
// what the inputs carry and of the unit roundoff of the result's type (nothing for ops that only
// move values). It tells a comparison how much error no record in between shows: casts to FP8 and
// back inside a module, autocast, the ops of an attention that no hook sees. Of an op inside
// another the larger of both errors stands.
#pragma once

namespace nanhunt::hooks {

// Registers the observer, once per process. Threads without a map pay one pointer test per op.
void observe_flow();

}  // namespace nanhunt::hooks
