// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/recompute.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "oracle/logical.h"
#include "oracle/replay/value_stream.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

using trace::Phase;
using trace::Record;

class Replayer {
 public:
  Replayer(const ReplayIndex& index, const trace::TraceReader& reader, const Record& record,
           std::string& why_not)
      : index_(index), reader_(reader), record_(record), target_(record), why_not_(why_not) {}

  std::optional<Recomputed> run() {
    if (!take_operands()) return std::nullopt;
    return compute();
  }

  bool run_by_blocks(const TakeCompared& take) {
    if (!take_operands()) return false;
    const auto terms = elementwise_terms();
    if (!terms) return run_by_slices(take);
    sum_by_blocks(*terms, reader_, record_, derivative_of_, take);
    return true;
  }

  int64_t bytes() {
    if (!take_operands()) return 0;
    if (const auto terms = elementwise_terms()) return bytes_by_blocks(*terms);
    constexpr int64_t kCopies = 5;
    const int64_t rows = rows_of_slice();
    const bool cut = rows < rows_of(record_);
    int64_t elements = elements_of_row(record_) * std::min(rows, rows_of(record_));
    for (const auto* operands : {&operands_, &gradients_}) {
      for (const Operand& operand : *operands) {
        const Record& record = operand.record();
        elements +=
            elements_of_row(record) * (cut && !operand.is_parameter() ? rows : rows_of(record));
      }
    }
    return elements * kCopies * static_cast<int64_t>(sizeof(double));
  }

  Intermediates on_the_way(size_t element) {
    if (!take_operands()) return {};
    if (trace::is_fp8(record_.storage)) {
      Call call(target_, target_, operands_);
      return find_replay("quantise")->on_the_way(call, element);
    }
    if (index_.is_gradient(record_)) return on_the_way_back(element);
    const Record* maker = maker_in_forward();
    const Replay* replay = replay_of(maker);
    if (replay == nullptr || replay->on_the_way == nullptr) return {};
    Call call(*maker, target_, operands_);
    return replay->on_the_way(call, element);
  }

 private:
  bool run_by_slices(const TakeCompared& take) {
    const int64_t extent = rows_of(record_), rows = rows_of_slice();
    ValueStream recorded(reader_, record_);
    for (int64_t begin = 0; begin == 0 || begin < extent; begin += rows) {
      const Slice slice{begin, std::min(begin + rows, extent)};
      if (rows < extent) go_to(slice);
      const auto result = compute();
      if (!result) return false;
      take_blocks(*result, begin * elements_of_row(record_), recorded, take);
    }
    return true;
  }

  static void take_blocks(const Recomputed& slice, int64_t start, ValueStream& recorded,
                          const TakeCompared& take) {
    std::array<double, kBlockElements> found;
    const auto all = static_cast<int64_t>(slice.values.size());
    for (int64_t begin = 0; begin == 0 || begin < all; begin += kBlockElements) {
      const auto from = static_cast<size_t>(begin);
      const auto count = static_cast<size_t>(std::min(kBlockElements, all - begin));
      recorded.read(start + begin, static_cast<int64_t>(count), found.data());
      take({start + begin, std::span(found).first(count),
            std::span(slice.values).subspan(from, count),
            std::span(slice.magnitudes).subspan(from, count), slice.roundings,
            slice.derivative_of});
    }
  }

  void begin_anew() {
    kept_.clear();
    derivative_of_.clear();
    why_not_.clear();
  }

  // What was wrong between the op and the tap of its output is so on the way back, too.
  void end_derivative() {
    if (index_.is_gradient(record_)) derivative_of_.push_back(record_.what.site);
  }

  std::optional<Recomputed> compute() {
    begin_anew();
    auto result = trace::is_fp8(record_.storage) ? cast()
                  : index_.is_gradient(record_)  ? backward()
                                                 : forward();
    if (!result) {
      if (why_not_.empty()) why_not_ = "operands do not fit the formula";
      return std::nullopt;
    }
    if (!all_used() || static_cast<int64_t>(result->values.size()) != elements_of(target_)) {
      why_not_ = "operands that the formula does not know";
      return std::nullopt;
    }
    end_derivative();
    result->derivative_of = derivative_of_;
    return result;
  }

