// Tags of the messages on a group's channel. Those of different uses, and of different steps of a call, don't meet.
#pragma once

#include <cstdint>

namespace hocket {

enum HostsTag : std::int32_t {
  tag_greeting,
  tag_pieces,
  tag_results,
  tag_counts,
  tag_data,
  tag_envelope,  // of messages between two ranks
  tag_message,
  tag_news,  // what went wrong on another host
};

}  // namespace hocket
