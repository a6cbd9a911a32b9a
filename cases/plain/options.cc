// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/options.h"

#include <boost/program_options.hpp>
#include <filesystem>

#include "trace/error.h"

namespace nanhunt::plain {
namespace {

namespace po = boost::program_options;

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

// The second of two words switches something on.
bool choice(const po::variables_map& values, const std::string& option, const std::string& off,
            const std::string& on) {
  const auto word = values[option].as<std::string>();
  if (word != off && word != on) {
    refuse("--" + option + " is '" + word + "'; it may be: " + off + " " + on);
  }
  return word == on;
}

trace::DType dtype_of(const std::string& word) {
  if (word == "bf16") return trace::DType::kBFloat16;
  if (word == "fp32") return trace::DType::kFloat32;
  if (word == "fp16") return trace::DType::kFloat16;
  refuse("--dtype is '" + word + "'; it may be: bf16 fp32 fp16");
}

std::string text_beside_program() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path().parent_path() / "data" / "kjv.txt").string();
}

void check(const Options& options) {
  for (const int64_t number : {options.layers, options.hidden, options.heads, options.ffn,
                               options.sequence, options.global_batch, options.steps}) {
    if (number < 1) refuse("sizes and steps must be positive");
  }
  if (options.vocabulary < 256) refuse("vocabulary is smaller than the 256 bytes");
  if (options.hidden % options.heads != 0) refuse("hidden is not divisible by heads");
  if (!options.learned_positions && options.hidden / options.heads % 2 != 0) {
    refuse("rotary positions need an even head size");
  }
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  const auto word = [](const char* preset) {
    return po::value<std::string>()->default_value(preset);
  };
  po::options_description known;
  known.add_options()("layers", po::value(&options.layers))("hidden", po::value(&options.hidden))(
      "heads", po::value(&options.heads))("ffn", po::value(&options.ffn))(
      "sequence", po::value(&options.sequence))("vocabulary", po::value(&options.vocabulary))(
      "global-batch", po::value(&options.global_batch))("seed", po::value(&options.seed))(
      "steps", po::value(&options.steps))("text", po::value(&options.text))(
      "learning-rate", po::value(&options.learning_rate))(
      "weight-decay", po::value(&options.weight_decay))("clip", po::value(&options.clip))(
      "dtype", word("bf16"))("positions", word("rotary"))("qkv-bias", word("off"))("ragged",
                                                                                   word("off"));
  po::variables_map values;
  try {
    using namespace po::command_line_style;
    const int style = allow_long | long_allow_adjacent | long_allow_next;
    po::store(po::command_line_parser(arguments).options(known).style(style).run(), values);
    po::notify(values);
  } catch (const po::error& error) {
    refuse(error.what());
  }
  options.dtype = dtype_of(values["dtype"].as<std::string>());
  options.learned_positions = choice(values, "positions", "rotary", "learned");
  options.qkv_bias = choice(values, "qkv-bias", "off", "on");
  options.ragged = choice(values, "ragged", "off", "on");
  if (options.text.empty()) options.text = text_beside_program();
  check(options);
  return options;
}

}  // namespace nanhunt::plain
