// The way to one other rank and back. Used by the owner of the mail only.
#pragma once

#include <list>

#include "comm/mail_inbox.h"

namespace hocket {

class MailRoute {
 public:
  virtual ~MailRoute() = default;
  // Sends as much as can be sent now, in order, finishes what has left and takes it off the list. True if something moved.
  virtual bool send(std::list<Parcel>& parcels) = 0;
  // Takes what has come, if somebody expects it. True if something moved.
  virtual bool receive(MailInbox& inbox) = 0;
  // An error of kind `peer` if nothing will go there any more; what has come from there can still be taken.
  virtual Status check() = 0;
  // An error of kind `peer` if the rank was killed or has failed, rather than left or ended well.
  virtual Status check_crash() = 0;
  // Of a call that has waited as long as it may.
  virtual Error late(const GroupCall& call) const = 0;
  // The receive that was getting its message has ended before it.
  virtual void cut_off(const Error&) {}
  // Whether the other end rings this rank's bell when there is something to take. Otherwise it has to look.
  virtual bool rings() const = 0;
};

}  // namespace hocket
