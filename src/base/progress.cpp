#include "hocket/base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "hocket/base/env.h"

namespace hocket {

namespace {

constexpr auto patience = std::chrono::seconds(1);  // work shorter than this shows no bar
constexpr auto redraw_every = std::chrono::milliseconds(100);
constexpr int default_width = 80;

// whole * done / total, for any total.
std::int64_t share(std::int64_t whole, std::int64_t done, std::int64_t total) {
  constexpr std::int64_t few = std::int64_t{1} << 40;
  return total < few ? whole * done / total : std::min(whole, done / (total / whole));
}

int terminal_width() { return Env::get().columns > 0 ? Env::get().columns : default_width; }

}  // namespace

Progress::Progress(std::string what, std::int64_t total)
    : what_(std::move(what)),
      total_(std::max<std::int64_t>(total, 1)),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_draw_(start_) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r{:{}}\r", "", terminal_width() - 1);
}

void Progress::advance(std::int64_t steps) {
  done_ = steps < total_ - done_ ? done_ + steps : total_;
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - start_ < patience || now - last_draw_ < redraw_every) return;
  last_draw_ = now;
  drawn_ = true;
  fmt::print(stderr, "\r{}", line(terminal_width() - 1));
  std::fflush(stderr);
}

std::string Progress::line(int width) const {
  const std::string count = fmt::format(" {:3} %  {}/{}", share(100, done_, total_), done_, total_);
  const int room = width - static_cast<int>(what_.size() + count.size()) - 4;  // two spaces and two brackets
  if (room < 4) return (what_ + count).substr(0, static_cast<std::size_t>(std::max(width, 0)));
  const auto filled = static_cast<int>(share(room, done_, total_));
  return fmt::format("{}  [{:#<{}}{:{}}]{}", what_, "", filled, "", room - filled, count);
}

}  // namespace hocket
