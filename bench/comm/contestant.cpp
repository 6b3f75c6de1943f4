#include "contestant.h"

#include <signal.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>

#include "processes.h"
#include "statistics.h"

namespace hocket::comm_bench {

namespace {

constexpr std::chrono::seconds quit_time{5};
constexpr std::chrono::milliseconds look_again{200};  // for programs that ended instead of coming

}  // namespace

Result<std::unique_ptr<Contestant>> Contestant::start(const Recipe& recipe, const Setting& setting,
                                                      const std::string& folder, Patience patience) {
  if (!recipe.absent.empty()) return fail(ErrorKind::usage, "{}", recipe.absent);
  std::unique_ptr<Contestant> contestant(new Contestant(recipe.title, folder, patience));
  if (const Status begun = contestant->begin(recipe, setting); !begun)
    return contestant->give_up(begun.error().to_string());
  return contestant;
}

Status Contestant::begin(const Recipe& recipe, const Setting& setting) {
  const std::string control = folder_ + "/control";
  HOCKET_TRY(LineListener listener, LineListener::at(control));
  HOCKET_TRY(const std::vector<Launch> launches, recipe.launches(setting, control, folder_));
  for (const Launch& launch : launches) {
    HOCKET_TRY(const pid_t pid, start_program(launch, folder_ + "/output"));
    launched_.push_back(pid);
  }
  return greet(listener, setting.ranks);
}

Result<LineSocket> Contestant::next_rank(LineListener& listener, Clock::time_point deadline) {
  for (;;) {
    Result<LineSocket> socket = listener.accept(std::min(deadline, Clock::now() + look_again));
    if (socket || interrupted()) return socket;
    for (const pid_t pid : launched_) {
      if (ends_within(pid, std::chrono::milliseconds(0)))
        return fail(ErrorKind::peer, "a program ended before all ranks were ready");
    }
    if (Clock::now() >= deadline)
      return fail(ErrorKind::peer, "not all ranks were ready after {} ms", patience_.start.count());
  }
}

Status Contestant::greet(LineListener& listener, std::int32_t ranks) {
  std::vector<std::optional<LineSocket>> ready(static_cast<std::size_t>(ranks));
  const auto deadline = Clock::now() + patience_.start;
  for (std::int32_t i = 0; i < ranks; ++i) {
    HOCKET_TRY(LineSocket socket, next_rank(listener, deadline));
    HOCKET_TRY(const std::string line, socket.receive(deadline));
    HOCKET_TRY(const Answer answer, answer_from_line(line));
    std::size_t rank = ready.size();
    std::from_chars(answer.text.data(), answer.text.data() + answer.text.size(), rank);
    if (answer.kind != Answer::Kind::ready || rank >= ready.size() || ready[rank])
      return fail(ErrorKind::peer, "a rank said \"{}\", expected ready and its number below {}", line, ranks);
    ready[rank] = std::move(socket);
  }
  for (auto& socket : ready) ranks_.push_back(std::move(*socket));
  return {};
}

Contestant::~Contestant() {
  for (LineSocket& rank : ranks_) std::ignore = rank.send(to_line(Task{}));
  if (alive()) {
    for (const pid_t pid : launched_) {
      if (!ends_within(pid, quit_time)) break;
    }
  }
  end_processes();
}

Result<Answer> Contestant::receive(std::size_t rank, Clock::time_point deadline) {
  HOCKET_TRY(const std::string line, ranks_[rank].receive(deadline));
  return answer_from_line(line);
}

Result<std::vector<Answer>> Contestant::ask(const std::string& line) {
  if (!alive()) return fail(ErrorKind::peer, "{}", failure_);
  for (LineSocket& rank : ranks_) {
    if (const Status sent = rank.send(line); !sent) return give_up(sent.error().to_string());
  }
  const auto deadline = Clock::now() + patience_.task;
  std::vector<Answer> answers;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    Result<Answer> answer = receive(rank, deadline);
    if (!answer) return give_up(fmt::format("rank {} at \"{}\": {}", rank, line, answer.error().to_string()));
    if (answer->kind == Answer::Kind::failed) return give_up(fmt::format("rank {}: {}", rank, answer->text));
    answers.push_back(std::move(*answer));
  }
  for (const Answer& answer : answers) {
    if (answer.kind == Answer::Kind::unable) return fail(ErrorKind::usage, "{}", answer.text);
  }
  return answers;
}

Result<std::vector<double>> Contestant::measure(const Task& task) {
  HOCKET_TRY(const std::vector<Answer> answers, ask(task));
  std::vector<std::vector<double>> microseconds;
  for (const Answer& answer : answers) {
    if (answer.ns.size() != static_cast<std::size_t>(task.repetitions))
      return give_up(fmt::format("gave {} times, expected {}", answer.ns.size(), task.repetitions));
    auto& times = microseconds.emplace_back(answer.ns);
    for (double& time : times) time /= 1e3;
  }
  return slowest_of_ranks(microseconds);
}

tl::unexpected<Error> Contestant::give_up(const std::string& why) {
  failure_ = why;
  if (!interrupted()) failure_ += last_words();
  end_processes();
  return fail(ErrorKind::peer, "{}", failure_);
}

void Contestant::end_processes() {
  // Launchers put the ranks into groups of their own, so these are ended one by one; they are no children of ours.
  for (const LineSocket& rank : ranks_) {
    if (const auto pid = rank.peer(); pid && !alive()) kill(*pid, SIGKILL);
  }
  ranks_.clear();
  for (const pid_t pid : launched_) {
    if (!ends_within(pid, std::chrono::milliseconds(0))) end_group(pid);
  }
  launched_.clear();
}

std::string Contestant::last_words() const {
  std::ifstream file(folder_ + "/output");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t shown = 600;
  if (text.empty()) return "";
  return "; it printed:\n" + text.substr(text.size() - std::min(shown, text.size()));
}

}  // namespace hocket::comm_bench
