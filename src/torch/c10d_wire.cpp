#include "torch/c10d_wire.h"

#include <charconv>

#include "comm/broken_pipes.h"
#include "comm/wire_farewells.h"
#include "comm/wire_hosts.h"
#include "torch/c10d_channel.h"
#include "torch/c10d_gather.h"

namespace hocket {

namespace {

// How many ports this process has opened. All ranks take the same number for one wire, and none twice.
std::atomic<std::uint32_t>& ports_opened() {
  static std::atomic<std::uint32_t> count = 0;
  return count;
}

// The process does not end before the last user of the wire has said goodbye to the other ranks.
struct OfficeDoor {
  OfficeDoor(std::shared_ptr<const C10dPort> port, bool shared) : office(std::move(port), shared) {}
  WireFarewell farewell;  // after the office
  C10dOffice office;
};

class C10dWire final : public Wire {
 public:
  C10dWire(c10::intrusive_ptr<c10d::Backend> backend, std::shared_ptr<C10dOffice> office,
           std::vector<std::int32_t> hosts)
      : backend_(std::move(backend)),
        office_(std::move(office)),
        hosts_(std::move(hosts)),
        name_("c10d " + backend_->getBackendName()) {}

  std::string_view name() const override { return name_; }
  std::int32_t rank() const override { return backend_->getRank(); }
  std::int32_t size() const override { return backend_->getSize(); }
  std::int32_t host_of(std::int32_t rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }
  Result<std::vector<std::string>> exchange(const std::string& bytes, Deadline deadline) override {
    return gather_texts(*backend_, bytes, deadline);
  }

 private:
  Result<std::unique_ptr<Channel>> form_channel(std::span<const std::int32_t> ranks, Deadline deadline,
                                                const Look& look) override {
    return meet_on_c10d_channel(office_, ranks, channels_.next(ranks), deadline, look);
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::shared_ptr<C10dOffice> office_;
  std::vector<std::int32_t> hosts_;
  std::string name_;
  C10dChannelNames channels_;
};

Result<c10::intrusive_ptr<c10d::Backend>> backend_for_cpu(const c10d::ProcessGroup& group) {
  try {
    return const_cast<c10d::ProcessGroup&>(group).getBackend(c10::DeviceType::CPU);
  } catch (const std::exception& thrown) {
    return fail(ErrorKind::usage,
                "the process group has no back end for CPU memory, which hocket sends: make it with \"gloo\", or with "
                "\"cpu:gloo,cuda:nccl\" ({})",
                short_words(thrown));
  }
}

// What a rank tells all others first: the next number of a port, and which host it is on.
struct Arrival {
  std::uint32_t port = 0;
  std::string host;

  std::string to_text() const { return fmt::format("{} {}", port, host); }
  static Arrival from_text(const std::string& text) {
    Arrival arrival;
    const std::size_t space = text.find(' ');
    std::from_chars(text.data(), text.data() + space, arrival.port);
    arrival.host = text.substr(space + 1);
    return arrival;
  }
};

}  // namespace

Result<std::unique_ptr<Wire>> make_c10d_wire(const c10::intrusive_ptr<c10d::ProcessGroup>& group, GroupUse use,
                                             Deadline deadline) {
  ignore_broken_pipes();
  HOCKET_TRY(c10::intrusive_ptr<c10d::Backend> backend, backend_for_cpu(*group));
  HOCKET_TRY(const std::vector<std::string> texts,
             gather_texts(*backend, Arrival{ports_opened(), host_key()}.to_text(), deadline));
  std::uint32_t number = 0;
  std::vector<std::string> hosts;
  for (const std::string& text : texts) {
    Arrival arrival = Arrival::from_text(text);
    number = std::max(number, arrival.port);
    hosts.push_back(std::move(arrival.host));
  }
  std::uint32_t opened = ports_opened();
  while (opened <= number && !ports_opened().compare_exchange_weak(opened, number + 1)) continue;
  const auto port = std::make_shared<const C10dPort>(backend, number);
  const auto door = std::make_shared<OfficeDoor>(port, use == GroupUse::shared);
  const std::shared_ptr<C10dOffice> office(door, &door->office);
  return std::make_unique<C10dWire>(std::move(backend), office, number_hosts(hosts));
}

}  // namespace hocket
