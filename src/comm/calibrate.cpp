// Ways to do the same are compared in turns, A B B A, so that a change of the machine's speed meets both; the median of the paired
// ratios decides. What wins is measured once more before it replaces a default: of many candidates one always looks good. If a host
// moves the cores closer to each other or farther apart meanwhile, what was measured after it counts for nothing.
#include "comm/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "comm/calibrate_choice.h"
#include "comm/calibrate_ranks.h"
#include "comm/flag.h"
#include "hocket/base/units.h"

namespace hocket {

namespace {

using Clock = std::chrono::steady_clock;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;
constexpr int comparisons = 73;  // of one calibration, the second looks included
constexpr int least_pairs = 3;
constexpr int most_pairs = 101;
constexpr double longest_sample = 500e-6;  // seconds; shorter communications are repeated up to this
constexpr int most_repeats = 64;

// Which calls a threshold is about.
struct Shape {
  Operator op = Operator::all_reduce;
  bool in_place = true;
  bool in_symmetric_memory = false;
  bool fills = false;
};

std::string text_of(std::int64_t bytes) { return bytes == Tuning::always ? "never" : to_string(Bytes(bytes)); }

class Calibrator {
 public:
  Calibrator(CalibrationRanks& ranks, std::int32_t count, double seconds)
      : ranks_(ranks),
        defaults_(Tuning::for_ranks(count, processor_count())),
        tuning_(defaults_),
        budget_(seconds / comparisons) {
    where_.measured_ranks = count;
  }

  Status look_where();  // before all others

  Status block();
  Status broadcast_block();
  Status whole_until();
  Status one_shot_until();
  Status streaming_from();
  Status pushing_streams_from();
  Status pulling_from();
  Status reading_from();

  Tuning tuning() const {
    Tuning tuning = tuning_;
    tuning.measured_ranks = where_.measured_ranks;
    tuning.round_ns = where_.round_ns;
    return tuning;
  }
  std::vector<TunedChoice> choices;

 private:
  using Set = std::function<void(Tuning&, std::int64_t size, bool other_way)>;
  // A threshold between two ways, as calls of these shapes see it.
  struct Question {
    std::string name;
    std::int64_t Tuning::*field;
    bool until;  // the one way up to the threshold; else below it
    Sizes sizes;
    std::vector<Shape> shapes;
    Set set;
    std::string one_way;
    std::string other_way;
  };

  Result<double> ratio(const Shape& shape, std::int64_t bytes, const Tuning& a, const Tuning& b);
  Result<double> ratio(const Question& question, std::int64_t size);
  // A call that the size of blocks is judged by.
  struct Use {
    Shape shape;
    std::int64_t bytes;
  };
  Result<double> ratio_of_block(std::int64_t Tuning::*field, std::int64_t block, std::span<const Use> uses);
  Status choose_block(std::string name, std::int64_t Tuning::*field, std::span<const Use> uses);
  Status answer(const Question& question);
  void choose(TunedChoice choice, std::int64_t Tuning::*field);

  CalibrationRanks& ranks_;
  Tuning defaults_;
  Tuning tuning_;
  Tuning where_;  // only with what all the others are measured with
  bool moved_ = false;
  double budget_;
};

Status Calibrator::look_where() {
  HOCKET_TRY(where_.round_ns, ranks_.round_ns());
  return {};
}

// The median of time with b over time with a; 1 if the cores were moved.
Result<double> Calibrator::ratio(const Shape& shape, std::int64_t bytes, const Tuning& a, const Tuning& b) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(budget_);
  std::array<Trial, 2> trials;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i] = {.op = shape.op,
                 .bytes = bytes,
                 .in_place = shape.in_place,
                 .in_symmetric_memory = shape.in_symmetric_memory,
                 .fills = shape.fills,
                 .tuning = i == 0 ? a : b};
    HOCKET_CHECK(ranks_.time(trials[i]));  // the first time touches new memory
  }
  HOCKET_TRY(const double once, ranks_.time(trials[0]));
  const double sample = std::min(longest_sample, budget_ / 20);
  const auto repeats = static_cast<std::int32_t>(std::clamp(sample / once, 1.0, double{most_repeats}));
  for (Trial& trial : trials) trial.repeats = repeats;
  std::vector<double> ratios;
  while (ratios.size() < least_pairs || (ratios.size() < most_pairs && Clock::now() < deadline)) {
    const std::size_t first = ratios.size() % 2;
    std::array<double, 2> seconds{};
    for (const std::size_t i : {first, 1 - first}) {
      HOCKET_TRY(seconds[i], ranks_.time(trials[i]));
    }
    ratios.push_back(seconds[1] / seconds[0]);
  }
  HOCKET_TRY(const std::int64_t now, ranks_.round_ns());
  if (where_.hold_at(where_.measured_ranks, now)) return median(std::move(ratios));
  moved_ = true;
  return 1;
}

