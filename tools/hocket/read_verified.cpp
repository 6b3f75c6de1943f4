#include "read_verified.h"

#include "hocket/ir/file.h"
#include "hocket/ir/verify.h"

namespace hocket::tool {

Result<Subject> read_verified(const std::string& file) {
  HOCKET_TRY(Subject subject, read_graph_or_program(file));
  const auto problems = std::visit([](const auto& form) { return verify(form); }, subject);
  if (!problems.empty()) return fail(to_error(problems, file));
  return subject;
}

}  // namespace hocket::tool
