// Runs the contestants of one setting through all points.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "contestants_folder.h"
#include "measure_point.h"
#include "targets.h"

namespace hocket::comm_bench {

struct Plan {
  std::vector<Recipe> contestants;
  Recipe floor;
  std::vector<Operator> operators;
  std::vector<std::int64_t> sizes;
  Effort effort;
  Targets targets;
};

// The points of one setting in the order in which they are measured.
std::vector<Point> points_of(const Setting& setting, const Plan& plan);

class Driver {
 public:
  // `note` takes what a reader of the tables should know; `advance` is called after each point.
  Driver(Plan plan, std::function<void(const std::string&)> note, std::function<void()> advance)
      : plan_(std::move(plan)), note_(std::move(note)), advance_(std::move(advance)) {}

  // Contestants that can't be started or that fail are noted and left out. An error: nobody is there to be measured, or the
  // user wants no more.
  Result<std::vector<Point>> run(const Setting& setting);

 private:
  Result<std::vector<Entrant>> start_all(const Setting& setting, const ContestantsFolder& folder);
  std::shared_ptr<Contestant> start_one(const Recipe& recipe, const Setting& setting, const ContestantsFolder& folder);
  bool fits_in_memory(const Point& point, std::size_t contestants);
  void note_failures(const Point& point, const std::vector<Entrant>& entrants);

  Plan plan_;
  std::function<void(const std::string&)> note_;
  std::function<void()> advance_;
};

}  // namespace hocket::comm_bench
