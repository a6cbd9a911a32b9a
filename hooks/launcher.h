// SPDX-License-Identifier: Apache-2.0
// Which rank this process is, from the variables that torchrun (RANK, WORLD_SIZE), mpirun
// (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE) and srun (SLURM_PROCID, SLURM_NTASKS) set.
// None set: rank 0 of 1. torchrun inside srun: torchrun's count. Else all that are set must agree.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace nanhunt::hooks {

struct LaunchedRank {
  int32_t rank = 0;
  int32_t world_size = 1;
  std::string launcher;  // "torchrun", "mpirun", "srun"; "" none
};

using Environment = std::function<const char*(const char* name)>;  // nullptr: not set
const char* process_environment(const char* name);

// Throws trace::Error(kUsage): values that are no ranks, a pair half set, launchers that contradict
// each other.
LaunchedRank launched_rank(const Environment& environment = process_environment);

}  // namespace nanhunt::hooks
