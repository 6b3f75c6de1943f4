// A file that grows beyond the limit of the process (ulimit -f) is an error, EFBIG, and by default the end of the process too, by the
// signal SIGXFSZ. While one of these lives, it is only the error for the calling thread.
//
//   const FileSizeLimit no_signal;
//   if (write(…) < 0) …
#pragma once

#include <csignal>
#include <ctime>

namespace hocket {

class FileSizeLimit {
 public:
  FileSizeLimit() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  // The kernel sends the signal to the thread that wrote: it takes it out of the way before others can get it.
  ~FileSizeLimit() {
    const timespec at_once{};
    if (sigismember(&before_, SIGXFSZ) == 0) sigtimedwait(&signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  sigset_t signal_{};
  sigset_t before_{};
};

}  // namespace hocket
