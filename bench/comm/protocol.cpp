#include "protocol.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace hocket::comm_bench {

namespace {

constexpr std::array<std::string_view, operator_count> operator_names = {"all_reduce", "all_gather", "reduce_scatter",
                                                                         "all_to_all", "broadcast",  "barrier"};
constexpr std::array<std::string_view, 4> task_names = {"check", "measure", "release", "quit"};
constexpr std::array<std::string_view, 5> answer_names = {"ready", "fine", "times", "unable", "failed"};
constexpr std::array<std::string_view, 2> buffer_names = {"private", "symmetric"};
constexpr std::array<std::string_view, 2> place_names = {"out_of_place", "in_place"};
constexpr std::array<std::string_view, 2> fill_names = {"nofill", "fill"};

// Takes the words of a line one after the other, and remembers the first that was not as expected.
class Words {
 public:
  explicit Words(std::string_view line) : line_(line), rest_(line) {}

  std::string_view next() {
    const std::size_t start = std::min(rest_.find_first_not_of(' '), rest_.size());
    const std::size_t end = std::min(rest_.find(' ', start), rest_.size());
    const std::string_view word = rest_.substr(start, end - start);
    rest_.remove_prefix(end);
    return word;
  }
  // What stands after the last word taken.
  std::string_view rest() const { return rest_.empty() ? rest_ : rest_.substr(1); }
  bool at_end() const { return rest_.find_first_not_of(' ') == std::string_view::npos; }

  template <class Names>
  std::size_t one_of(const Names& names, const char* what) {
    const std::string_view word = next();
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) {
      complain(word, fmt::format("{}: {}", what, fmt::join(names, ", ")));
      return 0;
    }
    return static_cast<std::size_t>(found - names.begin());
  }

  template <class Number>
  Number number(const char* what) {
    const std::string_view word = next();
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) complain(word, what);
    return value;
  }

  Status status() {
    if (problem_.empty() && !at_end()) complain(next(), "the end of the line");
    if (problem_.empty()) return {};
    return fail(ErrorKind::input, "\"{}\": {}", line_, problem_);
  }

 private:
  void complain(std::string_view got, std::string_view expected) {
    if (problem_.empty()) problem_ = fmt::format("got \"{}\", expected {}", got, expected);
  }

  std::string_view line_;
  std::string_view rest_;
  std::string problem_;
};

}  // namespace

std::string_view name_of(Operator op) { return operator_names[static_cast<std::size_t>(op)]; }

Result<Operator> operator_from_name(std::string_view name) {
  Words words(name);
  const auto op = static_cast<Operator>(words.one_of(operator_names, "an operator"));
  HOCKET_CHECK(words.status());
  return op;
}

std::string to_line(const Task& task) {
  const std::string_view kind = task_names[static_cast<std::size_t>(task.kind)];
  if (task.kind == Task::Kind::release || task.kind == Task::Kind::quit) return std::string(kind);
  return fmt::format("{} {} {} {} {} {} {} {}", kind, name_of(task.op), task.bytes,
                     buffer_names[static_cast<std::size_t>(task.buffers)], place_names[task.in_place ? 1 : 0],
                     fill_names[task.fill ? 1 : 0], task.repetitions, task.batch);
}

Result<Task> task_from_line(std::string_view line) {
  Words words(line);
  Task task;
  task.kind = static_cast<Task::Kind>(words.one_of(task_names, "a task"));
  if (task.kind == Task::Kind::check || task.kind == Task::Kind::measure) {
    task.op = static_cast<Operator>(words.one_of(operator_names, "an operator"));
    task.bytes = words.number<std::int64_t>("a number of bytes");
    task.buffers = static_cast<BufferKind>(words.one_of(buffer_names, "a kind of buffer"));
    task.in_place = words.one_of(place_names, "a place") == 1;
    task.fill = words.one_of(fill_names, "what is timed") == 1;
    task.repetitions = words.number<std::int32_t>("a number of repetitions");
    task.batch = words.number<std::int32_t>("a number of calls");
  }
  HOCKET_CHECK(words.status());
  return task;
}

std::string to_line(const Answer& answer) {
  std::string line(answer_names[static_cast<std::size_t>(answer.kind)]);
  for (const double ns : answer.ns) line += fmt::format(" {:.1f}", ns);
  if (!answer.text.empty()) line += " " + answer.text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

Result<Answer> answer_from_line(std::string_view line) {
  Words words(line);
  Answer answer;
  answer.kind = static_cast<Answer::Kind>(words.one_of(answer_names, "an answer"));
  if (answer.kind == Answer::Kind::times) {
    while (!words.at_end()) answer.ns.push_back(words.number<double>("a time in nanoseconds"));
  } else if (answer.kind != Answer::Kind::fine) {
    answer.text = words.rest();
    return answer;
  }
  HOCKET_CHECK(words.status());
  return answer;
}

Extent extent_of(Operator op, std::int64_t bytes, std::int32_t ranks) {
  constexpr auto element = static_cast<std::int64_t>(sizeof(float));
  const std::int64_t whole = std::max<std::int64_t>(1, bytes / element);
  const std::int64_t part = std::max<std::int64_t>(1, whole / ranks);
  switch (op) {
    case Operator::all_reduce:
    case Operator::broadcast: return {whole, whole, whole};
    case Operator::all_gather: return {part, part, part * ranks};
    case Operator::reduce_scatter: return {part, part * ranks, part};
    case Operator::all_to_all: return {part, part * ranks, part * ranks};
    case Operator::barrier: break;
  }
  return {};
}

}  // namespace hocket::comm_bench
