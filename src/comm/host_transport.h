// Collectives of ranks that share a host, be they processes or threads of one.
#pragma once

#include <memory>

#include "comm/algorithms.h"
#include "comm/symmetric_heap.h"
#include "comm/transport.h"
#include "comm/tuning.h"

namespace hocket {

class HostTransport final : public Transport {
 public:
  // `otherwise`: the thresholds while those of `tuning` do not hold.
  HostTransport(std::unique_ptr<Rounds> rounds, std::string_view name, const Tuning& tuning,
                const Tuning& otherwise = {})
      : rounds_(std::move(rounds)),
        heap_(*rounds_),
        name_(name),
        measured_(tuning),
        otherwise_(otherwise),
        tuning_(tuning) {}

  std::string_view name() const override { return name_; }
  Status run(const GroupCall& call) override;
  Result<SymmetricPlace> allocate(const GroupCall& call) override;
  void release(std::int64_t offset) override { heap_.release(offset); }
  void fail_all(const Error& error) override { rounds_->fail_all(error); }
  SymmetricHeap& heap() { return heap_; }
  Rounds& rounds() { return *rounds_; }
  const Rounds* local_rounds() const override { return rounds_.get(); }
  // For tests and measurements; all ranks do it between the same calls.
  void retune(const Tuning& tuning) { measured_ = tuning_ = tuning; }
  // The same as a call: how long its rounds take. Collective.
  Result<std::int64_t> time_rounds(const GroupCall& call);
  const Tuning& tuning() const { return tuning_; }

 private:
  Status run_small(const GroupCall& call);  // of one part, in a small slot
  Status run_rounds(const GroupCall& call);
  // Nothing if the buffers of some rank are not in symmetric memory.
  Result<bool> run_shared(const GroupCall& call);
  Status run_copying(const GroupCall& call);
  Result<bool> run_copying(const GroupCall& call, Cut cut, std::int64_t whole);
  Status choose_tuning(const GroupCall& call);
  std::int64_t small_slot_of(const GroupCall& call) const;
  Cut cut_of(const GroupCall& call, std::int64_t bytes) const;
  static Status check_algorithm(const GroupCall& call);
  // Whether to read what others have in their own memory.
  bool reads(const GroupCall& call, std::int64_t whole) const;

  std::unique_ptr<Rounds> rounds_;
  SymmetricHeap heap_;
  std::string_view name_;
  Tuning measured_;
  Tuning otherwise_;
  Tuning tuning_;  // one of the two, the same on all ranks
  std::int64_t until_next_look_ = 0;
  PeerReading reading_;
};

}  // namespace hocket
