#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "hocket/base/median.h"
#include "hocket/ir/file.h"
#include "hocket/report/kineto.h"
#include "ir/simdjson_memory.h"

namespace hocket {

namespace {

namespace sj = simdjson;

// What the profiler calls element types: of tensors as C++ does, of messages as c10 does.
constexpr std::array<std::pair<std::string_view, Dtype>, 19> type_names = {{{"float", Dtype::f32},
                                                                            {"double", Dtype::f64},
                                                                            {"c10::Half", Dtype::f16},
                                                                            {"c10::BFloat16", Dtype::bf16},
                                                                            {"c10::Float8_e4m3fn", Dtype::f8e4m3},
                                                                            {"c10::Float8_e5m2", Dtype::f8e5m2},
                                                                            {"long int", Dtype::i64},
                                                                            {"long", Dtype::i64},
                                                                            {"int", Dtype::i32},
                                                                            {"short int", Dtype::i16},
                                                                            {"signed char", Dtype::i8},
                                                                            {"unsigned char", Dtype::u8},
                                                                            {"bool", Dtype::boolean},
                                                                            {"Float", Dtype::f32},
                                                                            {"Double", Dtype::f64},
                                                                            {"Half", Dtype::f16},
                                                                            {"BFloat16", Dtype::bf16},
                                                                            {"Long", Dtype::i64},
                                                                            {"Int", Dtype::i32}}};

std::optional<Dtype> dtype_of(std::string_view name) {
  for (const auto& [known, dtype] : type_names) {
    if (name == known) return dtype;
  }
  return std::nullopt;
}

// "_allgather_base", "gloo:all_reduce", "ncclDevKernel_ReduceScatter…": letters alone tell.
std::optional<CollectiveKind> kind_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const auto has = [&](std::string_view part) { return letters.find(part) != std::string::npos; };
  if (has("reducescatter")) return CollectiveKind::reduce_scatter;
  if (has("allreduce")) return CollectiveKind::all_reduce;
  if (has("allgather")) return CollectiveKind::all_gather;
  if (has("alltoall")) return CollectiveKind::all_to_all;
  if (has("broadcast")) return CollectiveKind::broadcast;
  return std::nullopt;
}

std::string_view text_of(sj::dom::object object, const char* key) {
  std::string_view text;
  return object[key].get(text) == sj::SUCCESS ? text : std::string_view();
}
double number_of(sj::dom::object object, const char* key, double fallback = 0) {
  double value = 0;
  return object[key].get(value) == sj::SUCCESS ? value : fallback;
}

constexpr double past_integers = 9.2e18;  // no std::int64_t is as large
// Numbers that are none, or too large for one, count as absent.
std::int64_t whole_number_of(sj::dom::object object, const char* key, std::int64_t fallback = 0) {
  const double value = number_of(object, key, static_cast<double>(fallback));
  return std::abs(value) < past_integers ? static_cast<std::int64_t>(value) : fallback;
}

struct Operation {
  std::string key;
  std::int64_t external = -1;
  std::int64_t thread = 0;
  double begin = 0, end = 0, time = 0;  // microseconds; end - begin has lost the digits that count
  double kernels = 0;
};

// "f32[64,32]" of each tensor among the arguments; nothing where a list of tensors hides its types.
std::optional<std::string> types_of(sj::dom::object arguments) {
  sj::dom::array types, dims;
  if (arguments["Input type"].get(types) != sj::SUCCESS || arguments["Input Dims"].get(dims) != sj::SUCCESS)
    return std::nullopt;
  std::string text;
  auto dim = dims.begin();
  for (const sj::dom::element type : types) {
    if (dim == dims.end()) return std::nullopt;
    std::string_view name;
    if (type.get(name) != sj::SUCCESS) return std::nullopt;
    if (name == "TensorList" || name == "GenericList") return std::nullopt;
    if (const auto dtype = dtype_of(name)) {
      if (!text.empty()) text += ',';
      text += fmt::format("{}[", short_name(*dtype));
      sj::dom::array sizes;
      if ((*dim).get(sizes) != sj::SUCCESS) return std::nullopt;
      bool first = true;
      for (const sj::dom::element size : sizes) {
        std::int64_t value = 0;
        if (size.get(value) != sj::SUCCESS) return std::nullopt;
        text += fmt::format("{}{}", first ? "" : ",", value);
        first = false;
      }
      text += ']';
    }
    ++dim;
  }
  return text;
}

std::string dotted(std::string_view name) {
  std::string result(name);
  for (std::size_t at = result.find("::"); at != std::string::npos; at = result.find("::", at))
    result.replace(at, 2, ".");
  return result;
}

Nanoseconds median(const std::vector<double>& micros) {
  return Nanoseconds::from_ns(std::clamp(upper_median(micros), 0.0, longest_ms * 1000) * 1000);
}

class KinetoReader {
 public:
  void read(sj::dom::array events) {
    for (const sj::dom::element element : events) {
      sj::dom::object event, arguments;
      if (element.get(event) != sj::SUCCESS || text_of(event, "ph") != "X") continue;
      if (event["args"].get(arguments) != sj::SUCCESS) continue;
      const std::string_view category = text_of(event, "cat");
      if (category == "cpu_op") add_operation(event, arguments);
      else if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset")
        add_kernel(event, arguments);
      else if (category == "user_annotation") add_host_collective(event, arguments);
    }
  }

