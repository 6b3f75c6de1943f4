// What comes from one rank: which receive gets which message. The first receive with a message's tag takes it; what nobody has
// asked for yet is kept.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <vector>

#include "comm/mail_parcel.h"

namespace hocket {

class MailInbox {
 public:
  // `from` and `to` are ranks of the world, `place` is that of `from` in the group. `from_anyone` has receives that take the first
  // message with their tag, whoever sends it; all inboxes of a mail share it.
  MailInbox(std::int32_t from, std::int32_t to, std::int32_t place, std::list<Parcel>& from_anyone)
      : from_(from), to_(to), place_(place), from_anyone_(&from_anyone) {}

  // A receive. It is finished at once if its message is already here, or if one with its tag has failed.
  void add(Parcel parcel);
  // Finishes a receive from anyone if its message is already here.
  bool take_stored(const Parcel& parcel);
  bool is_of_this_rank() const { return from_ == to_; }
  // Somebody waits for a message, so the next one is to be taken.
  bool expects() const { return !waiting_.empty() || !from_anyone_->empty(); }

  // The next message begins; its bytes come in order, and in pieces of any size.
  void begin(const MailHeader& header);
  bool in_message() const { return into_ != Into::nothing; }
  // Where the next byte goes, with room for all that are left; null if nobody wants them.
  std::byte* destination();
  std::int64_t left() const { return header_.bytes() - done_; }
  // So many bytes have come. The message ends with the last one.
  void advance(std::int64_t bytes);

  // Ends the receives that `verdict` has an error for. True if one of them was getting its message, whose rest may still come.
  bool fail_those(const std::function<Status(const Parcel&)>& verdict);

 private:
  struct Stored {
    MailHeader header;
    std::vector<std::byte> data;
  };
  enum class Into { nothing, parcel, store, nowhere };

  std::list<Parcel>::iterator asked(std::int32_t tag);
  void finish_message();
  Error differs(const GroupCall& call, const MailHeader& header) const;

  std::int32_t from_;
  std::int32_t to_;
  std::int32_t place_;
  std::list<Parcel>* from_anyone_;
  std::list<Parcel> waiting_;  // and those from anyone whose message has begun to come from here
  std::list<Stored> stored_;   // came before anybody asked for it
  // A receive with this tag has failed. What it should have got may still come, and is not what the next one expects.
  std::map<std::int32_t, Error> failed_tags_;
  // The message that is coming: for one that waits, to be stored, or wanted by nobody.
  Into into_ = Into::nothing;
  MailHeader header_{};
  std::int64_t done_ = 0;  // bytes
  std::list<Parcel>::iterator parcel_;
};

}  // namespace hocket
