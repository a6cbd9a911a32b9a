// SPDX-License-Identifier: Apache-2.0
// What is formed on the way of attention, forward and backward; formulas in attention.cc.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/replay/attention_problem.h"
#include "oracle/replay/ops.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle::attention_op {
namespace {

// Of an element in [token, sample, channel], the channels being heads x parts x size.
struct Position {
  int64_t token, sample, head, part, channel;
};

std::optional<Position> position_of(const Call& call, const Problem& p, int64_t parts,
                                    size_t element) {
  const Shape& s = p.shape;
  const int64_t row = s.heads * parts * s.size;
  const auto found =
      element_before_order({s.tokens, s.samples, row}, p.qkv.axes, axes_of(call.target()), element);
  if (!found) return std::nullopt;
  const int64_t at = *found;
  return Position{at / row / s.samples, at / row % s.samples, at / s.size / parts % s.heads,
                  at / s.size % parts, at % s.size};
}

// What the mask leaves out of a query's keys, true = left out.
const double* masked_keys(const Problem& p, int64_t sample, int64_t token) {
  return &p.mask.values[static_cast<size_t>((sample * p.shape.tokens + token) * p.shape.tokens)];
}

// Of many sums of products, the one with the largest term or sum of first terms. A NaN that they
// make is above all; one that a factor is was made elsewhere.
class Worst {
 public:
  void see(const std::vector<Product>& products) {
    const double size = extent(products);
    if (!(size > size_)) return;
    size_ = size;
    products_ = products;
  }

  void add_products_to(Intermediates& to) const { add_products(to, products_); }
  void add_terms_to(Intermediates& to) const {
    std::vector<double> terms;
    for (const Product& product : products_) terms.push_back(product.a * product.b);
    add_terms(to, terms);
  }

 private:
  static double extent(const std::vector<Product>& products) {
    double sum = 0, most = 0;
    bool makes_nan = false;
    for (const Product& product : products) {
      if (std::isnan(product.a) || std::isnan(product.b)) return -1;
      const double term = product.a * product.b;
      sum += term;
      makes_nan |= std::isnan(sum);
      most = std::max({most, std::abs(term), std::abs(sum)});
    }
    constexpr double kLargest = std::numeric_limits<double>::max();
    return makes_nan ? std::numeric_limits<double>::infinity() : std::min(most, kLargest);
  }

  double size_ = -1;
  std::vector<Product> products_;
};

// Of one head: the gradient of its output, and queries [first, last) that the element is made of.
struct Backward {
  const Problem& p;
  Head head;
  std::vector<double> g;
  int64_t first, last;

  int64_t tokens() const { return p.shape.tokens; }
  static double at(const std::vector<double>& values, int64_t width, int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * width + column)];
  }
  double weight(int64_t query, int64_t key) const { return at(head.weights, tokens(), query, key); }
};

// Its weights are 0 / 0, of visible keys and masked ones.
void add_least_visible(Intermediates& to, const Backward& b, int64_t sample) {
  Intermediate least{Formed::kVisible, "", std::numeric_limits<double>::infinity()};
  for (int64_t query = b.first; query < b.last; ++query) {
    const double* masked = masked_keys(b.p, sample, query);
    const auto visible = static_cast<double>(std::count(masked, masked + b.tokens(), 0.0));
    if (!(visible < least.value)) continue;
    least = {Formed::kVisible, "the number of visible keys of token " + std::to_string(query),
             visible};
  }
  to.push_back(least);
}

// g v^T of one query, also where its keys are masked: a weight of 0 makes no Inf finite.
std::vector<double> gradient_of_weights(const Backward& b, int64_t query, Worst& worst) {
  std::vector<double> gradient;
  std::vector<Product> products;
  const int64_t size = b.p.shape.size;
  for (int64_t key = 0; key < b.tokens(); ++key) {
    products.clear();
    double sum = 0;
    for (int64_t c = 0; c < size; ++c) {
      products.push_back({b.at(b.g, size, query, c), b.at(b.head.v, size, key, c)});
      sum += products.back().a * products.back().b;
    }
    worst.see(products);
    gradient.push_back(sum);
  }
  return gradient;
}

// ds = scale p (g v^T - mean), [query, key], from b.first on; the mean is that of a row, by p.
std::vector<double> add_gradient_of_scores(Intermediates& to, const Backward& b) {
  Worst direct, mean_of, difference, weighted, scaled;
  std::vector<double> ds;
  for (int64_t query = b.first; query < b.last; ++query) {
    const auto dp = gradient_of_weights(b, query, direct);
    std::vector<Product> products;
    double mean = 0;
    for (int64_t key = 0; key < b.tokens(); ++key) {
      products.push_back({b.weight(query, key), dp[static_cast<size_t>(key)]});
      mean += products.back().a * products.back().b;
    }
    mean_of.see(products);
    for (const auto& [weight, of_weight] : products) {
      const double less = of_weight - mean;
      difference.see({{1, of_weight}, {-1, mean}});
      weighted.see({{weight, less}});
      scaled.see({{b.p.scale, weight * less}});
      ds.push_back(b.p.scale * (weight * less));
    }
  }
  direct.add_products_to(to);
  mean_of.add_products_to(to);
  difference.add_terms_to(to);
  weighted.add_products_to(to);
  scaled.add_products_to(to);
  return ds;
}

