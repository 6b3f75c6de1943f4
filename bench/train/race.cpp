#include "race.h"

#include <algorithm>

#include "hocket/base/median.h"
#include "measuring.h"

namespace hocket::train_bench {

namespace {

using comm_bench::Answer;
using comm_bench::Contestant;

Result<std::vector<Answer>> ask(Contestants& contestants, const Lane& lane, const std::string& line) {
  const auto found = contestants.find(lane.contestant);
  if (found == contestants.end()) return fail(ErrorKind::peer, "{} could not be started", lane.contestant);
  return found->second->ask(line);
}

void take_steps(Figures& figures, const std::vector<Answer>& answers) {
  for (std::size_t step = 0; step < answers[0].ns.size(); ++step) {
    double slowest = 0;
    for (const Answer& answer : answers) slowest = std::max(slowest, answer.ns[step]);
    figures.ms.push_back(slowest / 1e6);
  }
}

void take_told(Figures& figures, const std::vector<Answer>& answers) {
  constexpr double billionths = 1e9;
  for (const Answer& answer : answers) figures.loss += answer.ns[0] / billionths / static_cast<double>(answers.size());
  if (answers[0].ns.size() < 7) return;
  figures.predicted_ms = answers[0].ns[4] / 1e6;
  figures.first_ms = answers[0].ns[5] / 1e6;
  figures.computing_ms = answers[0].ns[6] / 1e6;
}

void take_memory(Figures& figures, const std::vector<Answer>& answers) {
  if (answers[0].ns.size() < 5) return;
  // Of all ranks together, since a page that they share counts in part for each that has touched it so far.
  const auto mean = [&](std::size_t index) {
    double sum = 0;
    for (const Answer& answer : answers) sum += answer.ns[index];
    return sum / static_cast<double>(answers.size());
  };
  figures.planned_bytes = mean(1);
  figures.grown_bytes = mean(2);
  figures.first_use_bytes = mean(3);
}

}  // namespace

double Figures::median() const { return upper_median(ms); }
double Figures::least() const { return lowest(ms); }

Race run_race(const std::string& setting, const std::string& model, const std::vector<Lane>& lanes,
              Contestants& contestants, RaceEffort effort) {
  Race race{setting, model, {}};
  const auto each = [&](const std::function<std::string(const Lane&)>& line,
                        const std::function<void(Figures&, const std::vector<Answer>&)>& take) {
    for (const Lane& lane : lanes) {
      Figures& figures = race.lanes[lane.title()];
      if (!figures.absent.empty()) continue;
      const auto answers = ask(contestants, lane, line(lane));
      if (!answers) figures.absent = answers.error().to_string();
      else take(figures, *answers);
    }
  };
  each([&](const Lane& lane) { return fmt::format("make {} {}", lane.way, model); }, [](auto&, const auto&) {});
  for (int round = 0; round < effort.rounds; ++round) {
    each([&](const Lane& lane) { return fmt::format("run {} {}", lane.way, effort.steps); }, take_steps);
  }
  each([](const Lane& lane) { return "tell " + lane.way; }, take_told);
  each([](const Lane& lane) { return "drop " + lane.way; }, [](auto&, const auto&) {});
  return race;
}

void measure_memory(Race& race, const Lane& lane, Contestant& fresh) {
  Figures& figures = race.lanes[lane.title()];
  if (!figures.absent.empty()) return;
  auto answers = fresh.ask(fmt::format("make {} {}", lane.way, race.model));
  if (answers) answers = fresh.ask("tell " + lane.way);
  if (answers) take_memory(figures, *answers);
  else figures.absent = answers.error().to_string();
}

}  // namespace hocket::train_bench
