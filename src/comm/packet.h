// Packets with file descriptors over Unix sockets, each sent and received whole or not at all, before a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "comm/deadline.h"
#include "comm/file_descriptor.h"
#include "hocket/base/error.h"

namespace hocket {

// For poll(): 0 if the deadline is over.
int milliseconds_until(Deadline deadline);

struct Packet {
  std::string bytes;
  std::vector<FileDescriptor> descriptors;
};

inline constexpr std::size_t largest_packet = 4096;  // they carry facts, not data
inline constexpr std::size_t most_descriptors = 8;

// Sockets live in the abstract namespace: no file is left behind, however the processes end.
Result<FileDescriptor> listen_at(const std::string& name);
// Nothing (an invalid descriptor) while nobody listens there or the queue is full: try again.
Result<FileDescriptor> try_connect(const std::string& name);
// The user at the other end.
Result<uid_t> user_of(const FileDescriptor& socket);

Status send_packet(const FileDescriptor& socket, const std::string& bytes, const std::vector<int>& descriptors,
                   Deadline deadline);
// An error of kind `peer` if the other end is closed or nothing comes in time.
Result<Packet> receive_packet(const FileDescriptor& socket, Deadline deadline);

}  // namespace hocket
