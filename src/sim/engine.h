// The event loop of the simulator. Two kinds of events: a rank's compute lane gets to its next communication, and a communication
// ends. Both may be put off or brought forward when the rates of links or of computing change; then the old event no longer counts.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/cluster.h"

namespace hocket {

class Engine {
 public:
  Engine(const Cluster& cluster, const SimOptions& options);
  // All ranks to their ends, or as far as they get.
  void run();

  bool all_done() const { return done_ == ranks_.size(); }
  // Of a run that ended.
  SimResult result() const;

 private:
  using Picoseconds = double;  // whole numbers as long as every rate is 1: exact up to two hours

  // Something that takes time at a rate that may change.
  struct Work {
    Picoseconds left = 0, updated = 0;
    double rate = 1;
    std::uint32_t version = 0;  // of its event
    bool active = false;
  };
  struct RankState {
    Work work;              // of the compute lane
    std::size_t next = 0;   // step
    bool launched = false;  // the launch of the step is paid
    bool waits = false;     // for the step's collective
    Picoseconds waits_since = 0, stood = 0, done = 0;
    std::vector<std::uint32_t> in_flight;  // meetings whose collective runs now
  };
  struct Pending {
    std::size_t arrived = 0;
    Picoseconds time = 0;
  };
  struct MeetingState {
    std::uint32_t ended = 0;             // collectives that are over
    std::vector<Pending> pending;        // from `ended` on
    std::vector<std::uint32_t> waiting;  // ranks, for any of its collectives
    Work work;
  };
  struct Event {
    Picoseconds time;
    std::uint64_t number;  // events at the same time happen in the order in which they were made
    std::uint32_t index;   // rank or meeting
    std::uint32_t version;
    bool is_rank;
    bool operator>(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };

  Picoseconds compute_time(std::uint32_t rank, std::size_t step) const;
  void schedule(Work& work, std::uint32_t index, bool is_rank);
  void set_rate(Work& work, double rate, std::uint32_t index, bool is_rank);
  void advance(std::uint32_t rank);
  bool compute(std::uint32_t rank);
  void issue(std::uint32_t rank, const SimStep& step);
  void try_begin(std::uint32_t meeting);
  void end(std::uint32_t meeting);
  void change_load(std::uint32_t meeting, bool begins);
  void share_links(std::uint32_t meeting);
  std::vector<std::uint32_t> connected(std::uint32_t meeting) const;

  bool is_shown(std::uint32_t rank) const { return rank == shown_; }
  void note(std::vector<Nanoseconds>& column, const SimStep& step, Picoseconds time);
  void note_meeting(std::uint32_t meeting, bool begins);

  const Cluster& cluster_;
  const SimOptions& options_;
  std::uint32_t shown_;
  std::vector<double> factor_;  // by rank: of what it computes
  std::vector<RankState> ranks_;
  std::vector<MeetingState> meetings_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t event_count_ = 0, made_ = 0;
  Picoseconds now_ = 0;
  std::size_t done_ = 0;
  SimTimeline timeline_;
  std::vector<std::vector<std::uint32_t>> shown_collectives_;  // by lane and sequence: the step
};

}  // namespace hocket
