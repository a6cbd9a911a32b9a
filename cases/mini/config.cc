// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/config.h"

#include <boost/program_options.hpp>
#include <filesystem>

#include "cases/mini/config_check.h"
#include "cases/mini/nearest_name.h"
#include "trace/error.h"

namespace nanhunt::mini {
namespace {

namespace options = boost::program_options;

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

// A value that is one of a few words. The word is checked where the parser hands it over.
template <typename Value>
options::typed_value<std::string>* one_of(Value& target, const std::string& option,
                                          std::vector<std::pair<std::string, Value>> words) {
  return options::value<std::string>()->notifier([&target, option, words](const std::string& text) {
    std::string known;
    for (const auto& [word, value] : words) {
      known += (known.empty() ? "" : " ") + word;
      if (word == text) {
        target = value;
        return;
      }
    }
    refuse("--" + option + " is '" + text + "'; it may be: " + known);
  });
}

options::typed_value<std::string>* on_off(bool& target, const std::string& option) {
  return one_of<bool>(target, option, {{"on", true}, {"off", false}});
}

void add_model(options::options_description& all, Config& config) {
  auto add = all.add_options();
  add("layers", options::value(&config.layers), "transformer layers");
  add("hidden", options::value(&config.hidden), "hidden size");
  add("heads", options::value(&config.heads), "attention heads");
  add("ffn", options::value(&config.ffn), "MLP size");
  add("sequence", options::value(&config.sequence), "tokens per sample");
  add("vocabulary", options::value(&config.vocabulary), "rows of the word embedding, 256 or more");
  add("global-batch", options::value(&config.global_batch), "samples per step");
  add("positions",
      one_of<bool>(config.learned_positions, "positions", {{"rotary", false}, {"learned", true}}),
      "rotary or learned");
  add("qkv-bias", on_off(config.qkv_bias, "qkv-bias"), "bias on linear_qkv");
  add("pooler",
      one_of<Pooler>(
          config.pooler, "pooler",
          {{"off", Pooler::kNone}, {"on", Pooler::kIdle}, {"frozen", Pooler::kFrozen}}),
      "a pooler that the loss does not reach, or that the optimizer leaves alone, too");
  add("dropout", options::value(&config.dropout), "rate before each residual add");
  add("ragged", on_off(config.ragged, "ragged"), "samples of several lengths, one of 1 token");
  add("release", options::value(&config.release), "of the program");
  add("seed", options::value(&config.seed), "of weights and batches");
  add("steps", options::value(&config.steps), "steps to run");
  add("text", options::value(&config.text), "training text");
  add("learning-rate", options::value(&config.learning_rate), "AdamW's learning rate");
  add("weight-decay", options::value(&config.weight_decay), "AdamW's weight decay");
  add("clip", options::value(&config.clip), "largest global gradient norm");
  add("masters", on_off(config.masters, "masters"), "FP32 masters of the weights");
}

void add_toggles(options::options_description& all, Config& config) {
  auto add = all.add_options();
  add("tp", options::value(&config.tp), "tensor-parallel size");
  add("dp", options::value(&config.dp), "data-parallel size");
  add("microbatches", options::value(&config.microbatches), "microbatches per step");
  add("sp", on_off(config.sequence_parallel, "sp"), "sequence parallelism");
  add("batch-first", on_off(config.batch_first, "batch-first"), "output head on [b,s,h]");
  add("dtype",
      one_of<trace::DType>(config.dtype, "dtype",
                           {{"bf16", trace::DType::kBFloat16},
                            {"fp32", trace::DType::kFloat32},
                            {"fp16", trace::DType::kFloat16}}),
      "type of parameters and activations");
  add("fp8", on_off(config.fp8, "fp8"), "FP8 operands in the linears");
  add("fused-attention", on_off(config.fused_attention, "fused-attention"), "ATen's fused SDPA");
  add("fused-adamw", on_off(config.fused_adamw, "fused-adamw"), "ATen's fused AdamW");
  add("fused-grad-accumulation", on_off(config.fused_grad_accumulation, "fused-grad-accumulation"),
      "weight gradients added in FP32");
  add("overlap-grad-reduce", on_off(config.overlap_grad_reduce, "overlap-grad-reduce"),
      "reduce gradients beside backward");
  add("reduce-order",
      one_of<ReduceOrder>(config.reduce_order, "reduce-order",
                          {{"rank", ReduceOrder::kRank},
                           {"ring", ReduceOrder::kRing},
                           {"tree", ReduceOrder::kTree}}),
      "rank, ring or tree");
  add("reduce-accumulate",
      one_of<bool>(config.accumulate_in_storage, "reduce-accumulate",
                   {{"fp32", false}, {"storage", true}}),
      "type that reductions add in");
  add("ranks", one_of<bool>(config.processes, "ranks", {{"threads", false}, {"processes", true}}),
      "what a rank is");
}

void add_capsules(options::options_description& all, CapsuleOptions& capsules) {
  auto add = all.add_options();
  add("capsules", options::value(&capsules.out), "folder for capsules");
  add("capsule-every", options::value(&capsules.every), "steps from one capsule to the next");
  add("capsule-keep", options::value(&capsules.keep), "older capsules that stay; 0: all");
  add("capsule-leave-out", options::value(&capsules.leave_out),
      "a kind of state that capsules do not get");
  add("resume", options::value(&capsules.resume), "folder of capsules to go on from");
  add("resume-step", options::value(&capsules.resume_step), "step of it; default: the newest");
  add("resume-rebuild", on_off(capsules.rebuild, "resume-rebuild"),
      "go on without what the capsule lacks");
  add("resume-parameters", on_off(capsules.parameters_alone, "resume-parameters"),
      "go on with the parameters alone, what the optimizer keeps starting anew");
}

// "--name=value" and "--name value": the name, for unknown options.
std::string bare_name(std::string token) {
  token.erase(0, token.find_first_not_of('-'));
  return token.substr(0, token.find('='));
}

[[noreturn]] void refuse_option(const std::string& token, const options::options_description& all) {
  std::vector<std::string> known;
  for (const auto& option : all.options()) known.push_back(option->long_name());
  const std::string name = bare_name(token);
  refuse("no option '--" + name + "'; the nearest is '--" + nearest_name(name, known) + "'");
}

void read(const std::vector<std::string>& arguments, const options::options_description& all) {
  using namespace options::command_line_style;
  const options::positional_options_description none;
  const int style = allow_long | long_allow_adjacent | long_allow_next;  // no guessing of prefixes
  options::variables_map values;
  try {
    options::store(
        options::command_line_parser(arguments).options(all).positional(none).style(style).run(),
        values);
    options::notify(values);
  } catch (const options::unknown_option& error) {
    refuse_option(error.get_option_name(), all);
  } catch (const options::error& error) {
    refuse(error.what());
  }
}

std::string text_beside_program() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path().parent_path() / "data" / "kjv.txt").string();
}

}  // namespace

Config parse_config(const std::vector<std::string>& arguments) {
  Config config;
  config.text = text_beside_program();
  options::options_description all;
  add_model(all, config);
  add_toggles(all, config);
  add_capsules(all, config.capsules);
  read(arguments, all);
  check_config(config);
  config.sequence_parallel = config.sequence_parallel && config.tp > 1;
  return config;
}

}  // namespace nanhunt::mini
