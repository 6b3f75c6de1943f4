// All ranks of a world, as threads of this process or as processes of their own, for tests of what they do together.
//
//   expect_well(Kind::threads, 4, [](World& world, Complaints& complaints) { … complaints.add("rank {} got {}", …); });
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/sanitizers.h"
#include "hocket/comm/world.h"

namespace hocket {

// `hosts`: threads, of which every second one is on another host.
enum class Kind { threads, processes, hosts };
inline constexpr Kind both_kinds[] = {Kind::threads, Kind::processes};
inline constexpr Kind all_kinds[] = {Kind::threads, Kind::processes, Kind::hosts};
const char* name_of(Kind kind);

// ThreadSanitizer starts no threads in a process that was forked from one with threads: under it all ranks are threads.
inline constexpr bool ranks_may_be_processes = !under_thread_sanitizer;

// What one rank found wrong. Expectations of gtest don't reach out of a process.
class Complaints {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    add_text(fmt::format(format, std::forward<Args>(args)...));
  }
  template <class T>
  bool well(const Result<T>& result, std::string_view what) {
    if (!result) add("{}: {}", what, result.error().message);
    return result.has_value();
  }
  bool well(const Work& work, std::string_view what) { return well(work.wait(), what); }
  bool none() const { return count_ == 0; }
  std::string text() const;

 private:
  void add_text(const std::string& text);
  std::string first_;
  int count_ = 0;
};

using RankBody = std::function<void(World&, Complaints&)>;

// What each rank says, by rank: what its body returned.
std::vector<std::string> run_world(Kind kind, std::int32_t ranks, const std::function<std::string(World&)>& body,
                                   WorldOptions options = {});
// Fails the test if a rank complains.
void expect_well(Kind kind, std::int32_t ranks, const RankBody& body);

CallOptions blocking();
CallOptions within(std::chrono::milliseconds timeout);

// A communicator, or the end of the test: for groups that can't fail to come together.
Communicator group_of(const World& world, const GroupRef& ref = "world");

}  // namespace hocket