// dq = ds k of one query, dk = ds^T q of one key, before they are turned back; the value.
double add_product_of_scores(Intermediates& to, const Backward& b, const std::vector<double>& ds,
                             const Position& at, int64_t channel) {
  const bool of_query = at.part == 0;
  const auto& other = of_query ? b.head.k : b.head.q;
  std::vector<Product> products;
  double sum = 0;
  for (int64_t t = 0; t < b.tokens(); ++t) {
    products.push_back({of_query ? b.at(ds, b.tokens(), 0, t) : b.at(ds, b.tokens(), t, at.token),
                        b.at(other, b.p.shape.size, t, channel)});
    sum += products.back().a * products.back().b;
  }
  add_products(to, products);
  return sum;
}

void add_query_or_key(Intermediates& to, const Backward& b, const Position& at) {
  const auto ds = add_gradient_of_scores(to, b);
  const int64_t half = b.p.shape.size / 2, i = at.channel % std::max<int64_t>(1, half);
  if (b.p.rotary_base <= 0 || at.channel >= 2 * half) {
    add_product_of_scores(to, b, ds, at, at.channel);
    return;
  }
  const double x = add_product_of_scores(to, b, ds, at, i);
  const double y = add_product_of_scores(to, b, ds, at, i + half);
  const double by = angle(b.p.shape, b.p.rotary_base, at.token, i);
  const double cosine = std::cos(by), sine = std::sin(by);
  if (at.channel < half) {
    add_products(to, {{x, cosine}, {y, sine}});
  } else {
    add_products(to, {{y, cosine}, {x, -sine}});
  }
}

void add_value(Intermediates& to, const Backward& b, const Position& at) {
  std::vector<Product> products;
  for (int64_t query = 0; query < b.tokens(); ++query) {
    products.push_back({b.weight(query, at.token), b.at(b.g, b.p.shape.size, query, at.channel)});
  }
  add_products(to, products);
}

}  // namespace

// The visible key of the largest score, and the exponential before the maximum is taken off.
Intermediates on_the_way(Call& call, size_t element) {
  const auto p = problem_of(call);
  if (!p) return {};
  const Shape& s = p->shape;
  const auto at = position_of(call, *p, 1, element);
  if (!at) return {};
  const auto [token, sample, head, part, c_of_element] = *at;
  const double* masked = masked_keys(*p, sample, token);
  std::vector<Product> of_largest;
  double largest = 0, visible = 0;
  for (int64_t key = 0; key < s.tokens; ++key) {
    if (masked[key] != 0) continue;
    std::vector<Product> products;
    double score = 0;
    for (int64_t c = 0; c < s.size; ++c) {
      products.push_back({p->qkv.values[s.in(token, sample, head, 0, c)],
                          p->qkv.values[s.in(key, sample, head, 1, c)]});
      score += products.back().a * products.back().b;
    }
    if (visible++ == 0 || std::isnan(score) || score * p->scale > largest * p->scale) {
      of_largest = std::move(products);
      largest = score;
    }
  }
  Intermediates formed{{Formed::kVisible, "the number of visible keys", visible}};
  add_products(formed, of_largest);
  const double scaled = largest * p->scale;
  if (std::isfinite(scaled)) {
    formed.push_back({Formed::kExponential,
                      "exp(" + short_number(scaled) + "), unless the maximum is taken off,",
                      std::exp(scaled)});
  }
  return formed;
}

// From the weights that forward kept: scores and exponentials are not formed again.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const auto p = problem_of(call);
  if (!p) return {};
  const Tensor g = in_order_of(gradient, p->qkv.axes);
  const auto at = position_of(call, *p, 3, element);
  if (!at || g.size() * 3 != p->qkv.size()) return {};
  // A query's gradient is made of its own row; those of keys and values, of all rows.
  const bool of_query = at->part == 0;
  const Backward b{*p, solve(*p, at->sample, at->head),
                   head_of_output(*p, g.values, at->sample, at->head), of_query ? at->token : 0,
                   of_query ? at->token + 1 : p->shape.tokens};
  Intermediates formed;
  add_least_visible(formed, b, at->sample);
  at->part == 2 ? add_value(formed, b, *at) : add_query_or_key(formed, b, *at);
  return formed;
}

}  // namespace nanhunt::oracle::attention_op
