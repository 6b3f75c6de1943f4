#include "comm/mail_inbox.h"

#include <algorithm>
#include <cstring>

#include "comm/parts.h"

namespace hocket {

static Status fail_after(const Parcel& parcel, const Error& before) {
  return fail(ErrorKind::peer, "{} can't run: one with its tag failed before: {}", parcel.call->to_string(),
              before.message);
}

void MailInbox::add(Parcel parcel) {
  if (const auto failed = failed_tags_.find(parcel.call->tag); failed != failed_tags_.end()) {
    parcel.finish(fail_after(parcel, failed->second));
    return;
  }
  if (!take_stored(parcel)) waiting_.push_back(std::move(parcel));
}

// Gives a receive the oldest message with its tag that came before it. One that is still coming is not among them.
bool MailInbox::take_stored(const Parcel& parcel) {
  const auto end = into_ == Into::store ? std::prev(stored_.end()) : stored_.end();
  const auto found =
      std::find_if(stored_.begin(), end, [&](const Stored& stored) { return stored.header.tag == parcel.call->tag; });
  if (found == end) return false;
  parcel.batch->from = place_;
  if (found->header.fits(*parcel.call)) {
    if (!found->data.empty()) std::memcpy(parcel.call->first.output, found->data.data(), found->data.size());
    parcel.finish({});
  } else {
    parcel.finish(fail(differs(*parcel.call, found->header)));
  }
  stored_.erase(found);
  return true;
}

// Who gets a message with this tag: the receive that was asked for first. One from anyone is from this rank from now on.
std::list<Parcel>::iterator MailInbox::asked(std::int32_t tag) {
  const auto has_tag = [&](const Parcel& parcel) { return parcel.call->tag == tag; };
  auto mine = std::find_if(waiting_.begin(), waiting_.end(), has_tag);
  const auto anyone = std::find_if(from_anyone_->begin(), from_anyone_->end(), has_tag);
  if (anyone != from_anyone_->end() && (mine == waiting_.end() || anyone->turn < mine->turn)) {
    waiting_.splice(mine, *from_anyone_, anyone);
    mine = anyone;
  }
  if (mine != waiting_.end()) mine->batch->from = place_;
  return mine;
}

void MailInbox::begin(const MailHeader& header) {
  header_ = header;
  done_ = 0;
  const auto found = asked(header.tag);
  if (found == waiting_.end()) {
    into_ = Into::store;
    stored_.push_back({header, std::vector<std::byte>(static_cast<std::size_t>(header.bytes()))});
  } else if (header.fits(*found->call)) {
    into_ = Into::parcel;
    parcel_ = found;
  } else {
    into_ = Into::nowhere;
    found->finish(fail(differs(*found->call, header)));
    waiting_.erase(found);
  }
}

std::byte* MailInbox::destination() {
  if (left() == 0) return nullptr;
  if (into_ == Into::parcel) return output_at(parcel_->call->first, done_);
  if (into_ == Into::store) return stored_.back().data.data() + done_;
  return nullptr;
}

void MailInbox::advance(std::int64_t bytes) {
  done_ += bytes;
  if (left() == 0) finish_message();
}

void MailInbox::finish_message() {
  const Into into = std::exchange(into_, Into::nothing);
  if (into == Into::parcel) {
    parcel_->finish({});
    waiting_.erase(parcel_);
  }
  if (into != Into::store) return;
  // Somebody may have asked meanwhile: then there was nothing older with this tag.
  const auto meanwhile = asked(header_.tag);
  if (meanwhile != waiting_.end() && take_stored(*meanwhile)) waiting_.erase(meanwhile);
}

bool MailInbox::fail_those(const std::function<Status(const Parcel&)>& verdict) {
  bool cut_off = false;
  std::map<std::int32_t, Error> failed_now;  // the message of one of these is not that of a receive behind it
  for (auto parcel = waiting_.begin(); parcel != waiting_.end();) {
    const auto before = failed_now.find(parcel->call->tag);
    Status status = before == failed_now.end() ? verdict(*parcel) : fail_after(*parcel, before->second);
    if (status) {
      ++parcel;
      continue;
    }
    if (into_ == Into::parcel && parcel_ == parcel) {
      into_ = Into::nowhere;
      cut_off = true;
    }
    failed_now.emplace(parcel->call->tag, status.error());
    parcel->finish(std::move(status));
    parcel = waiting_.erase(parcel);
  }
  failed_tags_.merge(failed_now);
  return cut_off;
}

Error MailInbox::differs(const GroupCall& call, const MailHeader& header) const {
  return {ErrorKind::peer,
          fmt::format("rank {} sends {}[{}] with tag {} to rank {}, which expects {}", from_, short_name(header.dtype),
                      header.count, header.tag, to_, call.to_string()),
          ""};
}

}  // namespace hocket
