// SPDX-License-Identifier: Apache-2.0
// Options of the commands. Order: command line, then NANHUNT_* environment, then defaults; a later
// source replaces, never merges. Unknown options are refused with the nearest name; prefixes are
// not guessed.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <string>
#include <vector>

namespace nanhunt::cli {

// The names of positional arguments; an ending "?" marks those that may be left out, an ending
// "..." the last one, of which there may be several (a vector of strings).
using Positionals = std::vector<std::string>;

// Parses and prints help: `wants_help` is then true and the command returns 0. The environment
// variable of option --full-name is NANHUNT_FULL_NAME; lists are split at blanks there.
// Throws Error(kUsage).
struct Parsed {
  boost::program_options::variables_map values;
  bool wants_help = false;

  bool has(const std::string& name) const { return values.count(name) > 0; }
  bool flag(const std::string& name) const { return has(name) && values[name].as<bool>(); }
  const std::string& text(const std::string& name) const { return values[name].as<std::string>(); }
};

Parsed parse_options(const std::string& command, const std::vector<std::string>& arguments,
                     const boost::program_options::options_description& options,
                     const Positionals& positionals);

}  // namespace nanhunt::cli
