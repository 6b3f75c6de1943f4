// What a collective takes where it asks for a group: all that a GroupRef can be made of, and the place of the call in the
// caller's source, which messages name.
//
//   all_reduce(x, "sum", "dp"), all_reduce(x, "sum", {0, 1}), all_reduce(x, "sum", mesh["tp"]), all_reduce(x, "sum", {mesh, "tp"})
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>

#include "hocket/comm/call_site.h"
#include "hocket/comm/group_ref.h"

namespace hocket {

class GroupArg {
 public:
  using Site = CallSite;

  template <std::convertible_to<GroupRef> Group>
  GroupArg(const Group& group, Site site = Site::current()) : ref_(group), site_(site) {}
  GroupArg(std::initializer_list<std::int32_t> ranks, Site site = Site::current()) : ref_(ranks), site_(site) {}
  GroupArg(Mesh mesh, std::string dim, Site site = Site::current())
      : ref_(std::move(mesh), std::move(dim)), site_(site) {}

  const GroupRef& ref() const { return ref_; }
  const Site& site() const { return site_; }

 private:
  GroupRef ref_;
  Site site_;
};

}  // namespace hocket
