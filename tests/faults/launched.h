// Ranks as processes that join one world, as hocket launch would start them, and what they tell each other besides.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <thread>

#include "comm/host_link.h"
#include "hocket/comm/world.h"
#include "support/processes.h"

namespace hocket {

// Runs body(rank) as a process for each rank, in which World::join() finds the others. Nothing of a world may have been used in
// this process before: the environment is read once.
std::vector<RankOutcome> run_launched(int ranks, const std::function<std::string(int)>& body,
                                      std::chrono::milliseconds timeout = std::chrono::seconds(20));
// The same at a place that the caller knows.
std::vector<RankOutcome> run_launched_at(const MeetingPlace& place, int ranks,
                                         const std::function<std::string(int)>& body,
                                         std::chrono::milliseconds timeout);
// Runs a body that uses threads as ranks in a process of its own, for the same reason.
std::string in_a_process(const std::function<std::string()>& body, std::chrono::milliseconds timeout);

// How long a test may take in real time is not known on a busy machine: measures how late sleeping threads were at worst, those of
// all processes that share the number.
class Metronome {
 public:
  explicit Metronome(std::atomic<std::int64_t>& worst);  // in ns
  ~Metronome();

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// The same on all processes of a machine.
std::int64_t now_ns();

// Memory that this process shares with all that it forks afterwards; zero at first.
template <class T>
class SharedPage {
 public:
  SharedPage();
  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  T* operator->() const { return data_; }
  T& operator*() const { return *data_; }

 private:
  T* data_;
};

void* map_shared(std::size_t bytes);
void unmap_shared(void* data, std::size_t bytes);

template <class T>
SharedPage<T>::SharedPage() : data_(new (map_shared(sizeof(T))) T()) {}
template <class T>
SharedPage<T>::~SharedPage() {
  unmap_shared(data_, sizeof(T));
}

}  // namespace hocket
