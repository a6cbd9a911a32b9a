// SPDX-License-Identifier: Apache-2.0
#include "tests/compare/small_model.h"

#include <algorithm>
#include <cmath>

namespace nanhunt::compare::test {
namespace {

using trace::Phase;

const std::vector<int64_t> kNarrowShape{kSamples, kTokens, kChannels};
const std::vector<int64_t> kWideShape{kSamples, kTokens, kWide};
constexpr size_t kNarrow = kSamples * kTokens * kChannels;
constexpr size_t kWideCount = kSamples * kTokens * kWide;

class Builder {
 public:
  explicit Builder(const SmallModel& model) : model_(model), builder_(model.tp) {}

  TraceBuilder build() {
    for (step_ = 0; step_ < model_.steps; ++step_) {
      builder_.begin_step(step_);
      last_.clear();
      forward();
      gradients();
    }
    return std::move(builder_);
  }

 private:
  // The value that every layout means, and as this layout rounds it.
  Values meant(const std::string& name, size_t count, double scale = 1) const {
    return normal_values(count, std::hash<std::string>()(name) + static_cast<uint64_t>(step_),
                         scale);
  }
  Values rounded(const std::string& name, Values values) const {
    if (model_.noise == 0) return values;
    const Values draw =
        normal_values(values.size(), std::hash<std::string>()(name) ^ model_.noise_seed);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(values[i] * (1 + model_.noise * draw[i]));
    }
    return values;
  }

  // Records on one rank, linked to what was recorded under those names on that rank.
  int64_t add(Tap tap, Values values, const trace::Placement& placement,
              const std::vector<std::string>& inputs, const std::string& name) {
    if (model_.links) {
      for (const auto& input : inputs) {
        const auto found = last_.find({tap.rank, input});
        if (found != last_.end()) tap.links.push_back(found->second);
      }
    }
    tap.step = step_;
    model_.edit(tap, values);
    return last_[{tap.rank, name}] = builder_.add(tap, values, placement);
  }

  void parameters() {
    for (int rank = 0; rank < model_.tp; ++rank) {
      add({rank, "norm.weight", Phase::kForward, "param"}, meant("norm.weight", kChannels),
          copies({kChannels}), {}, "norm.weight");
      const Values fc1 = meant("fc1.weight", kWide * kChannels);
      const size_t share = fc1.size() / static_cast<size_t>(model_.tp);
      const auto begin = fc1.begin() + static_cast<std::ptrdiff_t>(share) * rank;
      add({rank, "fc1.weight", Phase::kForward, "param"},
          Values(begin, begin + static_cast<std::ptrdiff_t>(share)),
          slice({kWide, kChannels}, 0, rank, model_.tp), {}, "fc1.weight");
      add({rank, "fc2.bias", Phase::kForward, "param"}, meant("fc2.bias", kChannels, 0.5),
          copies({kChannels}), {}, "fc2.bias");
    }
  }

  void forward() {
    parameters();
    const int64_t width = kWide / model_.tp;
    std::vector<int> group;
    std::vector<int64_t> operands, results;
    const Values product = rounded("product", meant("product", kNarrow));
    for (int rank = 0; rank < model_.tp; ++rank) {
      add({rank, "norm"}, rounded("norm", meant("norm", kNarrow)), copies(kNarrowShape),
          {"norm.weight"}, "norm");
      const Values wide = rounded("fc1", meant("fc1", kWideCount));
      add({rank, "fc1"}, columns(wide, kWide, rank * width, width),
          slice(kWideShape, 2, rank, model_.tp), {"norm", "fc1.weight"}, "fc1");
      if (model_.tp == 1) continue;
      // The last rank's share is what the others leave.
      Values share = times(product, 1.0 / model_.tp);
      add({rank, "fc2", Phase::kPreCollective}, share, partial(kNarrowShape), {"fc1"}, "pre");
      group.push_back(rank);
      operands.push_back(last_[{rank, "pre"}]);
    }
    for (const int rank : group) {
      results.push_back(add({rank, "fc2", Phase::kPostCollective}, product, copies(kNarrowShape),
                            {"pre"}, "post"));
    }
    if (!group.empty()) builder_.collective("all_reduce", group, operands, results);
    const Values bias = meant("fc2.bias", kChannels, 0.5);
    for (int rank = 0; rank < model_.tp; ++rank) {
      Values output = product;
      for (size_t i = 0; i < output.size(); ++i) output[i] += bias[i % kChannels];
      add({rank, "fc2"}, output, copies(kNarrowShape),
          {model_.tp == 1 ? "fc1" : "post", "fc2.bias"}, "fc2");
      add({rank, "stream"}, plus(output, rounded("norm", meant("norm", kNarrow))),
          copies(kNarrowShape), {"fc2", "norm"}, "stream");
    }
  }

  void gradients() {
    for (int rank = 0; rank < model_.tp; ++rank) {
      add({rank, "norm.weight", Phase::kUnscaled, "grad"},
          rounded("norm.grad", meant("norm.grad", kChannels)), copies({kChannels}), {"stream"},
          "unscaled");
      add({rank, "tail", Phase::kClipped, "grad"}, rounded("tail", meant("tail", kChannels)),
          copies({kChannels}), {"unscaled"}, "clipped");
    }
  }

  const SmallModel& model_;
  TraceBuilder builder_;
  int step_ = 0;
  std::map<std::pair<int, std::string>, int64_t> last_;
};

}  // namespace

TraceBuilder build(const SmallModel& model) {
  return Builder(model).build();
}

}  // namespace nanhunt::compare::test
