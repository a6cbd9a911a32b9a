// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdlib>
#include <iostream>

#include "ablate/nearest.h"
#include "ablate/options_file.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

bool is_list(const std::string& positional) { return positional.ends_with("..."); }

std::string bare(const std::string& positional) {
  if (is_list(positional)) return positional.substr(0, positional.size() - 3);
  return positional.ends_with("?") ? positional.substr(0, positional.size() - 1) : positional;
}

std::string variable_of(const std::string& option) {
  std::string name = "NANHUNT_" + option;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char letter) {
    return letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  });
  return name;
}

// Options that the command line does not set: a composing list would be merged by the library.
po::parsed_options from_environment(const po::options_description& options,
                                    const po::variables_map& set_before) {
  po::parsed_options parsed(&options);
  for (const auto& option : options.options()) {
    const std::string& name = option->long_name();
    if (set_before.count(name) > 0 && !set_before[name].defaulted()) continue;
    const char* value = std::getenv(variable_of(name).c_str());
    if (value == nullptr || *value == '\0') continue;
    const bool list = option->semantic()->is_composing();
    parsed.options.emplace_back(
        name, list ? ablate::split_words(value) : std::vector<std::string>{value});
  }
  return parsed;
}

po::options_description with_positionals(const po::options_description& options,
                                         const Positionals& positionals) {
  po::options_description all;
  all.add(options);
  for (const std::string& name : positionals) {
    if (is_list(name)) {
      all.add_options()(bare(name).c_str(), po::value<std::vector<std::string>>());
    } else {
      all.add_options()(bare(name).c_str(), po::value<std::string>());
    }
  }
  return all;
}

[[noreturn]] void refuse_unknown(const std::string& name, const po::options_description& options) {
  std::string stripped = name;
  stripped.erase(0, stripped.find_first_not_of('-'));
  stripped = stripped.substr(0, stripped.find('='));
  std::vector<std::string> known;
  for (const auto& option : options.options()) known.push_back("--" + option->long_name());
  refuse("unknown option '--" + stripped + "'" + ablate::did_you_mean("--" + stripped, known));
}

void print_help(const std::string& command, const po::options_description& options,
                const Positionals& positionals) {
  std::cout << "nanhunt " << command;
  for (const std::string& name : positionals) {
    std::cout << (name.ends_with("?") ? " [" + bare(name) + "]" : " " + name);
  }
  std::cout << "\n" << options;
}

}  // namespace

Parsed parse_options(const std::string& command, const std::vector<std::string>& arguments,
                     const po::options_description& options, const Positionals& positionals) {
  po::options_description visible = options;
  visible.add_options()("help", po::bool_switch(), "this text");
  const po::options_description all = with_positionals(visible, positionals);
  po::positional_options_description places;
  for (const std::string& name : positionals)
    places.add(bare(name).c_str(), is_list(name) ? -1 : 1);
  using namespace po::command_line_style;
  const int style = unix_style & ~allow_guessing;
  Parsed parsed;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(places).style(style).run(),
              parsed.values);
    po::store(from_environment(options, parsed.values), parsed.values);
    po::notify(parsed.values);
  } catch (const po::unknown_option& error) {
    refuse_unknown(error.get_option_name(), visible);
  } catch (const po::too_many_positional_options_error&) {
    refuse("too many arguments for `nanhunt " + command + "`");
  } catch (const po::error& error) {
    refuse(error.what());
  }
  if (parsed.values["help"].as<bool>()) {
    print_help(command, visible, positionals);
    parsed.wants_help = true;
    return parsed;
  }
  for (const std::string& name : positionals) {
    if (!name.ends_with("?") && !parsed.has(bare(name))) {
      refuse("`nanhunt " + command + "` needs " + bare(name));
    }
  }
  return parsed;
}

}  // namespace nanhunt::cli
