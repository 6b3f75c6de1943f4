#include "report/shown_steps.h"

#include <algorithm>

namespace hocket {

namespace {

std::string in_words(const TypeView& type, const SymbolTable& symbols) {
  std::string text(short_name(type.dtype));
  text += '[';
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    if (i > 0) text += ',';
    text += symbols.to_string(type.shape[i]);
  }
  return text + ']';
}

template <class Calls>
std::string shapes(Calls& calls, std::size_t step) {
  // call_key() is "operator(types of the arguments)".
  const std::string key = calls.key(step);
  std::string text = key.substr(calls.op_name(step).size() + 1);
  text.pop_back();
  for (std::size_t at = text.find("],"); at != std::string::npos; at = text.find("],", at + 1))
    text.insert(at + 2, 1, ' ');
  const auto results = calls.results(step);
  for (std::size_t i = 0; i < results.size(); ++i)
    text += (i > 0 ? ", " : text.empty() ? "-> " : " -> ") + in_words(results[i], calls.symbols());
  return text;
}

template <class Calls>
Bytes bytes(Calls& calls, std::size_t step) {
  if (const Collective* comm = calls.collective(step)) return comm->bytes_in + comm->bytes_out;
  const Measured& measured = calls.measured(step);
  if (measured.read >= 0 && measured.written >= 0) return Bytes(measured.read) + Bytes(measured.written);
  const OpSpec* const row = calls.row(step);
  if (row == nullptr) return {};
  const auto results = calls.results(step);
  const auto work = work_of(*row, calls.call(step), results);
  return work ? work->read + work->written : Bytes();
}

}  // namespace

std::string shapes_of(GraphCalls& calls, std::size_t step) { return shapes(calls, step); }
std::string shapes_of(ProgramCalls& calls, std::size_t step) { return shapes(calls, step); }
Bytes bytes_of(GraphCalls& calls, std::size_t step) { return bytes(calls, step); }
Bytes bytes_of(ProgramCalls& calls, std::size_t step) { return bytes(calls, step); }

}  // namespace hocket
