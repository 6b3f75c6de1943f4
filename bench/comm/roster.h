// The contestants: how each is started, and which of them this machine has.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "setting.h"

namespace hocket::comm_bench {

// One process that the driver starts.
struct Launch {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> variables;
};

struct Recipe {
  std::string name;    // as --contestants has it
  std::string title;   // as the tables have it
  std::string absent;  // why it can't take part here; empty if it can
  // The ranks connect to the socket `control`; `folder` is empty and theirs.
  std::function<Result<std::vector<Launch>>(const Setting& setting, const std::string& control,
                                            const std::string& folder)>
      launches;
};

struct RosterOptions {
  std::string programs;     // the folder of the programs contestant_…
  std::string python;       // one with torch
  bool pypi = false;        // those from PyPI too
  std::string pypi_folder;  // where these are installed
};

// hocket first.
std::vector<Recipe> roster(const RosterOptions& options);
// What memory allows: not a contestant, but started and measured like one.
Recipe floor_recipe(const RosterOptions& options);

// Those with these names, all if there are none.
Result<std::vector<Recipe>> choose_contestants(std::vector<Recipe> recipes, const std::vector<std::string>& names);

}  // namespace hocket::comm_bench
