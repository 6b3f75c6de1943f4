#include <map>
#include <mutex>

#include "comm/wire.h"

namespace hocket {

namespace {

struct ProvidedWires {
  std::mutex mutex;
  std::map<Launcher, WireOpener> openers;

  // Made when it is first asked for, which may be before this file's own static objects are.
  static ProvidedWires& get() {
    static ProvidedWires all;
    return all;
  }
};

}  // namespace

void provide_wire(Launcher launcher, WireOpener opener) {
  ProvidedWires& all = ProvidedWires::get();
  const std::lock_guard lock(all.mutex);
  all.openers[launcher] = opener;
}

WireOpener provided_wire(Launcher launcher) {
  ProvidedWires& all = ProvidedWires::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.openers.find(launcher);
  return found == all.openers.end() ? nullptr : found->second;
}

}  // namespace hocket
