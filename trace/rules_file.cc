// SPDX-License-Identifier: Apache-2.0
#include "trace/rules_file.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "trace/error.h"
#include "trace/region_moves.h"
#include "trace/site_pattern.h"

namespace nanhunt::trace {
namespace {

using nlohmann::json;

// A value of the file with the place it stands at, for messages.
class Node {
 public:
  Node(const std::filesystem::path& file, const json& value, std::string pointer)
      : file_(file), value_(value), pointer_(std::move(pointer)) {}

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(ErrorKind::kUsage, "rules file " + file_.string() + ": at " +
                                       (pointer_.empty() ? "the top" : pointer_) + ": " + reason);
  }

  void expect_object(const std::set<std::string>& known) const {
    if (!value_.is_object()) fail("must be an object");
    for (const auto& [key, value] : value_.items()) {
      if (!known.contains(key)) fail("unknown key \"" + key + '"');
    }
  }

  bool has(const std::string& key) const { return value_.contains(key); }

  Node at(const std::string& key) const {
    if (!value_.contains(key)) fail("\"" + key + "\" is missing");
    return Node(file_, value_[key], pointer_ + '/' + key);
  }

  std::vector<Node> elements() const {
    if (!value_.is_array()) fail("must be a list");
    std::vector<Node> nodes;
    for (size_t i = 0; i < value_.size(); ++i) {
      nodes.emplace_back(file_, value_[i], pointer_ + '/' + std::to_string(i));
    }
    return nodes;
  }

  std::string text() const {
    if (!value_.is_string()) fail("must be text");
    return value_.get<std::string>();
  }

  int64_t size() const {
    if (!value_.is_number_integer() || value_.get<int64_t>() < 0) {
      fail("must be a whole number from 0");
    }
    return value_.get<int64_t>();
  }

  std::vector<int64_t> sizes() const {
    std::vector<int64_t> result;
    for (const Node& element : elements()) result.push_back(element.size());
    return result;
  }

 private:
  const std::filesystem::path& file_;
  const json& value_;
  std::string pointer_;
};

RegionMove read_move(const Node& node) {
  node.expect_object({"from", "to", "extent"});
  RegionMove move{node.at("from").sizes(), node.at("to").sizes(), node.at("extent").sizes()};
  if (move.from.empty() || move.to.size() != move.from.size() ||
      move.extent.size() != move.from.size()) {
    node.fail("\"from\", \"to\" and \"extent\" must have the same number of dimensions");
  }
  return move;
}

void check_moves(const Node& node, const NameRule& rule) {
  if (rule.moves.empty() && !rule.to_shape.empty()) node.fail("\"to_shape\" needs \"moves\"");
  for (const RegionMove& move : rule.moves) {
    if (!rule.to_shape.empty() && rule.to_shape.size() != move.to.size()) {
      node.fail("\"to_shape\" and \"moves\" must have the same number of dimensions");
    }
  }
}

NameRule read_rule(const Node& node) {
  node.expect_object({"site", "role", "to_site", "to_role", "to_shape", "moves"});
  NameRule rule;
  rule.site = node.at("site").text();
  if (rule.site.empty()) node.at("site").fail("is empty");
  if (node.has("role")) rule.role = node.at("role").text();
  rule.to_site = node.at("to_site").text();
  const std::string fault = target_fault(rule.to_site, count_stars(rule.site));
  if (rule.to_site.empty()) node.at("to_site").fail("is empty");
  if (!fault.empty()) node.at("to_site").fail(fault);
  if (node.has("to_role")) rule.to_role = node.at("to_role").text();
  if (node.has("to_shape")) rule.to_shape = node.at("to_shape").sizes();
  if (node.has("moves")) {
    for (const Node& move : node.at("moves").elements()) rule.moves.push_back(read_move(move));
  }
  check_moves(node, rule);
  return rule;
}

json parse_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::kUsage, "cannot open rules file " + path.string());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    throw Error(ErrorKind::kUsage, "rules file " + path.string() + ": no valid JSON at byte " +
                                       std::to_string(error.byte));
  }
}

// A placement that many records share is moved once.
using MovedPlacements =
    std::map<std::pair<const NameRule*, const Placement*>, std::shared_ptr<const Placement>>;

void move_record(const NameRule& rule, MovedPlacements* known, Record* record) {
  record->regions.clear();
  if (record->placement == nullptr || is_unknown(*record->placement)) return;
  auto& moved = (*known)[{&rule, record->placement.get()}];
  if (moved == nullptr) {
    moved = std::make_shared<const Placement>(
        move_regions(*record->placement, rule.moves, rule.to_shape));
  }
  record->placement = moved;
}

}  // namespace

RulesFile read_rules_file(const std::filesystem::path& path) {
  const json document = parse_file(path);
  const Node top(path, document, "");
  top.expect_object({"name", "rules"});
  RulesFile file;
  file.name = top.has("name") ? top.at("name").text() : path.stem().string();
  for (const Node& rule : top.at("rules").elements()) file.rules.push_back(read_rule(rule));
  return file;
}

void apply_rules(const RulesFile& rules, Step& step) {
  MovedPlacements moved;
  std::vector<std::shared_ptr<const Placement>> kept;  // keys of `moved` stay valid
  std::vector<std::string> captures;
  for (Record& record : step.records) {
    for (const NameRule& rule : rules.rules) {
      if (!rule.role.empty() && rule.role != record.what.role) continue;
      if (!match_site(rule.site, record.what.site, &captures)) continue;
      const std::string source = describe(record.what);
      record.what.site = fill_target(rule.to_site, captures);
      if (!rule.to_role.empty()) record.what.role = rule.to_role;
      if (!rule.moves.empty()) {
        kept.push_back(record.placement);
        try {
          move_record(rule, &moved, &record);
        } catch (const Error& error) {
          throw Error(error.kind(), "rules " + rules.name + ", rule for " + rule.site + ", at " +
                                        source + ": " + error.what());
        }
      }
      break;
    }
  }
  step.build_index();
}

}  // namespace nanhunt::trace