  KinetoTrace finish() {
    if (trace_.kernels) give_kernels_to_operations();
    std::map<std::string, std::vector<double>> times;
    for (const Operation& one : operations_) {
      const double time = trace_.kernels ? one.kernels : one.time;
      if (!one.key.empty()) times[one.key].push_back(time);
    }
    for (auto& [key, list] : times) trace_.calls[key] = {list.size(), median(list)};
    auto& messages = on_gpu_.empty() ? on_host_ : on_gpu_;
    for (auto& [key, list] : messages) {
      const auto& [kind, ranks, group, moved] = key;
      trace_.collectives.push_back({kind, ranks, group, Bytes(moved), list.size(), median(list)});
    }
    return std::move(trace_);
  }

 private:
  using Message = std::tuple<CollectiveKind, std::int64_t, std::string, std::int64_t>;
  using Messages = std::map<Message, std::vector<double>>;

  void add_operation(sj::dom::object event, sj::dom::object arguments) {
    Operation one;
    one.begin = number_of(event, "ts");
    one.time = number_of(event, "dur");
    one.end = one.begin + one.time;
    one.external = whole_number_of(arguments, "External id", -1);
    one.thread = whole_number_of(event, "tid");
    const std::string_view name = text_of(event, "name");
    if (const auto types = types_of(arguments)) one.key = fmt::format("{}({})", dotted(name), *types);
    else ++trace_.unknown;
    operations_.push_back(std::move(one));
  }

  void add_kernel(sj::dom::object event, sj::dom::object arguments) {
    const double time = number_of(event, "dur");
    const std::string_view collective = text_of(arguments, "Collective name");
    if (collective.empty()) {
      trace_.kernels = true;
      kernels_[whole_number_of(arguments, "External id", -1)] += time;
      return;
    }
    const auto kind = kind_of(collective);
    const auto dtype = dtype_of(text_of(arguments, "dtype"));
    if (!kind || !dtype) return;
    const double elements = number_of(arguments, "In msg nelems") + number_of(arguments, "Out msg nelems");
    const double moved = elements * static_cast<double>(size_of(*dtype));
    if (!(moved >= 0 && moved < past_integers)) return;
    on_gpu_[{*kind, whole_number_of(arguments, "Group size"), std::string(text_of(arguments, "Process Group Name")),
             static_cast<std::int64_t>(moved)}]
        .push_back(time);
  }

  // "gloo:all_reduce" with the tensor that goes in.
  void add_host_collective(sj::dom::object event, sj::dom::object arguments) {
    const std::string_view name = text_of(event, "name");
    const auto kind = kind_of(name);
    sj::dom::array types, dims;
    if (!name.starts_with("gloo:") || !kind || arguments["Input type"].get(types) != sj::SUCCESS ||
        arguments["Input Dims"].get(dims) != sj::SUCCESS)
      return;
    std::int64_t bytes = 0;
    auto dim = dims.begin();
    for (const sj::dom::element type : types) {
      std::string_view type_name;
      sj::dom::array sizes;
      if (dim == dims.end() || type.get(type_name) != sj::SUCCESS || (*dim).get(sizes) != sj::SUCCESS) return;
      const auto dtype = dtype_of(type_name);
      if (!dtype) return;
      std::int64_t whole = static_cast<std::int64_t>(size_of(*dtype));
      for (const sj::dom::element size : sizes) {
        std::int64_t value = 0;
        if (size.get(value) != sj::SUCCESS || value < 0 || __builtin_mul_overflow(whole, value, &whole)) return;
      }
      bytes = units::add(bytes, whole);
      ++dim;
    }
    // Of the kinds whose result is as large as what goes in; the trace does not say how large others' results are.
    if (*kind == CollectiveKind::all_gather || *kind == CollectiveKind::reduce_scatter) return;
    on_host_[{*kind, 0, "", units::add(bytes, bytes)}].push_back(number_of(event, "dur"));
  }

  // A kernel belongs to the operator that launched it and to all operators around that one.
  void give_kernels_to_operations() {
    std::stable_sort(operations_.begin(), operations_.end(), [](const Operation& a, const Operation& b) {
      return std::tuple(a.thread, a.begin, -a.end) < std::tuple(b.thread, b.begin, -b.end);
    });
    std::vector<Operation*> around;
    for (Operation& one : operations_) {
      while (!around.empty() && (around.back()->thread != one.thread || around.back()->end <= one.begin))
        around.pop_back();
      around.push_back(&one);
      const auto found = kernels_.find(one.external);
      if (found == kernels_.end()) continue;
      for (Operation* outer : around) outer->kernels += found->second;
    }
  }

  KinetoTrace trace_;
  std::vector<Operation> operations_;
  std::unordered_map<std::int64_t, double> kernels_;  // by the operator's external id
  Messages on_gpu_, on_host_;
};

}  // namespace

Result<KinetoTrace> read_kineto_json(std::string_view text, const std::string& file) {
  sj::dom::parser parser;
  sj::dom::object whole;
  sj::dom::array events;
  const sj::padded_string padded = padded_copy(text);
  const auto error = parser.parse(padded).get(whole);
  check_memory(error);
  if (error != sj::SUCCESS)
    return fail(Error{ErrorKind::input, fmt::format("no JSON object: {}", sj::error_message(error)), file});
  if (whole["traceEvents"].get(events) != sj::SUCCESS)
    return fail(Error{ErrorKind::input,
                      "there is no list traceEvents: expected a trace of torch.profiler's export_chrome_trace()",
                      file});
  KinetoReader reader;
  reader.read(events);
  KinetoTrace trace = reader.finish();
  if (trace.calls.empty() && trace.collectives.empty()) {
    return fail(Error{
        ErrorKind::input,
        "no operator with the sizes of its tensors is in it; was the profiler started with record_shapes=True?", file});
  }
  return trace;
}

Result<KinetoTrace> read_kineto(const std::string& path) {
  HOCKET_TRY(const std::string text, read_bytes(path));
  return read_kineto_json(text, path);
}

}  // namespace hocket
