#include "comm/hosts_context.h"

#include <algorithm>

namespace hocket {

Status HostsContext::run_local(GroupCall own, const GroupCall& call) {
  const auto left = call.deadline() - std::chrono::steady_clock::now();
  own.timeout = std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left), std::chrono::milliseconds(1));
  own.number = ++local_calls_;
  own.site = call.site;
  return local_->run(own);
}

Status HostsContext::broadcast_local(const void* input, void* output, std::int64_t bytes, std::int32_t root,
                                     const GroupCall& call) {
  GroupCall own;
  own.op = Operator::broadcast;
  own.root = root;
  own.count = bytes;
  own.first = {input, output, bytes};
  return run_local(std::move(own), call);
}

Status HostsContext::send(std::vector<RequestHandle>& requests, const std::byte* data, std::int64_t bytes,
                          std::int32_t place, HostsTag tag) {
  if (bytes == 0) return {};
  HOCKET_TRY(RequestHandle request, channel_->isend({data, static_cast<std::size_t>(bytes)}, place, tag));
  requests.push_back(std::move(request));
  return {};
}

Status HostsContext::receive(std::vector<RequestHandle>& requests, std::byte* data, std::int64_t bytes,
                             std::int32_t place, HostsTag tag) {
  if (bytes == 0) return {};
  HOCKET_TRY(RequestHandle request, channel_->irecv({data, static_cast<std::size_t>(bytes)}, place, tag));
  requests.push_back(std::move(request));
  return {};
}

Status HostsContext::wait_for(std::span<const RequestHandle> requests, const GroupCall& call) {
  return wait_for_all(
      requests, call.deadline(), call.to_string(), [this] { return look(); }, &rhythm_);
}

Status HostsContext::wait_promptly(std::span<const RequestHandle> requests, const GroupCall& call) {
  return wait_for_all(requests, call.deadline(), call.to_string(), [this] { return look(); });
}

Status HostsContext::wait(std::vector<RequestHandle>& requests, const GroupCall& call) {
  HOCKET_CHECK(wait_for(requests, call));
  requests.clear();
  return {};
}

}  // namespace hocket
