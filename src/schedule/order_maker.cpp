#include "schedule/order_maker.h"

#include <algorithm>
#include <functional>

#include "schedule/heap.h"
#include "schedule/urgency.h"

namespace hocket::overlap {

namespace {

constexpr int most_trials = 4;   // of ready compute that might not fit into memory
constexpr Size taper_parts = 3;  // a bucket that tapers takes no more than one part in so many of what is left
constexpr std::size_t waits_looked_at = 8;  // of those that arrive first
constexpr int most_fillers = 12;            // that are looked at for one that fits into a gap
constexpr std::size_t patience = 3;         // units that run before a collective that did not fit is tried again

}  // namespace

OrderMaker::OrderMaker(const UnitGraph& units) : units_(units), memory_(units), progress_(units) {
  const auto classes = static_cast<std::uint32_t>(units.classes().size());
  queues_.resize(classes + units.lanes());
  queues_of_.resize(units.lanes());
  for (std::uint32_t lane = 0; lane < units.lanes(); ++lane) {
    queues_[classes + lane].lane = lane;
    queues_of_[lane].push_back(classes + lane);
  }
  std::vector<bool> known(classes, false);
  for (UnitIndex u = 0; u < units.size(); ++u) {
    const Unit& unit = units.unit(u);
    if (unit.kind != StepKind::collective || unit.merge_class == no_class || known[unit.merge_class]) continue;
    known[unit.merge_class] = true;
    queues_[unit.merge_class].lane = unit.lane;
    queues_[unit.merge_class].merge_class = unit.merge_class;
    queues_of_[unit.lane].push_back(unit.merge_class);
  }
}

void OrderMaker::start(const std::vector<UnitIndex>& guide, const Recipe& recipe) {
  recipe_ = &recipe;
  memory_.reset(guide);
  made_ = {};
  made_.order.reserve(units_.size());
  made_.begin.assign(units_.size(), 0);
  now_ = 0;
  missing_.resize(units_.size());
  end_.assign(units_.size(), 0);
  lane_free_.assign(units_.lanes(), 0);
  compute_.clear();
  waits_.clear();
  parked_.clear();
  for (Queue& queue : queues_) {
    queue.heap.clear();
    queue.pending = queue.remaining = 0;
    queue.issued = 0;
    queue.retry = 0;
  }
  left_ = 0;
  for (UnitIndex u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_.unit(u);
    left_ += unit.compute;
    if (unit.kind == StepKind::collective && unit.merge_class != no_class)
      queues_[unit.merge_class].remaining += unit.moved;
    missing_[u] = static_cast<std::uint32_t>(units_.before(u).size());
  }
  far_sighted_ = recipe.ahead > 0 || recipe.window > 0;
  if (far_sighted_) progress_.reset(guide);
  ahead_ = static_cast<Time>(recipe.ahead * static_cast<double>(progress_.total()));
  for (UnitIndex u = 0; u < units_.size(); ++u) {
    if (missing_[u] == 0) make_ready(u);
  }
  bucket_time_ = bucket_times(units_, recipe.bucket);
  if (recipe.clear) list_to_come();
}

void OrderMaker::list_to_come() {
  to_come_.assign(units_.lanes(), {});
  for (UnitIndex u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_.unit(u);
    if (unit.kind == StepKind::collective) to_come_[unit.lane].push_back({(*recipe_->priority)[u], u});
  }
  for (auto& list : to_come_) std::sort(list.begin(), list.end(), std::greater<>());
}

// Collectives that may be merged wait in the queue of their class, the others in their lane's.
OrderMaker::Queue& OrderMaker::queue_of(const Unit& unit) {
  const std::size_t classes = units_.classes().size();
  return queues_[unit.merge_class == no_class ? classes + unit.lane : unit.merge_class];
}

void OrderMaker::make_ready(UnitIndex u) {
  const Unit& unit = units_.unit(u);
  const Time priority = (*recipe_->priority)[u];
  if (unit.kind == StepKind::wait) {
    push(waits_, Entry{end_[unit.partner], u});
  } else if (unit.kind == StepKind::collective) {
    Queue& queue = queue_of(unit);
    queue.pending += unit.moved;
    push(queue.heap, Entry{priority, u});
  } else if (recipe_->ahead > 0 && progress_.takes(u) && progress_.place(u) > progress_.progress() + ahead_) {
    push(parked_, Entry{progress_.place(u), u});
  } else {
    push(compute_, Entry{priority, u});
  }
}

void OrderMaker::release_parked() {
  while (!parked_.empty() && parked_.front().key <= progress_.progress() + ahead_) {
    const UnitIndex u = pop(parked_).unit;
    if (!memory_.done(u)) push(compute_, Entry{(*recipe_->priority)[u], u});
  }
}

void OrderMaker::finish(UnitIndex u) {
  made_.order.push_back(u);
  left_ -= units_.unit(u).compute;
  for (const UnitIndex later : units_.after(u)) {
    if (--missing_[later] == 0) make_ready(later);
  }
}

void OrderMaker::run_arrived() {
  while (!waits_.empty() && waits_.front().key <= now_) {
    const UnitIndex wait = pop(waits_).unit;
    memory_.run(wait);  // holds nothing new
    made_.begin[wait] = now_;
    now_ += units_.unit(wait).compute;
    finish(wait);
  }
}

Size OrderMaker::cap_of(const Queue& queue) const {
  if (recipe_->bucket.empty() || queue.merge_class == no_class) return 0;
  Size cap = recipe_->bucket[queue.merge_class];
  if (const Size ramp = recipe_->ramp[queue.merge_class]; ramp > 0 && queue.issued < 20)
    cap = std::min(cap, ramp << queue.issued);
  // Once nothing more is to come, one bucket ends sooner than several.
  if (recipe_->taper[queue.merge_class] && queue.pending < queue.remaining)
    cap = std::min(cap, queue.remaining / taper_parts);
  return cap;
}

Time OrderMaker::next_time(const Queue& queue) const {
  const Time first = units_.unit(queue.heap.front().unit).comm;
  const Size cap = cap_of(queue);
  if (cap == 0 || queue.pending < units_.unit(queue.heap.front().unit).moved * 2) return first;
  return std::max(first, bucket_time_[queue.merge_class]);
}

// Takes memory that is needed only later? What else the lane could do meanwhile is counted in.
bool OrderMaker::too_early(const Queue& queue) const {
  const UnitIndex first = queue.heap.front().unit;
  if (recipe_->window <= 0) return false;
  const Time need = progress_.need(first);
  if (need == 0) return false;
  Time others = 0;
  for (const std::uint32_t index : queues_of_[queue.lane]) {
    const Queue& other = queues_[index];
    if (other.heap.empty() || progress_.need(other.heap.front().unit) != 0) continue;
    others = std::max(others, next_time(other));
  }
  const Time backlog = std::max<Time>(0, lane_free_[queue.lane] - now_);
  const auto own = static_cast<Time>(recipe_->window * static_cast<double>(next_time(queue)));
  return need - progress_.progress() > own + others + backlog;
}

bool OrderMaker::waits_for_more(const Queue& queue) const {
  if (recipe_->bucket.empty() || queue.merge_class == no_class) return false;
  const Size rest = queue.remaining / recipe_->parts[queue.merge_class];
  return queue.pending < std::min(recipe_->hold[queue.merge_class], rest);
}

bool OrderMaker::before(const Queue& a, const Queue& b) const {
  if (recipe_->window > 0) {
    const bool a_needed = progress_.need(a.heap.front().unit) > 0;
    const bool b_needed = progress_.need(b.heap.front().unit) > 0;
    if (a_needed != b_needed) return a_needed;
    if (a_needed && progress_.need(a.heap.front().unit) != progress_.need(b.heap.front().unit))
      return progress_.need(a.heap.front().unit) < progress_.need(b.heap.front().unit);
  }
  return b.heap.front() > a.heap.front();
}

// While there is something to compute, everything is held back as the recipe says; while there is only something to wait for, what
// is patient.
bool OrderMaker::held_back(const Queue& queue) const {
  if (compute_.empty())
    return !waits_.empty() && !recipe_->bucket.empty() && queue.merge_class != no_class &&
           recipe_->is_patient(queue.merge_class) && waits_for_more(queue);
  return queue.retry > made_.order.size() || too_early(queue) || waits_for_more(queue);
}

// Urgencies are times: what is most urgent of all that can run or is under way tells when something else is due.
bool OrderMaker::in_the_way(const Queue& queue) {
  auto& list = to_come_[queue.lane];
  while (!list.empty() && memory_.done(list.back().unit)) list.pop_back();
  const Time own = queue.heap.front().key;
  const auto next = std::find_if(list.rbegin(), list.rend(), [&](const Entry& entry) {
    return entry.key >= own || (missing_[entry.unit] > 0 && !memory_.done(entry.unit));
  });
  if (next == list.rend() || next->key >= own) return false;
  Time urgent = std::numeric_limits<Time>::max();
  Time at = now_;
  if (!compute_.empty()) urgent = compute_.front().key;
  for (std::size_t i = 0; i < std::min(waits_looked_at, waits_.size()); ++i) {
    if (const Time priority = (*recipe_->priority)[waits_[i].unit]; priority < urgent) {
      urgent = priority;
      at = waits_[i].key;
    }
  }
  if (urgent > next->key) return false;
  return std::max(now_, lane_free_[queue.lane]) + next_time(queue) > at + (next->key - urgent);
}

bool OrderMaker::issue_from(Queue& queue) {
  if (queue.heap.empty() || !memory_.try_run(queue.heap.front().unit, recipe_->limit)) return false;
  std::vector<UnitIndex> bucket;
  const Size cap = cap_of(queue);
  Size moved = 0;
  const auto take = [&] {
    const UnitIndex u = take_first(queue.heap).unit;
    bucket.push_back(u);
    moved += units_.unit(u).moved;
    made_.begin[u] = now_;
    now_ += units_.unit(u).compute;
  };
  take();
  while (cap > 0 && !queue.heap.empty() && moved + units_.unit(queue.heap.front().unit).moved <= cap) {
    if (!memory_.try_run(queue.heap.front().unit, recipe_->limit)) break;
    take();
  }
  queue.pending -= moved;
  queue.remaining -= moved;
  ++queue.issued;
  const Time comm = bucket.size() == 1 ? units_.unit(bucket[0]).comm : units_.merged_time(queue.merge_class, moved);
  const Time end = std::max(now_, lane_free_[queue.lane]) + comm;
  lane_free_[queue.lane] = end;
  for (const UnitIndex u : bucket) end_[u] = end;
  for (const UnitIndex u : bucket) finish(u);
  if (bucket.size() > 1) made_.buckets.push_back(std::move(bucket));
  return true;
}

bool OrderMaker::issue_best(std::uint32_t lane) {
  for (const std::uint32_t index : queues_of_[lane]) queues_[index].refused = false;
  for (;;) {
    Queue* best = nullptr;
    for (const std::uint32_t index : queues_of_[lane]) {
      Queue& queue = queues_[index];
      if (queue.heap.empty() || queue.refused || held_back(queue)) continue;
      if (best == nullptr || before(queue, *best)) best = &queue;
    }
    if (best == nullptr || (recipe_->clear && in_the_way(*best))) return false;
    if (issue_from(*best)) return true;
    best->refused = true;
    best->retry = made_.order.size() + patience;
  }
}

bool OrderMaker::issue_all(Time until) {
  bool any = false;
  for (std::uint32_t lane = 0; lane < units_.lanes(); ++lane) {
    while (lane_free_[lane] <= until && issue_best(lane)) any = true;
  }
  return any;
}

// A unit that was forced stays in its heap until it comes to the front: looking for it would cost as much as the heap is large.
void OrderMaker::drop_done(std::vector<Entry>& heap) const {
  while (!heap.empty() && memory_.done(heap.front().unit)) pop(heap);
}

OrderMaker::Entry OrderMaker::take_first(std::vector<Entry>& heap) const {
  const Entry first = pop(heap);
  drop_done(heap);
  return first;
}

void OrderMaker::compute(UnitIndex u) {
  const Time time = units_.unit(u).compute;
  made_.begin[u] = now_;
  now_ += time;
  finish(u);
}

bool OrderMaker::compute_one() {
  Entry unfit[most_trials];
  int trials = 0;
  bool found = false;
  while (!compute_.empty() && trials < most_trials) {
    const Entry entry = take_first(compute_);
    if (memory_.try_run(entry.unit, recipe_->limit)) {
      compute(entry.unit);
      found = true;
      break;
    }
    unfit[trials++] = entry;
  }
  for (int i = 0; i < trials; ++i) push(compute_, unfit[i]);
  return found;
}

// How long until a wait arrives that is more urgent than this; 0 if none of the next ones is.
Time OrderMaker::time_to_urgent(Time than) const {
  Time soonest = std::numeric_limits<Time>::max();
  for (std::size_t i = 0; i < std::min(waits_looked_at, waits_.size()); ++i) {
    if ((*recipe_->priority)[waits_[i].unit] < than) soonest = std::min(soonest, waits_[i].key);
  }
  return soonest == std::numeric_limits<Time>::max() ? 0 : soonest - now_;
}

// All that is ready can wait, and something urgent arrives soon. A step that takes longer than that would hold it up, and cover less than
// it could elsewhere.
OrderMaker::Filled OrderMaker::fill() {
  if (!recipe_->fit || compute_.empty()) return Filled::nothing;
  const Time gap = time_to_urgent(compute_.front().key);
  const Time first = units_.unit(compute_.front().unit).compute;
  if (gap <= 0 || first <= gap) return Filled::nothing;
  Entry longer[most_fillers];
  int looked_at = 0;
  Filled filled = Filled::nothing;
  while (!compute_.empty() && looked_at < most_fillers) {
    const Entry entry = take_first(compute_);
    if (units_.unit(entry.unit).compute <= gap && memory_.try_run(entry.unit, recipe_->limit)) {
      compute(entry.unit);
      filled = Filled::ran;
      break;
    }
    longer[looked_at++] = entry;
  }
  for (int i = 0; i < looked_at; ++i) push(compute_, longer[i]);
  if (filled == Filled::nothing && recipe_->idle > 0 &&
      static_cast<double>(first) > recipe_->idle * static_cast<double>(gap)) {
    now_ += gap;
    filled = Filled::idled;
  }
  return filled;
}

// Nothing that is ready fits: the guide's next goes, whatever it is.
void OrderMaker::force() {
  const UnitIndex u = memory_.next();
  const Unit& unit = units_.unit(u);
  if (unit.kind == StepKind::compute) {
    memory_.run(u);
    drop_done(compute_);
    compute(u);
  } else if (unit.kind == StepKind::collective) {
    Queue& queue = queue_of(unit);
    memory_.run(u);
    drop_done(queue.heap);
    made_.begin[u] = now_;
    now_ += unit.compute;
    queue.pending -= unit.moved;
    queue.remaining -= unit.moved;
    lane_free_[unit.lane] = end_[u] = std::max(now_, lane_free_[unit.lane]) + unit.comm;
    finish(u);
  } else {
    now_ = std::max(now_, end_[unit.partner]);
  }
}

MadeOrder OrderMaker::make(const std::vector<UnitIndex>& guide, const Recipe& recipe) {
  start(guide, recipe);
  while (made_.order.size() < units_.size()) {
    if (now_ + left_ >= recipe.give_up) {
      made_.finished = false;
      return std::move(made_);
    }
    run_arrived();
    if (made_.order.size() == units_.size()) break;
    if (far_sighted_) progress_.advance(memory_);
    release_parked();
    Time until = now_;
    if (!compute_.empty()) until += units_.unit(compute_.front().unit).compute;
    else if (!waits_.empty()) until = waits_.front().key;
    if (issue_all(until)) continue;
    if (fill() != Filled::nothing) continue;
    if (compute_one()) continue;
    const UnitIndex next = memory_.next();
    const bool can_wait = compute_.empty() || units_.unit(next).kind == StepKind::wait;
    if (can_wait && !waits_.empty()) {
      now_ = std::max(now_, waits_.front().key);
      continue;
    }
    force();
  }
  made_.time = now_;
  for (const Time free : lane_free_) made_.time = std::max(made_.time, free);
  made_.peak = memory_.peak();
  made_.end = end_;
  return std::move(made_);
}

}  // namespace hocket::overlap
