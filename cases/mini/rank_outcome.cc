// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/rank_outcome.h"

#include "trace/error.h"

namespace nanhunt::mini {
namespace {

constexpr int kExceptionStatus = 70;

RankOutcome failed(World& world, int rank, int status, const std::string& what) {
  const std::string reason = "rank " + std::to_string(rank) + ": " + what;
  world.abort(reason);
  return {status, reason};
}

}  // namespace

RankOutcome run_rank(World& world, int rank, const RankMain& rank_main) {
  try {
    rank_main(world, rank);
    return {};
  } catch (const CommunicatorAborted& aborted) {
    return {kAbortedStatus, "rank " + std::to_string(rank) + " stopped: " + aborted.what()};
  } catch (const trace::Error& error) {
    return failed(world, rank, static_cast<int>(error.kind()), error.what());
  } catch (const std::exception& error) {
    return failed(world, rank, kExceptionStatus, error.what());
  } catch (...) {
    return failed(world, rank, kExceptionStatus, "an exception without text");
  }
}

}  // namespace nanhunt::mini
