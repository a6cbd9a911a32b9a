// SPDX-License-Identifier: Apache-2.0
#include "bisect/price.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "bisect/search.h"

namespace nanhunt::bisect {
namespace {

std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

// Halving a gap of `width` between a good and a bad item: items tried at most, runs expected.
struct Halving {
  double good_runs = 0, bad_runs = 0;  // expected for one item
  std::map<size_t, std::pair<int64_t, double>> known = {};

  std::pair<int64_t, double> of(size_t width) {
    if (width <= 1) return {0, 0};
    if (const auto found = known.find(width); found != known.end()) return found->second;
    const size_t left = width / 2, right = width - left;
    const auto [left_items, left_runs] = of(left);
    const auto [right_items, right_runs] = of(right);
    // The first bad item is one of `width`, `left` of which end at the middle.
    const double share = static_cast<double>(left) / static_cast<double>(width);
    const double runs = share * (bad_runs + left_runs) + (1 - share) * (good_runs + right_runs);
    return known[width] = {1 + std::max(left_items, right_items), runs};
  }
};

}  // namespace

Price price_of(const StoppingRule& rule, size_t items, bool ends_known, size_t survey) {
  const Behaviour of_good = behaviour(rule, rule.rates.good_at_most);
  const Behaviour of_bad = behaviour(rule, rule.rates.bad_at_least);
  Halving halving{of_good.runs, of_bad.runs};
  std::vector<size_t> places = survey_of(items, survey);
  const size_t surveyed = places.size();
  places.push_back(items - 1);
  Price price;
  price.ends = ends_known ? 0 : 2;
  price.surveyed = static_cast<int64_t>(surveyed);
  price.expected = ends_known ? 0 : of_good.runs + of_bad.runs;
  int64_t halvings = 0;
  size_t before = 0;
  for (size_t gap = 0; gap < places.size(); ++gap) {
    const size_t width = places[gap] - before;
    before = places[gap];
    const auto [most, runs] = halving.of(width);
    halvings = std::max(halvings, most);
    const double survey_runs =
        static_cast<double>(gap) * of_good.runs + static_cast<double>(surveyed - gap) * of_bad.runs;
    price.expected +=
        static_cast<double>(width) / static_cast<double>(items - 1) * (runs + survey_runs);
  }
  price.items = rule.may_leave_undecided() ? static_cast<int64_t>(items) - 2 + price.ends
                                           : price.ends + price.surveyed + halvings;
  price.runs_of_item = rule.most_runs();
  price.runs = price.items * price.runs_of_item;
  price.error_good = of_bad.good;
  price.error_bad = of_good.bad;
  price.error =
      std::min(1.0, static_cast<double>(price.items) * std::max(price.error_good, price.error_bad));
  return price;
}

std::vector<std::string> describe(const Price& price, const StoppingRule& rule, size_t items) {
  std::vector<std::string> lines;
  lines.push_back("price: " + std::to_string(items) + " items, at most " +
                  std::to_string(price.items) + " tried (ends " + std::to_string(price.ends) +
                  ", survey " + std::to_string(price.surveyed) + "), at most " +
                  std::to_string(price.runs_of_item) + " runs each: at most " +
                  std::to_string(price.runs) + " runs, " + text_of(price.expected) +
                  " expected; more when items cannot be tested");
  if (rule.deterministic()) return lines;
  lines.push_back("error: one decision at most " + text_of(price.error_good) + " (good) or " +
                  text_of(price.error_bad) + " (bad), all at most " + text_of(price.error));
  if (!rule.may_leave_undecided()) return lines;
  const double undecided = std::max(behaviour(rule, rule.rates.good_at_most).undecided,
                                    behaviour(rule, rule.rates.bad_at_least).undecided);
  lines.push_back(
      "budget: an item stays undecided after " + std::to_string(price.runs_of_item) +
      " runs with probability " + text_of(undecided) +
      " at one of the two rates, more between them; then others are tried, at most all");
  return lines;
}

}  // namespace nanhunt::bisect
