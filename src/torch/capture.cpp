#include "hocket/torch/capture.h"

#include <exception>

#include "torch/dispatch.h"
#include "torch/recorder.h"

namespace hocket {

namespace {

Status add_inputs(Recorder& recorder, const std::vector<at::Tensor>& example_inputs, const CaptureOptions& options) {
  if (options.input_names.size() > example_inputs.size()) {
    return fail(ErrorKind::usage, "{} input names for {} example inputs", options.input_names.size(),
                example_inputs.size());
  }
  for (std::size_t i = 0; i < example_inputs.size(); ++i) {
    const bool named = i < options.input_names.size();
    HOCKET_CHECK(recorder.add_input(named ? options.input_names[i] : fmt::format("input_{}", i), example_inputs[i]));
  }
  for (const auto& [name, tensor] : options.parameters) HOCKET_CHECK(recorder.add_input(name, tensor));
  for (const GroupSpec& group : options.groups) HOCKET_CHECK(recorder.group(group).map([](GroupId) {}));
  return {};
}

// Runs the step under the recorder. What it throws becomes an error.
Status record(Recorder& recorder, const StepFunction& step, const std::vector<at::Tensor>& example_inputs) {
  std::string thrown;
  try {
    const CaptureScope scope(recorder);
    const std::vector<at::Tensor> results = step(example_inputs);
    return recorder.add_results(results);
  } catch (const c10::Error& error) {
    thrown = error.what_without_backtrace();
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  if (recorder.thrown_by().empty()) return fail(ErrorKind::usage, "the step threw: {}", thrown);
  return fail(Error{ErrorKind::usage, thrown, recorder.thrown_by()});
}

}  // namespace

Result<Capture> capture(const StepFunction& step, const std::vector<at::Tensor>& example_inputs,
                        const CaptureOptions& options) {
  if (current_recorder() != nullptr) {
    return fail(ErrorKind::usage, "capture inside of a capture; capture the outer step as a whole");
  }
  Recorder recorder(options);
  HOCKET_CHECK(add_inputs(recorder, example_inputs, options));
  const Status recorded = record(recorder, step, example_inputs);
  recorder.restore();
  if (recorder.error()) return fail(*recorder.error());
  if (!recorded) return fail(recorded.error());
  return recorder.finish();
}

}  // namespace hocket
