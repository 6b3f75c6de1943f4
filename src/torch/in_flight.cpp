#include "torch/in_flight.h"

#include <mutex>
#include <vector>

namespace hocket {

namespace {

// The weak reference keeps the address from being used again.
struct Entry {
  c10::weak_intrusive_ptr<c10::StorageImpl> memory;
  std::shared_ptr<Communication> communication;
};

struct Registry {
  std::mutex mutex;
  std::vector<Entry> entries;  // those that are over go when there is a new one

  static Registry& instance() {
    static Registry registry;
    return registry;
  }
};

// One that failed stays as long as its memory, so that whoever asks learns of it.
bool is_over(const Entry& entry) {
  return entry.communication->complete() || (entry.memory.expired() && entry.communication->done());
}

}  // namespace

void note_in_flight(const at::Tensor& tensor, const std::shared_ptr<Communication>& communication) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  std::erase_if(registry.entries, is_over);
  registry.entries.push_back({tensor.storage().getWeakStorageImpl(), communication});
}

void wait_for_memory_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const c10::StorageImpl* memory = tensor.storage().unsafeGetStorageImpl();
  std::vector<std::shared_ptr<Communication>> its;
  Registry& registry = Registry::instance();
  {
    const std::lock_guard lock(registry.mutex);
    for (const Entry& entry : registry.entries) {
      if (entry.memory._unsafe_get_target() == memory) its.push_back(entry.communication);
    }
  }
  for (const auto& communication : its) communication->wait();
}

}  // namespace hocket