void Calibrator::choose(TunedChoice choice, std::int64_t Tuning::*field) {
  if (moved_ && choice.after == choice.before) choice.why = "the cores were moved meanwhile: measure again";
  moved_ = false;
  tuning_.*field = choice.after;
  choices.push_back(std::move(choice));
}

// The other way over the one way; 1 where what one operator gains another one loses.
Result<double> Calibrator::ratio(const Question& question, std::int64_t size) {
  Tuning one = tuning_;
  Tuning other = tuning_;
  question.set(one, size, false);
  question.set(other, size, true);
  std::vector<double> ratios;
  for (const Shape& shape : question.shapes) {
    HOCKET_TRY(ratios.emplace_back(), ratio(shape, size, one, other));
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  const bool some_lose = least < 1 - least_gain && most > 1 + least_gain;
  return some_lose ? 1 : geometric_mean(ratios);
}

Status Calibrator::answer(const Question& question) {
  const std::int64_t before = tuning_.*question.field;
  const std::size_t from = question.until ? split_until(question.sizes, before) : split_from(question.sizes, before);
  std::vector<double> ratios;
  for (const std::int64_t size : question.sizes) {
    HOCKET_TRY(ratios.emplace_back(), ratio(question, size));
  }
  std::size_t to = choose_split(ratios, from);
  std::vector<double> gains;  // of the second look
  for (std::size_t i = std::min(from, to); i < std::max(from, to); ++i) {
    HOCKET_TRY(ratios[i], ratio(question, question.sizes[i]));
  }
  const std::size_t wanted = to;
  to = choose_split(ratios, from);
  // The second look may only take back what the first has chosen.
  if ((to > from) != (wanted > from) || to == from) to = from;
  else to = wanted > from ? std::min(to, wanted) : std::max(to, wanted);
  for (std::size_t i = std::min(from, to); i < std::max(from, to); ++i) {
    gains.push_back(to > from ? 1 / ratios[i] : ratios[i]);
  }
  TunedChoice choice{question.name, before, before, gains.empty() ? 1 : geometric_mean(gains), "nothing gains 5 %"};
  if (to != from) {
    choice.after =
        question.until ? threshold_until(question.sizes, to, before) : threshold_from(question.sizes, to, before);
    const std::string& better = to > from ? question.one_way : question.other_way;
    choice.why = fmt::format("{} is faster at {}", better, text_of(question.sizes[std::min(from, to)]));
    if (gains.size() > 1) choice.why += fmt::format(" to {}", text_of(question.sizes[std::max(from, to) - 1]));
  } else if (wanted != from) {
    choice.why = "a gain did not show again";
  }
  choose(std::move(choice), question.field);
  return {};
}

// Time with this block over time with the default; at least 1 if a single shape loses.
Result<double> Calibrator::ratio_of_block(std::int64_t Tuning::*field, std::int64_t block, std::span<const Use> uses) {
  Tuning with = defaults_;
  with.*field = block;
  std::vector<double> ratios;
  for (const Use& use : uses) {
    HOCKET_TRY(ratios.emplace_back(), ratio(use.shape, use.bytes, defaults_, with));
  }
  const bool loses = *std::max_element(ratios.begin(), ratios.end()) > 1 + least_gain;
  return loses ? std::max(1.0, geometric_mean(ratios)) : geometric_mean(ratios);
}

Status Calibrator::choose_block(std::string name, std::int64_t Tuning::*field, std::span<const Use> uses) {
  const std::int64_t before = defaults_.*field;
  TunedChoice choice{std::move(name), before, before, 1, "nothing gains 5 %"};
  std::int64_t best = before;
  double best_ratio = 1 - least_gain;
  for (const std::int64_t block : {32 * kib, 64 * kib, 128 * kib, 256 * kib}) {
    if (block == before) continue;
    HOCKET_TRY(const double found, ratio_of_block(field, block, uses));
    if (found >= best_ratio) continue;
    best = block;
    best_ratio = found;
  }
  if (best != before) {
    HOCKET_TRY(const double again, ratio_of_block(field, best, uses));
    const bool holds = again < 1 - least_gain;
    choice.why = holds ? "fastest of 32 KiB to 256 KiB in messages of 1 MiB and 4 MiB" : "a gain did not show again";
    choice.after = holds ? best : before;
    choice.ratio = holds ? again : 1;
  }
  choose(std::move(choice), field);
  return {};
}

Status Calibrator::block() {
  const std::vector<Use> uses = {
      {{Operator::all_reduce}, mib}, {{Operator::all_reduce}, 4 * mib}, {{Operator::all_gather, false}, 4 * mib}};
  return choose_block("block", &Tuning::block, uses);
}

Status Calibrator::broadcast_block() {
  const std::vector<Use> uses = {{{Operator::broadcast, false}, mib}, {{Operator::broadcast, false}, 4 * mib}};
  return choose_block("broadcast_block", &Tuning::broadcast_block, uses);
}

Status Calibrator::whole_until() {
  return answer({"whole_until",
                 &Tuning::whole_until,
                 true,
                 {32 * kib, 64 * kib, 128 * kib, 256 * kib, 512 * kib},
                 {{Operator::all_reduce}},
                 [](Tuning& tuning, std::int64_t size, bool blocks) { tuning.whole_until = blocks ? 0 : size; },
                 "one round",
                 "blocks"});
}

Status Calibrator::one_shot_until() {
  return answer({"one_shot_until",
                 &Tuning::one_shot_until,
                 true,
                 {16 * kib, 64 * kib, 256 * kib, mib, 4 * mib},
                 {{Operator::all_reduce}},
                 [](Tuning& tuning, std::int64_t, bool two) { tuning.one_shot_until = two ? 0 : Tuning::always; },
                 "one_shot",
                 "two_shot"});
}

Status Calibrator::streaming_from() {
  return answer(
      {"streaming_from",
       &Tuning::streaming_from,
       false,
       {mib, 4 * mib, 16 * mib, 32 * mib},
       {{Operator::all_reduce, false}, {Operator::all_gather, false}},
       [](Tuning& tuning, std::int64_t, bool streams) { tuning.streaming_from = streams ? 0 : Tuning::always; },
       "writing through the cache",
       "writing past the cache"});
}

Status Calibrator::pushing_streams_from() {
  return answer({"pushing_streams_from",
                 &Tuning::pushing_streams_from,
                 false,
                 {256 * kib, mib, 4 * mib, 16 * mib},
                 {{Operator::all_gather, false, true}, {Operator::broadcast, false, true}},
                 [](Tuning& tuning, std::int64_t, bool streams) {
                   tuning.pushing_streams_from = streams ? 0 : Tuning::always;
                   tuning.pulling_from = 0;  // or a broadcast would not push
                 },
                 "writing through the cache",
                 "writing past the cache"});
}

// Filled, because that is what pulling makes slower: twice as slow between cores that are far apart, while it gains a third between near
// ones. So it stays as it is where nobody would see that the cores have been moved.
Status Calibrator::pulling_from() {
  if (where_.round_ns == 0) {
    const std::int64_t kept = tuning_.pulling_from;
    choose({"pulling_from", kept, kept, 1, "not measured: ranks that share cores can't see how far apart these are"},
           &Tuning::pulling_from);
    return {};
  }
  return answer({"pulling_from",
                 &Tuning::pulling_from,
                 false,
                 {256 * kib, mib, 4 * mib, 16 * mib},
                 {{Operator::reduce_scatter, false, true, true}, {Operator::broadcast, true, true, true}},
                 [](Tuning& tuning, std::int64_t, bool pulls) { tuning.pulling_from = pulls ? 0 : Tuning::always; },
                 "copying through the slots",
                 "reading where it lies"});
}

Status Calibrator::reading_from() {
  return answer({"reading_from",
                 &Tuning::reading_from,
                 false,
                 {256 * kib, mib, 4 * mib, 16 * mib},
                 {{Operator::all_to_all, false}},
                 [](Tuning& tuning, std::int64_t, bool reads) { tuning.reading_from = reads ? 0 : Tuning::always; },
                 "copying through shared memory",
                 "reading by the kernel"});
}

}  // namespace

Result<Calibration> calibrate(std::int32_t ranks, const CalibrateOptions& options) {
  if (ranks < 2) return fail(ErrorKind::usage, "{} rank has nobody to talk to, expected 2 or more", ranks);
  HOCKET_TRY(const std::unique_ptr<CalibrationRanks> all, CalibrationRanks::start(ranks));
  Calibrator calibrator(*all, ranks, options.seconds);
  HOCKET_CHECK(calibrator.look_where());
  using Step = Status (Calibrator::*)();
  constexpr std::array<Step, calibration_steps> steps = {&Calibrator::block,          &Calibrator::broadcast_block,
                                                         &Calibrator::whole_until,    &Calibrator::one_shot_until,
                                                         &Calibrator::streaming_from, &Calibrator::pushing_streams_from,
                                                         &Calibrator::pulling_from,   &Calibrator::reading_from};
  for (const Step step : steps) {
    HOCKET_CHECK((calibrator.*step)());
    if (options.progress) options.progress();
  }
  return Calibration{ranks, calibrator.tuning(), std::move(calibrator.choices)};
}

}  // namespace hocket
