#include "compile/check.h"

#include "compile/forms.h"
#include "hocket/ir/stats.h"
#include "hocket/ir/verify.h"

namespace hocket {

namespace {

Status to_status(const std::vector<Problem>& problems, std::string_view what, ErrorKind kind) {
  if (problems.empty()) return {};
  Error error = to_error(problems, what);
  error.kind = kind;
  return fail(std::move(error));
}

template <class Form>
Status check_order(const Form& form, const PassResult& result) {
  const auto order = ids_of<Form>(*result.order);
  return to_status(verify_order(form, order, {.keep_collective_order = result.keeps_collective_order}),
                   "the order that the pass made", ErrorKind::internal);
}

}  // namespace

Status check_subject(const Subject& subject, ErrorKind kind) {
  return std::visit([&](const auto& form) { return to_status(verify(form), form.name(), kind); }, subject);
}

Status check_result(const Subject& before, const PassResult& result) {
  if (!result.subject) return {};
  HOCKET_CHECK(check_subject(*result.subject, ErrorKind::internal));
  if (result.order) HOCKET_CHECK(std::visit([&](const auto& form) { return check_order(form, result); }, before));
  const auto* graph = std::get_if<Graph>(&*result.subject);
  if (result.peak && graph != nullptr) {
    const Bytes peak = stats_of(*graph).peak;
    if (peak != *result.peak) {
      return fail(ErrorKind::internal, "the pass claims a peak of {} bytes, the verifier counts {}", result.peak->count,
                  peak.count);
    }
  }
  return {};
}

}  // namespace hocket
