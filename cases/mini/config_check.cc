// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/config_check.h"

#include "trace/error.h"

namespace nanhunt::mini {
namespace {

constexpr int64_t kMaxWorld = 64;

struct Number {
  const char* name;
  int64_t value;
};

std::string text_of(const Number& number) {
  return std::string(number.name) + " " + std::to_string(number.value);
}

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

void check_positive(const Number& number) {
  if (number.value < 1) refuse(text_of(number) + " is not positive");
}

void check_divides(const Number& number, const Number& divisor) {
  if (number.value % divisor.value != 0) {
    refuse(text_of(number) + " is not divisible by " + text_of(divisor));
  }
}

void check_layout(const Config& config) {
  const Number tp = {"tp", config.tp};
  check_divides({"heads", config.heads}, tp);
  check_divides({"ffn", config.ffn}, tp);
  check_divides({"vocabulary", config.vocabulary}, tp);
  if (config.sequence_parallel) check_divides({"sequence", config.sequence}, tp);
  if (config.global_batch % config.dp != 0 ||
      config.global_batch / config.dp % config.microbatches != 0) {
    refuse(text_of({"global-batch", config.global_batch}) + " is not divisible by " +
           text_of({"dp", config.dp}) + " x " + text_of({"microbatches", config.microbatches}));
  }
  if (config.tp > kMaxWorld || config.dp > kMaxWorld || config.world_size() > kMaxWorld) {
    refuse("tp " + std::to_string(config.tp) + " x dp " + std::to_string(config.dp) +
           " is more than " + std::to_string(kMaxWorld) + " ranks");
  }
}

}  // namespace

void check_config(const Config& config) {
  for (const Number& number : {Number{"layers", config.layers},
                               {"hidden", config.hidden},
                               {"heads", config.heads},
                               {"ffn", config.ffn},
                               {"sequence", config.sequence},
                               {"steps", config.steps},
                               {"capsule-every", config.capsules.every},
                               {"global-batch", config.global_batch},
                               {"tp", config.tp},
                               {"dp", config.dp},
                               {"microbatches", config.microbatches}}) {
    check_positive(number);
  }
  if (config.vocabulary < 256) {
    refuse(text_of({"vocabulary", config.vocabulary}) + " cannot hold the 256 bytes");
  }
  check_divides({"hidden", config.hidden}, {"heads", config.heads});
  if (!config.learned_positions)
    check_divides({"hidden / heads", config.hidden / config.heads}, {"2 (rotary pairs)", 2});
  if (!(config.dropout >= 0 && config.dropout < 1))
    refuse("dropout " + std::to_string(config.dropout) + " is not a rate from 0 to below 1");
  if (!config.masters && config.fused_adamw) refuse("--fused-adamw=on needs --masters=on");
  check_layout(config);
}

}  // namespace nanhunt::mini
