#include <mutex>
#include <utility>

#include "hocket/comm/world.h"

namespace hocket {

namespace {

thread_local const World* world_of_thread = nullptr;

}  // namespace

// Refers to the world without keeping it: a rank leaves when its program lets go.
struct World::Joined {
  std::mutex mutex;
  std::weak_ptr<State> last;

  static Joined& instance() {
    static Joined joined;
    return joined;
  }
};

void World::make_current() const {
  Joined& joined = Joined::instance();
  const std::lock_guard lock(joined.mutex);
  joined.last = state_;
}

Result<World> World::current() {
  if (world_of_thread != nullptr) return *world_of_thread;
  Joined& joined = Joined::instance();
  const std::lock_guard lock(joined.mutex);
  if (std::shared_ptr<State> state = joined.last.lock()) return World(std::move(state));
  return fail(ErrorKind::usage,
              "this process is in no world: call World::join() first and keep what it returns, or, where ranks are "
              "threads, make a WorldScope of the rank's world");
}

WorldScope::WorldScope(World world) : world_(std::move(world)), outer_(std::exchange(world_of_thread, &world_)) {}

WorldScope::~WorldScope() { world_of_thread = outer_; }

}  // namespace hocket