  // What the record is the sum of, element by element; nullopt where it is made in another way, or
  // by no known one.
  std::optional<std::vector<Elementwise>> elementwise_terms() {
    begin_anew();
    std::vector<std::optional<Elementwise>> found;
    if (trace::is_fp8(record_.storage)) {
      Call call(target_, target_, operands_);
      found.push_back(find_replay("quantise")->elementwise(call));
    } else if (index_.is_gradient(record_)) {
      for (Operand& gradient : gradients_) found.push_back(elementwise_of(gradient));
    } else {
      found.push_back(elementwise_of(maker_in_forward()));
    }
    std::vector<Elementwise> terms;
    for (auto& term : found) {
      if (!term) return std::nullopt;
      terms.push_back(std::move(*term));
    }
    if (terms.empty() || !lie_as_target(terms, record_) || !all_used()) return std::nullopt;
    end_derivative();
    return terms;
  }

  std::optional<Elementwise> elementwise_of(const Record* maker) {
    const Replay* replay = replay_of(maker);
    if (replay == nullptr || replay->elementwise == nullptr) return std::nullopt;
    Call call(*maker, target_, operands_);
    return replay->elementwise(call);
  }

  static int64_t rows_of(const Record& record) {
    return record.local_shape.empty() ? 1 : record.local_shape.front();
  }

  // Of an operand: cut together with the result.
  bool shares_rows(const Record& record) const {
    const auto axes = axes_of(record), own = axes_of(record_);
    return !axes.empty() && axes.front() == own.front() &&
           record.local_shape.front() == record_.local_shape.front();
  }

  static BySlices by_slices_of(const Record* maker) {
    const Replay* replay = maker == nullptr ? nullptr : find_replay(maker->op);
    return replay == nullptr ? BySlices::kNo : replay->by_slices;
  }

  BySlices by_slices() const {
    if (trace::is_fp8(record_.storage)) return find_replay("quantise")->by_slices;
    if (!index_.is_gradient(record_)) return by_slices_of(maker_in_forward());
    BySlices all = gradients_.empty() ? BySlices::kNo : BySlices::kSmall;
    for (const Operand& gradient : gradients_) {
      if (is_handed_on_as_is(gradient.record())) continue;
      const Record* maker = index_.maker(record_, gradient.record().what.site, "output");
      const BySlices one = by_slices_of(maker);
      if (one == BySlices::kNo) return one;
      if (one == BySlices::kLarge) all = one;
    }
    return all;
  }

  // Indices of the first dimension that are computed at once: all where it cannot be cut, at least
  // one where there is none.
  int64_t rows_of_slice() const {
    constexpr int64_t kSmall = 1 << 13, kLarge = 1 << 21, kManyRows = 256;
    const int64_t all = std::max<int64_t>(1, rows_of(record_));
    const auto axes = axes_of(record_);
    if (axes.size() < 2 || axes.front().empty() || !parameter_name(record_).empty()) return all;
    const BySlices cut = by_slices();
    for (const auto* operands : {&operands_, &gradients_}) {
      for (const Operand& operand : *operands) {
        if (!operand.is_parameter() && !shares_rows(operand.record())) return all;
      }
    }
    if (cut == BySlices::kNo) return all;
    const int64_t row = std::max<int64_t>(1, elements_of_row(record_));
    return cut == BySlices::kSmall ? std::max<int64_t>(1, kSmall / row)
                                   : std::max(kManyRows, kLarge / row);
  }

  void go_to(Slice slice) {
    target_.local_shape.front() = slice.end - slice.begin;
    for (auto* operands : {&operands_, &gradients_}) {
      for (Operand& operand : *operands) {
        if (!operand.is_parameter()) operand.take(slice);
      }
    }
  }

