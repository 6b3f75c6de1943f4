// The way of messages between ranks of different hosts. An envelope goes ahead, and has a small message in it; a larger one
// follows by itself, once the receiver knows where to put it.
#pragma once

#include <memory>

#include "comm/mail_route.h"
#include "comm/wire_watch.h"

namespace hocket {

// The channel of the group, on which the messages have tags of their own.
std::unique_ptr<MailRoute> make_wire_route(std::shared_ptr<Channel> channel, std::shared_ptr<WireWatch> watch,
                                           std::int32_t place);

}  // namespace hocket
