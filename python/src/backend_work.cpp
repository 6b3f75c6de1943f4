#include "backend_work.h"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "messengers.h"

namespace hocket {

// Programs look for the word timeout in what torch.distributed throws.
void throw_error(const Error& error) {
  if (error.kind == ErrorKind::usage) C10_THROW_ERROR(ValueError, error.to_string());
  const bool late = error.message.find(" did not come within ") != std::string::npos;
  C10_THROW_ERROR(DistBackendError, (late ? "a timeout has passed: " : "") + error.to_string());
}

namespace {

std::exception_ptr as_exception(const Error& error) {
  try {
    throw_error(error);
  } catch (...) {
    return std::current_exception();
  }
}

using Inputs = std::optional<std::vector<at::Tensor>>;

}  // namespace

// Tensors are only copied for a profiler that looks.
BackendWork::BackendWork(int rank, c10d::OpType op, const char* title, const std::vector<at::Tensor>& inputs,
                         std::vector<at::Tensor> outputs, std::uint64_t number)
    : c10d::Work(rank, op, at::hasCallbacks() ? title : nullptr, at::hasCallbacks() ? Inputs(inputs) : Inputs()),
      outputs_(std::move(outputs)),
      number_(number) {}

void BackendWork::begin(std::vector<hocket::Work> parts, CopiesBack back) {
  parts_ = std::move(parts);
  back_ = std::move(back);
  if (!recordFunctionEndCallback_) return;
  if (is_done()) return conclude();
  Messengers::all().send([work = self()] {
    if (work->wait_for_all()) work->conclude();
  });
}

void BackendWork::begin(std::vector<c10::intrusive_ptr<BackendWork>> others) { others_ = std::move(others); }

c10::intrusive_ptr<BackendWork> BackendWork::self() {
  return c10::intrusive_ptr<BackendWork>::unsafe_reclaim_from_nonowning(this);
}

void BackendWork::conclude() const {
  std::call_once(concluded_, [this] {
    back_.copy();
    if (source_) lane_->count_received(*source_);
    if (recordFunctionEndCallback_) recordFunctionEndCallback_();
  });
}

bool BackendWork::is_done() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const hocket::Work& part) { return part.done(); }) &&
         std::all_of(others_.begin(), others_.end(), [](const auto& other) { return other->is_done(); });
}

Status BackendWork::wait_for_all() const {
  Status status = wait_for_each();
  if (!status && lane_) lane_->spoil();
  return status;
}

Status BackendWork::wait_for_each() const {
  for (const hocket::Work& part : parts_) HOCKET_CHECK(part.wait());
  for (const auto& other : others_) {
    HOCKET_CHECK(other->wait_for_all());
    other->conclude();
  }
  return {};
}

bool BackendWork::isCompleted() {
  if (!is_done()) return false;
  if (wait_for_all()) conclude();
  return true;
}

bool BackendWork::isSuccess() const { return is_done() && wait_for_all().has_value(); }

std::exception_ptr BackendWork::exception() const {
  if (!is_done()) return nullptr;
  const Status status = wait_for_all();
  return status ? nullptr : as_exception(status.error());
}

bool BackendWork::wait(std::chrono::milliseconds timeout) {
  if (timeout != kNoTimeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    for (const hocket::Work& part : parts_) {
      const Result<bool> done = part.wait_for(end - std::chrono::steady_clock::now());
      if (!done) throw_error(done.error());
      if (*done) continue;
      C10_THROW_ERROR(DistBackendError, c10::str("waited ", timeout.count(), " ms for ", opTypeToString(opType_),
                                                 ", which still goes on: wait again, or longer"));
    }
    for (const auto& other : others_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      other->wait(std::max(left, std::chrono::milliseconds(1)));
    }
  }
  const Status status = wait_for_all();
  if (!status) throw_error(status.error());
  conclude();
  return true;
}

// Whoever adds a callback to the future may wait for the next communication in it, so it is not a thread of the communicator that
// completes it.
c10::intrusive_ptr<c10::ivalue::Future> BackendWork::getFuture() {
  const std::lock_guard lock(future_mutex_);
  if (future_) return future_;
  future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  const auto complete = [work = self(), future = future_] {
    const Status status = work->wait_for_all();
    if (!status) return future->setError(as_exception(status.error()));
    work->conclude();
    future->markCompleted(c10::IValue(work->outputs_));
  };
  if (is_done()) complete();
  else Messengers::all().send(complete);
  return future_;
}

}  // namespace hocket