  Intermediates on_the_way_back(size_t element) {
    if (gradients_.empty()) return on_the_way_from_loss(element);
    Intermediates formed;
    std::vector<double> parts;
    for (Operand& gradient : gradients_) {
      if (const auto part = handed_on(gradient); part && element < part->values.size())
        parts.push_back(part->values[element]);
      if (is_handed_on_as_is(gradient.record())) continue;
      const Record* maker = consumer_of(gradient);
      const Replay* replay = maker == nullptr ? nullptr : find_replay(maker->op);
      if (replay == nullptr || replay->on_the_way_back == nullptr) continue;
      Call call(*maker, target_, operands_, true);
      std::ranges::move(replay->on_the_way_back(call, gradient.tensor(), element),
                        std::back_inserter(formed));
    }
    add_terms(formed, parts);
    return formed;
  }

  const Record* maker_in_forward() const {
    return is_forward(record_) ? &record_
                               : index_.maker(record_, record_.what.site, record_.what.role);
  }

  // Where a tensor lies unseen, its elements may have been moved between op and tap: pieces of
  // tokens under each other, as a reduce-scatter wants them.
  static bool is_placed(const Record& record) {
    return record.placement && !trace::is_unknown(*record.placement);
  }

  bool take_operands() {
    if (!is_placed(record_)) {
      why_not_ = "its placement is unknown";
      return false;
    }
    for (const trace::Link& link : record_.links) {
      const int at = index_.step().find(record_.where.rank, link.sequence);
      const Record* source = at < 0 ? nullptr : &record_at(index_.step(), at);
      if (source == nullptr) {
        why_not_ = "operands not captured in full";
        return false;
      }
      if (!is_placed(*source)) {
        why_not_ = "the placement of an operand is unknown";
        return false;
      }
      const bool gradient = index_.is_gradient(*source);
      if (gradient) source = &behind_copies(*source);
      if (!source->has_values) {
        why_not_ = "operands not captured in full";
        return false;
      }
      // Of codes, a gradient is the operand as any other.
      auto& taken = gradient && !trace::is_fp8(record_.storage) ? gradients_ : operands_;
      if (!is_the_same_mask(*source)) taken.emplace_back(*source, reader_);
    }
    return true;
  }

  // One mask that several sites show is met under the name of the last.
  bool is_the_same_mask(const Record& record) const {
    return !trace::is_floating(record.storage) &&
           std::ranges::any_of(operands_, [&](const Operand& operand) {
             const Record& other = operand.record();
             return other.raw_digest == record.raw_digest && other.storage == record.storage &&
                    other.local_shape == record.local_shape;
           });
  }

  // The operand of a gather is the gradient itself under another name, if it shares its storage.
  const Record& behind_copies(const Record& record) const {
    if (record.what.phase != Phase::kPreCollective || record.links.size() != 1) return record;
    const int at = index_.step().find(record.where.rank, record.links.front().sequence);
    if (at < 0) return record;
    const Record& source = record_at(index_.step(), at);
    return source.raw_digest == record.raw_digest && source.local_shape == record.local_shape
               ? source
               : record;
  }

  // A parameter whose gradient this is may be among the operands for its shape alone.
  bool all_used() const {
    return std::ranges::all_of(operands_, [&](const Operand& operand) {
      return operand.used || operand.record().what.site == record_.what.site ||
             std::ranges::find(kept_, &operand.record()) != kept_.end();
    });
  }

  const Replay* replay_of(const Record* maker) {
    const Replay* replay = maker == nullptr ? nullptr : find_replay(maker->op);
    if (replay == nullptr)
      why_not_ = "no replay of " + (maker == nullptr || maker->op.empty() ? "its op" : maker->op);
    return replay;
  }

  std::optional<Recomputed> forward() {
    const Record* maker = maker_in_forward();
    if (const auto op = elementwise_of(maker)) return in_one_piece(*op, target_);
    const Replay* replay = replay_of(maker);
    if (replay == nullptr || replay->forward == nullptr) return std::nullopt;
    Call call(*maker, target_, operands_);
    return replay->forward(call);
  }

