#include <set>

#include "hocket/report/kineto.h"
#include "report/shown_steps.h"

namespace hocket {

namespace {

// "aten.add.Tensor(f32[4])" as the profiler would say it: "aten.add(f32[4])".
std::string without_overload(const std::string& key) {
  const std::size_t open = key.find('(');
  const std::size_t last = key.rfind('.', open);
  const std::size_t first = key.find('.');
  return last == std::string::npos || last == first ? key : key.substr(0, last) + key.substr(open);
}

class Matcher {
 public:
  explicit Matcher(const KinetoTrace& trace) : trace_(trace) {}

  template <class Calls>
  KinetoMatch match(Calls calls) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls.takes_nothing(i)) continue;
      if (const Collective* comm = calls.collective(i))
        match_collective(std::string(calls.name(i)), *comm, calls.moved(i, *comm),
                         static_cast<std::int64_t>(calls.ranks(*comm).size()));
      else match_call(calls.key(i));
    }
    return std::move(match_);
  }

 private:
  void match_call(const std::string& key) {
    if (!seen_.insert(key).second) return;
    const auto found = trace_.calls.find(without_overload(key));
    if (found != trace_.calls.end() && match_.profile.set_call(key, found->second.median)) {
      ++match_.found;
      return;
    }
    constexpr std::size_t most = 5;
    ++match_.missing;
    if (match_.examples.size() < most) match_.examples.push_back(key);
  }

  void match_collective(std::string name, const Collective& comm, Bytes moved, std::int64_t ranks) {
    for (const KinetoCollective& one : trace_.collectives) {
      if (one.kind != comm.kind || one.moved != moved || (one.ranks != 0 && one.ranks != ranks)) continue;
      match_.profile.set_name(std::move(name), one.median);
      ++match_.collectives_found;
      return;
    }
    ++match_.collectives_missing;
  }

  const KinetoTrace& trace_;
  KinetoMatch match_;
  std::set<std::string> seen_;
};

}  // namespace

KinetoMatch profile_of(const KinetoTrace& trace, const Subject& subject) {
  return std::visit([&](const auto& form) { return Matcher(trace).match(calls_of(form)); }, subject);
}

}  // namespace hocket
