#include "comm/hosts_reduce.h"

#include <algorithm>
#include <cstring>

#include "comm/hosts_reduce_local.h"

namespace hocket {

std::byte* Scratch::reserve(std::int64_t bytes) {
  if (bytes > bytes_) {
    data_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    bytes_ = bytes;
  }
  return data_.get();
}

void Flight::let_go() {
  incoming.clear();
  piece_sends.clear();
  result_sends.clear();
  state = State::empty;
}

// One call.
struct HostsReduce::Running {
  Running(HostsContext& its_context, const GroupCall& its_call, std::vector<Flight>& its_flights)
      : context(its_context),
        layout(its_context.layout()),
        call(its_call),
        flights(its_flights),
        combiner(layout, call),
        parts(call),
        size(size_of(call.dtype)),
        scatters(call.op == Operator::reduce_scatter) {
    // Elements of the call in a block, which has a message for each host; of a reduce_scatter each counts for all ranks.
    std::int64_t each = size;
    for (const Piece& piece : layout.pieces()) each = std::max(each, combiner.width_of(piece));
    if (scatters) each *= layout.size();
    block = std::max<std::int64_t>(1, context.options().message * layout.hosts() / each);
    blocks = (call.count + block - 1) / block;
  }

  HostsContext& context;
  const HostsLayout& layout;
  const GroupCall& call;
  std::vector<Flight>& flights;
  Combiner combiner;
  Parts parts;
  std::int64_t size;
  bool scatters;
  std::int64_t block = 0;
  std::int64_t blocks = 0;
  std::int64_t oldest = 0;  // block that is not finished
  std::int64_t newest = 0;  // block that is not started

  Flight& flight(std::int64_t number) { return flights[static_cast<std::size_t>(number) % flights.size()]; }

  void plan_all_reduce(Flight& flight, std::int64_t first, std::int64_t count) {
    parts.each(first, count, [&](const Stretch& stretch) {
      flight.inputs.push_back({input_at(stretch.part, stretch.first * size), stretch.count});
    });
    for (std::int32_t host = 0; host <= layout.hosts(); ++host) flight.starts.push_back(count * host / layout.hosts());
  }

  void plan_reduce_scatter(Flight& flight, std::int64_t first, std::int64_t count) {
    flight.starts.push_back(0);
    for (std::int32_t host = 0; host < layout.hosts(); ++host) {
      for (const std::int32_t place : layout.members(host)) {
        parts.each(first, count, [&](const Stretch& stretch) {
          const std::int64_t at = place * stretch.part.count + stretch.first;
          flight.inputs.push_back({input_at(stretch.part, at * size), stretch.count});
        });
      }
      flight.starts.push_back(flight.starts.back() + count * static_cast<std::int64_t>(layout.members(host).size()));
    }
  }

  // Where a block's data comes from and goes to.
  void plan(Flight& flight, std::int64_t first, std::int64_t count) {
    flight.inputs.clear();
    flight.outputs.clear();
    flight.starts.clear();
    if (scatters) plan_reduce_scatter(flight, first, count);
    else plan_all_reduce(flight, first, count);
    parts.each(first, count, [&](const Stretch& stretch) {
      flight.outputs.push_back({output_at(stretch.part, stretch.first * size), stretch.count});
    });
    const bool straight = !scatters && flight.outputs.size() == 1;
    const std::int64_t results = scatters ? flight.part(layout.host()) : flight.count();
    flight.result = straight ? flight.outputs.front().data : flight.finished.reserve(results * size);
  }

  // Where the own part of the result begins.
  std::byte* own_result(Flight& flight) const {
    return flight.result + (scatters ? 0 : flight.start(layout.host()) * size);
  }

  Status send_pieces(Flight& flight) {
    std::size_t next = 0;
    for (const Piece& piece : layout.pieces()) {
      if (piece.host != layout.host()) continue;
      const std::byte* const from = flight.own[next++];
      const std::int64_t width = combiner.width_of(piece);
      for (std::int32_t host = 0; host < layout.hosts(); ++host) {
        if (host == layout.host()) continue;
        HOCKET_CHECK(context.send(flight.piece_sends, from + flight.start(host) * width, flight.part(host) * width,
                                  layout.leader(host), tag_pieces));
      }
    }
    return {};
  }

  Status receive_pieces(Flight& flight) {
    const std::int64_t count = flight.part(layout.host());
    std::int64_t bytes = 0;
    for (const Piece& piece : layout.pieces()) bytes += count * combiner.width_of(piece);
    std::byte* to = flight.received.reserve(bytes);
    std::size_t next = 0;
    flight.pieces.clear();
    for (const Piece& piece : layout.pieces()) {
      const std::int64_t width = combiner.width_of(piece);
      if (piece.host == layout.host()) {
        flight.pieces.push_back(flight.own[next++] + flight.start(layout.host()) * width);
        continue;
      }
      HOCKET_CHECK(context.receive(flight.incoming, to, count * width, layout.leader(piece.host), tag_pieces));
      flight.pieces.push_back(to);
      to += count * width;
    }
    flight.piece_messages = flight.incoming.size();
    return {};
  }