  // Codes of values or of a gradient.
  std::optional<Recomputed> cast() {
    Call call(target_, target_, operands_);
    const auto op = find_replay("quantise")->elementwise(call);
    return op ? in_one_piece(*op, target_) : std::nullopt;
  }

  std::optional<Recomputed> backward() {
    if (gradients_.empty()) return from_loss();
    std::optional<Recomputed> total;
    for (Operand& gradient : gradients_) {
      auto part = handed_on(gradient);
      if (!part || (total && part->values.size() != total->values.size())) return std::nullopt;
      total = total ? sum(std::move(*total), *part) : std::move(*part);
    }
    return total;
  }

  // As it is: a gradient of the same place in another form, and one that the derivative of its op
  // made already (of an input).
  bool is_handed_on_as_is(const Record& gradient) const {
    const std::string& role = gradient.what.role;
    if (role.starts_with("grad_input")) return true;
    return gradient.what.site == record_.what.site &&
           (role == record_.what.role || !parameter_name(gradient).empty());
  }

  // Of the gradient of an op's output that another op consumed: a scaled or detached path between
  // the two has a derivative of its own. Parameters, and what the op itself read, are named by it.
  bool is_read_as_recorded(const std::string& consumer) const {
    const bool of_output = record_.what.role.starts_with("grad_output");
    return !of_output || consumer == record_.what.site ||
           index_.consumes(record_, consumer, record_.what.site);
  }

  // The op whose derivative takes the gradient further; nullptr, with the reason, when that is not
  // known.
  const Record* consumer_of(const Operand& gradient) {
    const Record* maker = index_.maker(record_, gradient.record().what.site, "output");
    if (replay_of(maker) == nullptr) return nullptr;
    if (is_read_as_recorded(gradient.record().what.site)) return maker;
    why_not_ = "what lies between it and the gradient's op is not recorded";
    return nullptr;
  }

  Call derivative_call(const Record& maker) {
    Call call(maker, target_, operands_, true);
    for (const Operand& operand : operands_) {
      if (call.is_own_output(operand.record())) kept_.push_back(&operand.record());
    }
    return call;
  }

  std::optional<Elementwise> elementwise_of(Operand& gradient) {
    if (is_handed_on_as_is(gradient.record())) return oracle::handed_on(gradient);
    const Record* maker = consumer_of(gradient);
    const Replay* replay = maker == nullptr ? nullptr : find_replay(maker->op);
    if (replay == nullptr || replay->elementwise_back == nullptr ||
        !parameter_name(record_).empty())
      return std::nullopt;
    Call call = derivative_call(*maker);
    auto op = replay->elementwise_back(call, gradient);
    if (op) derivative_of_.push_back(maker->what.site);
    return op;
  }

  std::optional<Recomputed> handed_on(Operand& gradient) {
    if (const auto op = elementwise_of(gradient)) return in_one_piece(*op, target_);
    const Record* maker = consumer_of(gradient);
    const Replay* replay = maker == nullptr ? nullptr : find_replay(maker->op);
    if (replay == nullptr || replay->backward == nullptr) return std::nullopt;
    Call call = derivative_call(*maker);
    derivative_of_.push_back(maker->what.site);
    return replay->backward(call, gradient.tensor());
  }

  // Where backward begins: d loss = 1 (or the loss scale, which the placement tells), through the
  // mean over the tokens and the loss of each.
  struct Beginning {
    const Record *mean, *tokens;  // what these ops gave in forward
    Tensor one;                   // d loss
    Recomputed of_tokens;         // d of each token's loss
  };

