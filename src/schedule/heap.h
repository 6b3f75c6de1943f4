// Heaps in plain vectors, the smallest first.
#pragma once

#include <algorithm>
#include <functional>

namespace hocket::overlap {

template <class Heap, class Entry>
void push(Heap& heap, Entry entry) {
  heap.push_back(entry);
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

template <class Heap>
auto pop(Heap& heap) {
  std::pop_heap(heap.begin(), heap.end(), std::greater<>());
  auto entry = heap.back();
  heap.pop_back();
  return entry;
}

}  // namespace hocket::overlap
