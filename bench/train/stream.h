// Bytes that two ranks send each other over a plain socket: what a link takes of a processor before anybody sums or packs anything.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "comm/file_descriptor.h"
#include "hocket/comm/world.h"

namespace hocket::train_bench {

class Stream {
 public:
  // Collective over two ranks; `address` is one of rank 0's.
  static Result<Stream> between(const World& world, const std::string& address);

  // As many bytes there as come from there, both at once. Returns when all have gone and come.
  Status exchange(std::size_t bytes);

 private:
  explicit Stream(FileDescriptor socket) : socket_(std::move(socket)) {}
  Status send_all();
  Status receive_all();

  FileDescriptor socket_;
  std::vector<std::byte> outgoing_, incoming_;
};

}  // namespace hocket::train_bench
