#include "schedule/guide_memory.h"

#include <algorithm>

namespace hocket::overlap {

void GuideMemory::reset(const std::vector<UnitIndex>& guide) {
  guide_ = guide;
  const std::size_t n = units_.size();
  position_.resize(n);
  for (std::uint32_t p = 0; p < n; ++p) position_[guide[p]] = p;
  done_.assign(n, false);
  next_ = 0;
  const std::size_t buffers = units_.buffers();
  touch_begin_.assign(buffers + 1, 0);
  left_.assign(buffers, 0);
  for (std::uint32_t b = 0; b < buffers; ++b) {
    left_[b] = static_cast<std::uint32_t>(units_.touched_by(b).size());
    touch_begin_[b + 1] = touch_begin_[b] + left_[b];
  }
  touch_at_.resize(touch_begin_.back());
  last_.assign(touch_begin_.begin(), touch_begin_.end() - 1);
  for (std::uint32_t p = 0; p < n; ++p) {
    for (const UnitTouch& touch : units_.touches(guide[p])) touch_at_[last_[touch.buffer]++] = p;
  }
  for (std::uint32_t b = 0; b < buffers; ++b) last_[b] = last_[b] > touch_begin_[b] ? last_[b] - 1 : touch_begin_[b];
  held_ = peak_ = units_.input_bytes();
  build();
}

// What is held at most while a unit runs now.
Size GuideMemory::live_while(UnitIndex u) const {
  const auto touches = units_.touches(u);
  const std::uint16_t rounds = units_.unit(u).rounds;
  if (rounds == 1) {
    Size live = held_;
    for (const UnitTouch& touch : touches) {
      if (left_[touch.buffer] == units_.touched_by(touch.buffer).size()) live += units_.bytes(touch.buffer);
    }
    return live;
  }
  rounds_.assign(rounds + 1U, 0);
  for (const UnitTouch& touch : touches) {
    const Size bytes = units_.bytes(touch.buffer);
    if (left_[touch.buffer] == units_.touched_by(touch.buffer).size()) rounds_[touch.first] += bytes;
    if (left_[touch.buffer] == 1 && !units_.kept(touch.buffer)) rounds_[touch.last + 1U] -= bytes;
  }
  Size live = held_;
  Size most = held_;
  for (std::uint16_t r = 0; r < rounds; ++r) most = std::max(most, live += rounds_[r]);
  return most;
}

// Walks the guide once for the profile, then undoes the walk.
void GuideMemory::build() {
  const std::size_t n = guide_.size();
  leaves_ = 1;
  while (leaves_ < n) leaves_ *= 2;
  tree_.assign(2 * leaves_, {0, nothing});
  guide_peak_ = held_;
  const Size start = held_;
  Size all = held_;  // held at this position by the rule that a unit touches all at once
  for (std::uint32_t p = 0; p < n; ++p) {
    const UnitIndex u = guide_[p];
    const Size exact = live_while(u);
    guide_peak_ = std::max(guide_peak_, exact);
    Size ends = 0;
    for (const UnitTouch& touch : units_.touches(u)) {
      const Size bytes = units_.bytes(touch.buffer);
      if (left_[touch.buffer] == units_.touched_by(touch.buffer).size()) {
        held_ += bytes;
        all += bytes;
      }
      if (--left_[touch.buffer] == 0 && !units_.kept(touch.buffer)) ends += bytes;
    }
    held_ -= ends;
    // The profile at p is the sum of the changes from p on; see below.
    tree_[leaves_ + p] = {all, exact - all};
    all -= ends;
  }
  for (std::uint32_t p = 0; p + 1 < n; ++p) tree_[leaves_ + p].sum -= tree_[leaves_ + p + 1].sum;
  for (std::uint32_t p = 0; p < n; ++p) tree_[leaves_ + p].best += tree_[leaves_ + p].sum;
  for (std::size_t node = leaves_; node-- > 1;) pull(node);
  held_ = start;
  for (std::uint32_t b = 0; b < units_.buffers(); ++b)
    left_[b] = static_cast<std::uint32_t>(units_.touched_by(b).size());
}

void GuideMemory::add(std::uint32_t position, Size change) {
  changes_.emplace_back(position, change);
  ++work_;
  const std::size_t leaf = leaves_ + position;
  tree_[leaf].sum += change;
  if (tree_[leaf].best > nothing / 2) tree_[leaf].best += change;
  changed_.push_back(leaf);
}

// What a run changes lies close together: the leaves share most of the nodes above them, and each is brought up to date once.
void GuideMemory::settle() {
  std::sort(changed_.begin(), changed_.end());
  while (!changed_.empty() && changed_[0] > 1) {
    std::size_t kept = 0;
    for (const std::size_t node : changed_) {
      const std::size_t parent = node / 2;
      if (kept > 0 && changed_[kept - 1] == parent) continue;
      pull(parent);
      changed_[kept++] = parent;
    }
    changed_.resize(kept);
  }
  changed_.clear();
}

// The bookkeeping of a run; the tree is told only what concerns units to come.
void GuideMemory::take(UnitIndex u) {
  const std::uint32_t p = position_[u];
  const bool in_turn = p == next_;
  changes_.clear();
  work_ += 2;
  done_[p] = true;
  for (const UnitTouch& touch : units_.touches(u)) {
    const std::uint32_t b = touch.buffer;
    const Size bytes = units_.bytes(b);
    if (left_[b] == units_.touched_by(b).size()) {
      held_ += bytes;
      if (!in_turn) add(p - 1, bytes);
    }
    --left_[b];
    if (units_.kept(b)) continue;
    const std::uint32_t old = touch_at_[last_[b]];
    if (left_[b] == 0) {
      held_ -= bytes;
      if (!in_turn) add(old, -bytes);
    } else if (old == p) {
      while (done_[touch_at_[last_[b]]]) --last_[b];
      add(old, -bytes);
      add(touch_at_[last_[b]], bytes);
    }
  }
  if (in_turn) {
    while (next_ < guide_.size() && done_[next_]) ++next_;
  } else {
    tree_[leaves_ + p].best = nothing;
    changed_.push_back(leaves_ + p);
  }
  settle();
}

Size GuideMemory::most_to_come() const {
  if (next_ >= guide_.size()) return nothing;
  std::size_t node = leaves_ + next_;
  Size best = tree_[node].best;
  for (; node > 1; node /= 2) {
    if (node % 2 != 0) continue;
    const Node& right = tree_[node + 1];
    best = std::max(right.best, right.sum + best);
  }
  return best;
}

void GuideMemory::give_back(UnitIndex u, Size leaf) {
  const std::uint32_t p = position_[u];
  work_ += 2 + changes_.size();
  done_[p] = false;
  tree_[leaves_ + p].best = leaf;
  for (const auto& [position, change] : changes_) {
    tree_[leaves_ + position].sum -= change;
    if (position != p && tree_[leaves_ + position].best > nothing / 2) tree_[leaves_ + position].best -= change;
    changed_.push_back(leaves_ + position);
  }
  changed_.push_back(leaves_ + p);
  settle();
  for (const UnitTouch& touch : units_.touches(u)) {
    const std::uint32_t b = touch.buffer;
    const Size bytes = units_.bytes(b);
    if (left_[b] == 0 && !units_.kept(b)) held_ += bytes;
    ++left_[b];
    if (left_[b] == units_.touched_by(b).size()) held_ -= bytes;
    if (units_.kept(b)) continue;
    // Its last touch may be this unit again.
    const std::uint32_t end = touch_begin_[b + 1];
    while (last_[b] + 1 < end && !done_[touch_at_[last_[b] + 1]]) ++last_[b];
    for (std::uint32_t i = end; i-- > last_[b] + 1;) {
      if (!done_[touch_at_[i]]) {
        last_[b] = i;
        break;
      }
    }
  }
}

bool GuideMemory::try_run(UnitIndex u, Size limit) {
  const std::uint32_t p = position_[u];
  const Size live = live_while(u);
  if (p != next_) {
    if (live > limit) return false;
    Size made = 0;
    for (const UnitTouch& touch : units_.touches(u)) {
      if (left_[touch.buffer] == units_.touched_by(touch.buffer).size()) made += units_.bytes(touch.buffer);
    }
    const Size leaf = tree_[leaves_ + p].best;
    const Size before = made > 0 ? most_to_come() : 0;
    take(u);
    if (made > 0 && before + made > limit && most_to_come() > limit) {
      give_back(u, leaf);
      return false;
    }
  } else {
    take(u);
  }
  peak_ = std::max(peak_, live);
  return true;
}

void GuideMemory::run(UnitIndex u) {
  peak_ = std::max(peak_, live_while(u));
  take(u);
}

}  // namespace hocket::overlap
