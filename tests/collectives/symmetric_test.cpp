// Memory that all ranks of a group see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "ranks.h"
#include "support/random.h"

namespace hocket {
namespace {

using testing::HasSubstr;

std::string offsets_after_a_random_sequence(World& world) {
  const Communicator group = group_of(world);
  Random random(11);
  std::string offsets;
  std::vector<SymmetricBuffer> taken;
  for (int call = 0; call < 150; ++call) {
    if (taken.size() < 2 || random.chance(55)) {
      const Result<SymmetricBuffer> buffer = group.allocate(Bytes(random.between(0, 400'000)));
      if (!buffer) return buffer.error().message;
      offsets += fmt::format("{} ", buffer->offset());
      taken.push_back(*buffer);
    } else {
      random.shuffle(taken);
      taken.pop_back();
    }
  }
  return offsets;
}

TEST(SymmetricBuffers, have_the_same_offset_on_every_rank) {
  for (const Kind kind : both_kinds) {
    const auto said = run_world(kind, 3, offsets_after_a_random_sequence);
    EXPECT_THAT(said[0], testing::StartsWith("0 "));
    EXPECT_EQ(said[1], said[0]);
    EXPECT_EQ(said[2], said[0]);
  }
}

TEST(SymmetricBuffers, are_seen_by_all_ranks_of_the_group) {
  for (const Kind kind : both_kinds) {
    expect_well(kind, 4, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      const Result<SymmetricBuffer> buffer = group.allocate(Bytes(16));
      if (!complaints.well(buffer, "allocate")) return;
      for (std::int32_t to = 0; to < 4; ++to) {
        buffer->data(to)[world.rank()] = static_cast<std::byte>('a' + world.rank());
      }
      complaints.well(group.barrier(blocking()), "barrier");
      const std::string text(reinterpret_cast<const char*>(buffer->data()), 5);
      if (text != std::string("abcd\0", 5)) complaints.add("got {}", text);
      if (buffer->data() != buffer->data(world.rank())) complaints.add("its own part is another one");
      if (buffer->data(4) != nullptr || buffer->data(-1) != nullptr) complaints.add("there is a part of nobody");
      if (buffer->bytes() != Bytes(16)) complaints.add("has {} bytes", buffer->bytes().count);
    });
  }
}

bool all_zero(const std::byte* data, std::int64_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

TEST(SymmetricBuffers, are_zero_when_fresh_and_at_the_same_place_when_reused) {
  for (const Kind kind : both_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      for (const std::int64_t bytes : {std::int64_t{100}, std::int64_t{5'000'000}}) {
        std::int64_t offset = 0;
        for (int round = 0; round < 20; ++round) {
          const Result<SymmetricBuffer> buffer = group.allocate(Bytes(bytes));
          if (!complaints.well(buffer, "allocate")) return;
          if (round == 0) {
            offset = buffer->offset();
            if (!all_zero(buffer->data(), bytes)) complaints.add("{} fresh bytes are not zero", bytes);
          }
          if (buffer->offset() != offset) complaints.add("{} bytes are at {}, not {}", bytes, buffer->offset(), offset);
          std::memset(buffer->data(), 7, static_cast<std::size_t>(bytes));
        }
      }
    });
  }
}

TEST(SymmetricBuffers, go_back_when_the_last_copy_is_gone) {
  expect_well(Kind::threads, 2, [](World& world, Complaints& complaints) {
    const Communicator group = group_of(world);
    Result<SymmetricBuffer> first = group.allocate(Bytes(1'000));
    if (!complaints.well(first, "allocate")) return;
    SymmetricBuffer copy = *first;
    first = SymmetricBuffer();
    const Result<SymmetricBuffer> second = group.allocate(Bytes(1'000));
    if (!complaints.well(second, "allocate") || second->offset() == 0) complaints.add("given back too early");
    copy = SymmetricBuffer();
    const Result<SymmetricBuffer> third = group.allocate(Bytes(1'000));
    if (!complaints.well(third, "allocate") || third->offset() != 0) complaints.add("not given back");
    if (SymmetricBuffer().data() != nullptr || SymmetricBuffer().bytes() != Bytes()) complaints.add("not empty");
  });
}

TEST(SymmetricBuffers, of_different_groups_have_nothing_to_do_with_each_other) {
  expect_well(Kind::processes, 3, [](World& world, Complaints& complaints) {
    const Communicator all = group_of(world);
    const Result<SymmetricBuffer> shared = all.allocate(Bytes(4'096));
    if (!complaints.well(shared, "allocate")) return;
    std::memset(shared->data(), world.rank() + 1, 4'096);
    if (world.rank() < 2) {
      const Result<SymmetricBuffer> pair = group_of(world, {0, 1}).allocate(Bytes(4'096));
      if (!complaints.well(pair, "allocate")) return;
      if (pair->offset() != 0) complaints.add("the first buffer of a group is at {}", pair->offset());
      std::memset(pair->data(1 - world.rank()), 77, 4'096);
      complaints.well(group_of(world, {0, 1}).barrier(blocking()), "barrier");
    }
    if (shared->data()[4'095] != static_cast<std::byte>(world.rank() + 1)) complaints.add("overwritten");
  });
}

TEST(SymmetricBuffers, other_than_those_of_another_rank_let_go_are_an_error_on_all) {
  for (const Kind kind : both_kinds) {
    const auto said = run_world(kind, 2, [](World& world) -> std::string {
      const Communicator group = group_of(world);
      Result<SymmetricBuffer> first = group.allocate(Bytes(1'000));
      Result<SymmetricBuffer> second = group.allocate(Bytes(1'000));
      if (!first || !second) return "no memory";
      (world.rank() == 0 ? first : second) = SymmetricBuffer();
      const Result<SymmetricBuffer> third = group.allocate(Bytes(1'000));
      return third ? "no error" : third.error().message;
    });
    for (const std::string& one : said) {
      EXPECT_THAT(one, HasSubstr("ranks have released different symmetric buffers: they must let go of the same ones "
                                 "before each allocation"));
    }
  }
}

TEST(SymmetricBuffers, may_be_let_go_in_another_order_on_another_rank) {
  expect_well(Kind::threads, 2, [](World& world, Complaints& complaints) {
    const Communicator group = group_of(world);
    Result<SymmetricBuffer> first = group.allocate(Bytes(1'000));
    Result<SymmetricBuffer> second = group.allocate(Bytes(1'000));
    if (!complaints.well(first, "first") || !complaints.well(second, "second")) return;
    (world.rank() == 0 ? first : second) = SymmetricBuffer();
    (world.rank() == 0 ? second : first) = SymmetricBuffer();
    const Result<SymmetricBuffer> third = group.allocate(Bytes(2'000));
    if (complaints.well(third, "third") && third->offset() != 0) complaints.add("at {}", third->offset());
  });
}

TEST(SymmetricBuffers, of_different_sizes_on_different_ranks_are_an_error_that_names_both) {
  const auto said = run_world(Kind::threads, 2, [](World& world) -> std::string {
    const Result<SymmetricBuffer> buffer = group_of(world).allocate(Bytes(world.rank() == 0 ? 100 : 200));
    return buffer ? "no error" : buffer.error().message;
  });
  for (const std::string& one : said) {
    EXPECT_THAT(one, HasSubstr("ranks made different calls: rank 0 made allocate(100 bytes) as call 1 at "));
    EXPECT_THAT(one, HasSubstr(", rank 1 made allocate(200 bytes) as call 1 at "));
  }
}

TEST(SymmetricBuffers, that_are_too_large_are_refused_on_all_ranks_and_the_group_goes_on) {
  for (const Kind kind : both_kinds) {
    expect_well(kind, 2, [](World& world, Complaints& complaints) {
      const Communicator group = group_of(world);
      const Result<SymmetricBuffer> negative = group.allocate(Bytes(-1));
      if (negative || negative.error().message != "allocate(-1), expected 0 bytes or more") complaints.add("negative");
      const Result<SymmetricBuffer> huge = group.allocate(Bytes(std::int64_t{1} << 42));
      if (huge) return complaints.add("4 TiB were given");
      if (huge.error().message != "rank 0 has no place for 4.00 TiB of symmetric memory") {
        complaints.add("{}", huge.error().message);
      }
      complaints.well(group.allocate(Bytes(100)), "allocate");
      complaints.well(group.barrier(), "barrier");
    });
  }
}

}  // namespace
}  // namespace hocket
