#include "judge.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "hocket/base/units.h"

namespace hocket::train_bench {

namespace {

const Figures* of(const Race& race, const std::string& title) {
  const auto found = race.lanes.find(title);
  return found == race.lanes.end() || found->second.ms.empty() ? nullptr : &found->second;
}

class Judge {
 public:
  Judge(const Race& race, const Goals& goals) : race_(race), goals_(goals) {}

  std::vector<std::string> misses() {
    compare("hocket compiled", "hocket blocking", goals_.least_speedup);
    compare("hocket compiled", "PyTorch ddp", goals_.least_speedup);
    const double asked = communicates_much() ? goals_.least_speedup_when_much : goals_.least_speedup;
    compare(better_of("hocket compiled", "hocket compiled_across"), "PyTorch ddp", asked);
    compare("hocket compiled_fsdp", "PyTorch fsdp", asked);
    if (race_.setting == "link") check_bound();
    for (const char* const way : {"hocket compiled", "hocket compiled_across", "hocket compiled_fsdp"})
      check_claims(way);
    check_losses();
    for (const auto& [title, figures] : race_.lanes) {
      if (!figures.absent.empty()) miss("{} was not measured: {}", title, figures.absent);
    }
    return std::move(missed_);
  }

 private:
  template <class... Args>
  void miss(fmt::format_string<Args...> format, Args&&... args) {
    missed_.push_back(
        fmt::format("{} {}: {}", race_.setting, race_.model, fmt::format(format, std::forward<Args>(args)...)));
  }

  // Which of the two is faster: it is up to the user whether parameters may lag behind.
  const char* better_of(const char* one, const char* other) const {
    const Figures* const first = of(race_, one);
    const Figures* const second = of(race_, other);
    const bool other_wins = second != nullptr && (first == nullptr || second->median() < first->median());
    return other_wins ? other : one;
  }

  bool communicates_much() const {
    const Figures* const alone = of(race_, "hocket alone");
    const Figures* const blocking = of(race_, "hocket blocking");
    return alone != nullptr && blocking != nullptr && 1 - alone->median() / blocking->median() > goals_.much;
  }

  void compare(const char* ours, const char* other, double asked) {
    const Figures* const mine = of(race_, ours);
    const Figures* const theirs = of(race_, other);
    if (mine == nullptr || theirs == nullptr) return;
    const double speedup = theirs->median() / mine->median();
    if (speedup >= asked) return;
    const auto bound = bound_ms();
    const std::string allowed =
        bound ? fmt::format(" (max(compute, communication) would be {:.2f} times as fast)", theirs->median() / *bound)
              : "";
    miss("{} is {:.2f} times as fast as {}, asked for {:.2f}{}", ours, speedup, other, asked, allowed);
  }

  // max(compute, communication): what data parallel training takes if it hides all that can be hidden.
  std::optional<double> bound_ms() const {
    const Figures* const alone = of(race_, "hocket alone");
    const Figures* const communication = of(race_, "hocket communication");
    if (alone == nullptr || communication == nullptr) return std::nullopt;
    return std::max(alone->median(), communication->median());
  }

  void check_bound() {
    const char* const way = better_of("hocket compiled", "hocket compiled_across");
    const Figures* const compiled = of(race_, way);
    const auto bound = bound_ms();
    if (compiled == nullptr || !bound) return;
    const double over = compiled->median() / *bound;
    if (over > goals_.most_over_bound) {
      miss("{} takes {:.2f} of max(compute, communication), asked for {:.2f}{}{}", way, over, goals_.most_over_bound,
           what_streaming_takes(*bound), why_over(*compiled));
    }
  }

  // What is left to anybody on these cores: a processor that moves bytes over a link computes the slower for it.
  std::string what_streaming_takes(double bound) const {
    const Figures* const streaming = of(race_, "hocket streaming");
    if (streaming == nullptr) return "";
    return fmt::format("; computing beside a plain socket that moves as many bytes takes {:.2f}",
                       streaming->median() / bound);
  }

  // What a step without across_steps is bound by beyond the longer of the two, and what computing beside communication takes.
  std::string why_over(const Figures& compiled) const {
    const Figures* const alone = of(race_, "hocket alone");
    const Figures* const communication = of(race_, "hocket communication");
    if (compiled.computing_ms == 0 || alone == nullptr || communication == nullptr) return "";
    return fmt::format(
        " (its first gradient is there after {:.0f} ms, and all take {:.0f} ms; beside that it computes for {:.0f} ms, "
        "alone for "
        "{:.0f})",
        compiled.first_ms, communication->median(), compiled.computing_ms, alone->median());
  }