  Status receive_results(Flight& flight) {
    for (std::int32_t host = 0; host < layout.hosts() && !scatters; ++host) {
      if (host == layout.host()) continue;
      HOCKET_CHECK(context.receive(flight.incoming, flight.arriving + flight.start(host) * size,
                                   flight.part(host) * size, layout.leader(host), tag_results));
    }
    return {};
  }

  Status start(std::int64_t number) {
    Flight& flight = this->flight(number);
    HOCKET_CHECK(wait_for_sends(flight));  // of the block that was here before
    plan(flight, number * block, std::min(block, call.count - number * block));
    HOCKET_CHECK(combine_on_host(context, combiner, flight, call));
    const bool in_place = !flight.own.empty() && flight.own.front() == flight.result;
    flight.arriving = in_place ? flight.finished.reserve(flight.count() * size) : flight.result;
    ++newest;
    if (!layout.leads()) return {};
    flight.incoming.clear();
    flight.arrived = 0;
    flight.state = Flight::State::pieces;
    HOCKET_CHECK(receive_pieces(flight));
    HOCKET_CHECK(receive_results(flight));
    return send_pieces(flight);
  }

  Status combine(Flight& flight) {
    std::byte* const result = own_result(flight);
    const std::int64_t count = flight.part(layout.host());
    combiner.combine_pieces(flight.pieces, result, count);
    flight.state = Flight::State::results;
    for (std::int32_t host = 0; host < layout.hosts() && !scatters; ++host) {
      if (host == layout.host()) continue;
      HOCKET_CHECK(context.send(flight.result_sends, result, count * size, layout.leader(host), tag_results));
    }
    return {};
  }

  // Whether the first `messages` of the flight have come. Messages from one host come in order, so only the next is looked at.
  Result<bool> arrived(Flight& flight, std::size_t messages) {
    while (flight.arrived < messages) {
      HOCKET_TRY(const bool done, flight.incoming[flight.arrived]->test());
      if (!done) return false;
      ++flight.arrived;
    }
    return true;
  }

  // Does what can be done with what has come.
  Status advance() {
    bool pieces_come = true;
    bool results_come = true;
    for (std::int64_t number = oldest; number < newest && (pieces_come || results_come); ++number) {
      Flight& flight = this->flight(number);
      if (flight.state == Flight::State::pieces && pieces_come) {
        HOCKET_TRY(pieces_come, arrived(flight, flight.piece_messages));
        if (pieces_come) HOCKET_CHECK(combine(flight));
      }
      if (flight.state == Flight::State::results && results_come) {
        HOCKET_TRY(results_come, arrived(flight, flight.incoming.size()));
        if (results_come) flight.state = Flight::State::ready;
      }
    }
    return {};
  }

  Status wait_until_ready(Flight& flight) {
    Patience patience(call.deadline(), &context.rhythm());
    for (;;) {
      HOCKET_CHECK(advance());
      if (flight.state == Flight::State::ready) {
        patience.came();
        return {};
      }
      HOCKET_CHECK(context.look());
      if (patience.over()) {
        return fail(ErrorKind::peer, "rank {} did not come to {} in time: it is stuck, or its host can't be reached",
                    flight.incoming[flight.arrived]->peer(), call.to_string());
      }
      patience.pause();
    }
  }

  Status finish(std::int64_t number) {
    Flight& flight = this->flight(number);
    if (layout.leads()) HOCKET_CHECK(wait_until_ready(flight));
    ++oldest;
    flight.state = Flight::State::empty;
    HOCKET_CHECK(land_arrived(flight));
    return deliver_on_host(context, flight, call);
  }

  // What came from others while the same place of the result was still being sent.
  Status land_arrived(Flight& flight) {
    if (flight.arriving == flight.result) return {};
    HOCKET_CHECK(context.wait(flight.piece_sends, call));
    for (std::int32_t host = 0; host < layout.hosts(); ++host) {
      if (host == layout.host()) continue;
      const std::int64_t at = flight.start(host) * size;
      std::memcpy(flight.result + at, flight.arriving + at, static_cast<std::size_t>(flight.part(host) * size));
    }
    return {};
  }

  Status wait_for_sends(Flight& flight) {
    HOCKET_CHECK(context.wait(flight.piece_sends, call));
    return context.wait(flight.result_sends, call);
  }

  Status all() {
    const auto depth = static_cast<std::int64_t>(flights.size());
    for (std::int64_t number = 0; number < blocks + depth - 1; ++number) {
      if (number < blocks) HOCKET_CHECK(start(number));
      if (layout.leads()) HOCKET_CHECK(advance());
      const std::int64_t done = number - (depth - 1);
      if (done >= 0) HOCKET_CHECK(finish(done));
    }
    for (Flight& flight : flights) HOCKET_CHECK(wait_for_sends(flight));
    return {};
  }
};

Status HostsReduce::run(const GroupCall& call) {
  flights_.resize(static_cast<std::size_t>(std::max(context_->options().depth, 1)));
  const Status status = Running(*context_, call, flights_).all();
  // What is still under way reads and writes the caller's buffers.
  for (std::size_t i = 0; !status && i < flights_.size(); ++i) flights_[i].let_go();
  return status;
}

}  // namespace hocket