  std::optional<Beginning> beginning() {
    const Record* loss = nullptr;
    for (Operand& operand : operands_) {
      if (operand.record().what.phase == Phase::kLoss && operand.record().what.role == "loss") {
        loss = &operand.record();
        operand.used = true;
      }
    }
    const Record* tokens = index_.maker(record_, "loss", "token_loss");
    const Replay* mean = replay_of(loss);
    if (mean == nullptr || replay_of(tokens) == nullptr || !record_.placement) return std::nullopt;
    Call call(*loss, *tokens, operands_, true);
    Tensor one{{}, {}, {divisor_of(*record_.placement)}};
    auto of_tokens = mean->backward == nullptr ? std::nullopt : mean->backward(call, one);
    if (!of_tokens) return std::nullopt;
    return Beginning{loss, tokens, std::move(one), std::move(*of_tokens)};
  }

  static Tensor gradient_of_tokens(const Beginning& from) {
    return {from.tokens->local_shape, axes_of(*from.tokens), from.of_tokens.values};
  }

  std::optional<Recomputed> from_loss() {
    const auto from = beginning();
    const Replay* replay = from ? find_replay(from->tokens->op) : nullptr;
    if (replay == nullptr || replay->backward == nullptr) return std::nullopt;
    Call call(*from->tokens, target_, operands_, true);
    auto result = replay->backward(call, gradient_of_tokens(*from));
    if (result) result->roundings += from->of_tokens.roundings;
    return result;
  }

  // The token whose row of logits holds that element.
  size_t token_of(const Record& tokens, size_t element) const {
    auto axes = axes_of(target_);
    const size_t row = element / static_cast<size_t>(target_.local_shape.back());
    if (!axes.empty()) axes.pop_back();
    const auto token = element_before_order(tokens.local_shape, axes_of(tokens), axes, row);
    return token ? static_cast<size_t>(*token) : row;
  }

  Intermediates on_the_way_from_loss(size_t element) {
    const auto from = beginning();
    if (!from) return {};
    Call call_of_mean(*from->mean, *from->tokens, operands_, true);
    Call call(*from->tokens, target_, operands_, true);
    const Replay* mean = find_replay(from->mean->op);
    const Replay* of_tokens = find_replay(from->tokens->op);
    Intermediates formed;
    if (mean->on_the_way_back != nullptr)
      formed = mean->on_the_way_back(call_of_mean, from->one, token_of(*from->tokens, element));
    if (of_tokens->on_the_way_back != nullptr) {
      std::ranges::move(of_tokens->on_the_way_back(call, gradient_of_tokens(*from), element),
                        std::back_inserter(formed));
    }
    return formed;
  }

  const ReplayIndex& index_;
  const trace::TraceReader& reader_;
  const Record& record_;
  Record target_;  // the record, or a slice of it: what is computed
  std::string& why_not_;
  std::vector<Operand> operands_, gradients_;
  std::vector<std::string> derivative_of_;
  std::vector<const Record*> kept_;  // outputs that a derivative kept for itself
};

}  // namespace

bool is_replayable(const Record& record) {
  const Phase phase = record.what.phase;
  const bool judged = phase == Phase::kForward || phase == Phase::kLoss ||
                      phase == Phase::kBackward || phase == Phase::kPreCollective;
  return judged && record.has_values && !record.links.empty() && trace::is_floating(record.storage);
}

std::optional<Recomputed> recompute(const ReplayIndex& index, const trace::TraceReader& reader,
                                    const Record& record, std::string& why_not) {
  return Replayer(index, reader, record, why_not).run();
}

bool recompute_by_blocks(const ReplayIndex& index, const trace::TraceReader& reader,
                         const trace::Record& record, const TakeCompared& take,
                         std::string& why_not) {
  return Replayer(index, reader, record, why_not).run_by_blocks(take);
}

int64_t recompute_bytes(const ReplayIndex& index, const trace::TraceReader& reader,
                        const trace::Record& record) {
  std::string why_not;
  return Replayer(index, reader, record, why_not).bytes();
}

Intermediates intermediates(const ReplayIndex& index, const trace::TraceReader& reader,
                            const trace::Record& record, size_t element) {
  std::string why_not;
  return Replayer(index, reader, record, why_not).on_the_way(element);
}

}  // namespace nanhunt::oracle