  void check_claims(const char* way) {
    const Figures* const figures = of(race_, way);
    if (figures == nullptr || figures->planned_bytes == 0) return;
    const double predicted = figures->predicted_ms / figures->median();
    if (std::abs(predicted - 1) > goals_.most_off_predicted) {
      miss("{} was predicted to take {:.1f} ms and takes {:.1f}", way, figures->predicted_ms, figures->median());
    }
    const double grown = figures->grown_bytes / figures->planned_bytes;
    if (std::abs(grown - 1) > goals_.most_off_planned) {
      miss("{} planned {} and the process grew by {}", way,
           to_string(Bytes(static_cast<std::int64_t>(figures->planned_bytes))),
           to_string(Bytes(static_cast<std::int64_t>(figures->grown_bytes))));
    }
  }

  // All but the one without communication train the same model.
  void check_losses() {
    const Figures* const first = of(race_, "hocket blocking");
    if (first == nullptr) return;
    for (const auto& [title, figures] : race_.lanes) {
      if (figures.ms.empty() || title == "hocket alone" || title == "hocket streaming" ||
          title == "hocket communication")
        continue;
      if (std::abs(figures.loss / first->loss - 1) > goals_.same_loss) {
        miss("{} has the loss {:.6f}, hocket blocking {:.6f}", title, figures.loss, first->loss);
      }
    }
  }

  const Race& race_;
  const Goals& goals_;
  std::vector<std::string> missed_;
};

}  // namespace

std::string table_of(const Race& race) {
  const Figures* const compiled = of(race, "hocket compiled");
  std::string text = fmt::format("{} on {}\n  {:<22} {:>9} {:>9}  {:>10}  {}\n", race.model,
                                 race.setting == "link" ? "two hosts, 1 Gbit/s" : "one host", "", "median ms", "least",
                                 "of compiled", "loss");
  for (const auto& [title, figures] : race.lanes) {
    if (figures.ms.empty()) {
      text += fmt::format("  {:<22} {}\n", title, figures.absent);
      continue;
    }
    const double part = compiled == nullptr ? 0 : figures.median() / compiled->median();
    text += fmt::format("  {:<22} {:>9.1f} {:>9.1f}  {:>10.2f}  {:.6f}", title, figures.median(), figures.least(), part,
                        figures.loss);
    if (figures.planned_bytes > 0) {
      text += fmt::format("   predicted {:.1f} ms, planned {}, grown {}, and {} at first use", figures.predicted_ms,
                          to_string(Bytes(static_cast<std::int64_t>(figures.planned_bytes))),
                          to_string(Bytes(static_cast<std::int64_t>(figures.grown_bytes))),
                          to_string(Bytes(static_cast<std::int64_t>(figures.first_use_bytes))));
    }
    text += "\n";
  }
  return text;
}

std::vector<std::string> misses(const Race& race, const Goals& goals) { return Judge(race, goals).misses(); }

std::string as_json(const std::vector<Race>& races, const std::vector<std::string>& notes,
                    const std::vector<std::string>& missed) {
  nlohmann::json all = {{"races", nlohmann::json::array()}, {"notes", notes}, {"missed", missed}};
  for (const Race& race : races) {
    nlohmann::json lanes;
    for (const auto& [title, figures] : race.lanes) {
      if (figures.ms.empty()) {
        lanes[title] = {{"absent", figures.absent}};
        continue;
      }
      lanes[title] = {{"median_ms", figures.median()}, {"least_ms", figures.least()}, {"loss", figures.loss}};
      if (figures.planned_bytes == 0) continue;
      lanes[title]["planned_bytes"] = figures.planned_bytes;
      lanes[title]["grown_bytes"] = figures.grown_bytes;
      lanes[title]["first_use_bytes"] = figures.first_use_bytes;
      lanes[title]["predicted_ms"] = figures.predicted_ms;
      lanes[title]["first_collective_ms"] = figures.first_ms;
      lanes[title]["computing_ms"] = figures.computing_ms;
    }
    all["races"].push_back({{"setting", race.setting}, {"model", race.model}, {"lanes", lanes}});
  }
  return all.dump(2);
}

}  // namespace hocket::train_bench
