// SPDX-License-Identifier: Apache-2.0
#include "hooks/launcher.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "trace/error.h"

namespace nanhunt::hooks {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
};

constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS"},
};

[[noreturn]] void refuse(const std::string& text) {
  throw trace::Error(trace::ErrorKind::kUsage, text);
}

int32_t number(const char* variable, const char* text) {
  int32_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < 0) {
    refuse(std::string(variable) + "=" + text + " is no rank or number of ranks");
  }
  return value;
}

std::string quoted(const Launcher& launcher, const LaunchedRank& rank) {
  return std::string(launcher.rank) + "=" + std::to_string(rank.rank) + " " + launcher.size + "=" +
         std::to_string(rank.world_size);
}

std::optional<LaunchedRank> read(const Launcher& launcher, const Environment& environment) {
  const char* rank = environment(launcher.rank);
  const char* size = environment(launcher.size);
  if (rank == nullptr && size == nullptr) return std::nullopt;
  if (rank == nullptr || size == nullptr) {
    refuse(std::string(rank == nullptr ? launcher.size : launcher.rank) + " is set but " +
           (rank == nullptr ? launcher.rank : launcher.size) + " is not");
  }
  const LaunchedRank read{number(launcher.rank, rank), number(launcher.size, size), launcher.name};
  if (read.rank >= read.world_size) {
    refuse(quoted(launcher, read) + ": the rank lies outside the world");
  }
  return read;
}

}  // namespace

const char* process_environment(const char* name) {
  return std::getenv(name);
}

LaunchedRank launched_rank(const Environment& environment) {
  std::optional<LaunchedRank> first;
  const Launcher* of_first = nullptr;
  for (const Launcher& launcher : kLaunchers) {
    // srun sets its variables in a batch script too, where no step runs: they then say nothing.
    if (std::strcmp(launcher.name, "srun") == 0 && first &&
        environment("SLURM_STEP_ID") == nullptr) {
      continue;
    }
    const auto found = read(launcher, environment);
    if (!found) continue;
    if (!first) {
      first = found;
      of_first = &launcher;
      // torchrun counts its own workers; whatever started torchrun counts something else.
      if (environment("TORCHELASTIC_RUN_ID") != nullptr) break;
    } else if (first->rank != found->rank || first->world_size != found->world_size) {
      refuse("the launchers contradict each other: " + quoted(*of_first, *first) + ", but " +
             quoted(launcher, *found) + "; unset one pair, or give the rank to Watch");
    }
  }
  return first.value_or(LaunchedRank{});
}

}  // namespace nanhunt::hooks
