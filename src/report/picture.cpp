#include "hocket/report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace hocket {

namespace {

constexpr std::array<std::string_view, 9> heights = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view red = "\x1b[31m", blue = "\x1b[34m", green = "\x1b[32m", grey = "\x1b[90m",
                           plain = "\x1b[0m";

// Something that is there is never drawn as nothing.
std::string_view height_of(double share) {
  if (share <= 0) return heights[0];
  return heights[static_cast<std::size_t>(std::clamp(std::lround(share * 8), 1L, 8L))];
}

char letter_of(std::string_view kind) {
  if (kind == "all_gather") return 'G';
  if (kind == "reduce_scatter") return 'S';
  if (kind == "all_reduce") return 'R';
  if (kind == "all_to_all") return 'A';
  if (kind == "broadcast") return 'B';
  return 'P';
}

// How much of each column is covered.
class Columns {
 public:
  Columns(std::size_t count, Nanoseconds total)
      : share_(count, 0.0), per_column_(std::max(total.ns(), 1e-9) / static_cast<double>(count)) {}

  void cover(Nanoseconds begin, Nanoseconds end) {
    const double from = begin.ns() / per_column_, to = end.ns() / per_column_;
    for (auto at = static_cast<std::size_t>(std::max(from, 0.0)); at < share_.size() && static_cast<double>(at) < to;
         ++at)
      share_[at] += std::max(0.0, std::min(to, static_cast<double>(at + 1)) - std::max(from, static_cast<double>(at)));
  }
  const std::vector<double>& shares() const { return share_; }
  double operator[](std::size_t column) const { return share_[column]; }

 private:
  std::vector<double> share_;
  double per_column_;
};

class Picture {
 public:
  Picture(const ShownTimeline& line, const PictureOptions& options) : line_(line), colour_(options.colour) {
    label_ = 7;
    for (const std::string& lane : line.lanes) label_ = std::max(label_, std::min<std::size_t>(lane.size(), 24));
    constexpr std::size_t least = 20;
    columns_ = std::max(least, options.width > label_ + 3 ? options.width - label_ - 3 : 0);
  }

  std::string draw() {
    add_compute();
    for (std::uint32_t lane = 1; lane < line_.lanes.size(); ++lane) add_lane(lane);
    add_memory();
    add_axis();
    add_legend();
    return std::move(text_);
  }

 private:
  std::string coloured(std::string_view colour, const std::string& text) const {
    return colour_ ? fmt::format("{}{}{}", colour, text, plain) : text;
  }
  void row(std::string_view label, std::string_view colour, const std::string& content) {
    text_ += fmt::format("{:<{}} {}│\n", label.substr(0, label_), label_, coloured(colour, content));
  }
  template <class Shares>
  static std::string bars(const Shares& shares) {
    std::string content;
    for (const double share : shares) content += height_of(share);
    return content;
  }

  void add_compute() {
    Columns computing(columns_, line_.step_time), exposed(columns_, line_.step_time);
    Nanoseconds end;
    for (const ShownSpan& span : line_.spans) {
      if (span.lane != 0) continue;
      (span.kind == SpanKind::blocking ? exposed : computing).cover(span.begin, span.end);
      exposed.cover(span.begin - span.stood, span.begin);
      end = std::max(end, span.end);
    }
    exposed.cover(end, line_.step_time);
    row("compute", blue, bars(computing.shares()));
    row("exposed", red, bars(exposed.shares()));
  }

  void add_lane(std::uint32_t lane) {
    std::map<char, Columns> kinds;
    for (const ShownCollective& row : line_.collectives) {
      const ShownSpan& span = line_.spans[row.span];
      if (span.lane != lane) continue;
      kinds.try_emplace(letter_of(row.kind), columns_, line_.step_time).first->second.cover(span.begin, span.end);
      names_[letter_of(row.kind)] = row.kind;
    }
    if (kinds.empty()) return;
    std::string content;
    for (std::size_t column = 0; column < columns_; ++column) {
      char most = ' ';
      double share = 0, sum = 0;
      for (const auto& [letter, columns] : kinds) {
        sum += columns[column];
        if (columns[column] > share) most = letter, share = columns[column];
      }
      constexpr char small = 'a' - 'A';
      content += most != ' ' && sum < 0.5 ? static_cast<char>(most + small) : most;
    }
    row(line_.lanes[lane], green, content);
  }

  // The most that is held in each column, of the limit or the peak.
  void add_memory() {
    const double full = static_cast<double>(std::max({line_.peak.count, line_.limit.count, std::int64_t{1}}));
    const double per_column = std::max(line_.step_time.ns(), 1e-9) / static_cast<double>(columns_);
    std::vector<double> held(columns_, 0);
    for (std::size_t i = 0; i < line_.memory.size(); ++i) {
      const double until = i + 1 < line_.memory.size() ? line_.memory[i + 1].time.ns() : line_.step_time.ns();
      auto column = static_cast<std::size_t>(line_.memory[i].time.ns() / per_column);
      for (; column < columns_ && (static_cast<double>(column) * per_column < until || i + 1 == line_.memory.size());
           ++column)
        held[column] = std::max(held[column], static_cast<double>(line_.memory[i].held.count) / full);
    }
    row("memory", grey, bars(held));
  }

  void add_axis() {
    const std::string middle = to_string(Nanoseconds::from_picoseconds(line_.step_time.picoseconds / 2));
    const std::string right = to_string(line_.step_time);
    std::string axis = fmt::format("{:<{}} 0", "", label_);
    const std::size_t half = label_ + 1 + columns_ / 2 - middle.size() / 2;
    axis += std::string(half > axis.size() ? half - axis.size() : 1, ' ') + middle;
    const std::size_t end = label_ + 1 + columns_ - right.size();
    axis += std::string(end > axis.size() ? end - axis.size() : 1, ' ') + right;
    text_ += axis + "\n";
  }

  void add_legend() {
    std::string legend;
    for (const auto& [letter, name] : names_)
      legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ", letter, name);
    text_ += fmt::format("step {}, exposed {}, communication hidden {:.0f} %, peak memory {}{}\n",
                         to_string(line_.step_time), to_string(line_.exposed), line_.hidden_share() * 100,
                         to_string(line_.peak), legend.empty() ? "" : "; " + legend);
  }

  const ShownTimeline& line_;
  bool colour_;
  std::size_t label_, columns_;
  std::map<char, std::string> names_;
  std::string text_;
};

}  // namespace

std::string overlap_picture(const ShownTimeline& line, const PictureOptions& options) {
  return Picture(line, options).draw();
}

}  // namespace hocket
