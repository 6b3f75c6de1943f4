// Where the ranks of one host find each other, whoever started them.
//
//   HOCKET_TRY(const LaunchInfo info, launch_info());
//   HOCKET_TRY(const MeetingPlace place, meeting_place(info));
//   HOCKET_TRY(HostLink link, HostLink::meet(place, *info.local_rank, *info.local_size, deadline));
#pragma once

#include <string>

#include "comm/host_link.h"
#include "hocket/comm/launch_info.h"

namespace hocket {

// The same on all ranks that one launcher started on this host, and different for any other launch at the same time:
// hocket launch says it, for others it is made from what they tell all ranks. `variables` are those that gave `info`.
Result<MeetingPlace> meeting_place(const LaunchInfo& info, const LaunchVariables& variables = Env::get().launch);

// Whether all ranks are on this host. An error where the launcher doesn't say, with what to set.
Result<bool> on_one_host(const LaunchInfo& info);

// The value of HOCKET_MEETING: the name, a colon and the token in hexadecimal digits. It is a secret.
std::string to_variable(const MeetingPlace& place);
// The message of an error has nothing of the text in it.
Result<MeetingPlace> from_variable(const std::string& text);

}  // namespace hocket
