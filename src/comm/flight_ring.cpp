#include "comm/flight_ring.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace hocket {

namespace {

constexpr std::size_t finished_word = offsetof(FlightRecord, finished) / sizeof(std::uint64_t);

}  // namespace

double ticks_per_second() {
#if defined(__x86_64__)
  static const double rate = [] {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const std::uint64_t first = ticks();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::uint64_t last = ticks();
    return static_cast<double>(last - first) / std::chrono::duration<double>(Clock::now() - start).count();
  }();
  return rate;
#else
  return 1e9;
#endif
}

void FlightRing::begin(const GroupCall& call, CollectiveAlgorithm used) {
  FlightRecord record{call.facts(), ticks(), 0};
  record.call.file = index_of(call);
  record.call.used = used;
  std::array<std::uint64_t, words> from;
  std::memcpy(from.data(), &record, sizeof record);
  Words& to = records_[call.number % size];
  for (std::size_t i = 0; i < words; ++i) to[i].store(from[i], std::memory_order_relaxed);
  begun_.store(call.number, std::memory_order_release);
}

std::uint16_t FlightRing::index_of(const GroupCall& call) {
  if (call.site.file == last_file_) return last_index_;
  const std::string_view file = call.file().substr(0, sizeof(Name::text) - 1);
  std::uint16_t index = 0;
  while (index < most_files && files_[index].ready.load(std::memory_order_relaxed) != 0 && files_[index].text != file) {
    ++index;
  }
  if (index < most_files && files_[index].ready.load(std::memory_order_relaxed) == 0) {
    std::copy(file.begin(), file.end(), files_[index].text);  // the rest is zero
    files_[index].ready.store(1, std::memory_order_release);
  }
  last_file_ = call.site.file;
  last_index_ = index;
  return index;
}

void FlightRing::finish(std::uint64_t number) {
  records_[number % size][finished_word].store(ticks(), std::memory_order_relaxed);
  finished_.store(number, std::memory_order_release);
}

FlightRecord FlightRing::read(std::uint64_t number) const {
  std::array<std::uint64_t, words> to;
  const Words& from = records_[number % size];
  for (std::size_t i = 0; i < words; ++i) to[i] = from[i].load(std::memory_order_relaxed);
  FlightRecord record;
  std::memcpy(&record, to.data(), sizeof record);
  return record;
}

std::string FlightRing::file_of(const FlightRecord& record) const {
  const Name& name = files_[std::min(record.call.file, most_files)];
  return name.ready.load(std::memory_order_acquire) != 0 ? name.text : "a source file";
}

std::string FlightRing::describe(std::uint64_t number) const {
  const FlightRecord record = read(number);
  return hocket::describe(record.call, file_of(record));
}

}  // namespace hocket
