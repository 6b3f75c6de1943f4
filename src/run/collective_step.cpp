#include "run/collective_step.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "ir/node_facts.h"

namespace hocket {

namespace {

// The operators that the executor knows. All else that they say follows from their kind.
struct Form {
  std::string_view op;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  std::size_t data_arg = 0;  // the position of what is communicated
  std::size_t dim_arg = 0;   // of the dim along which it is; 0: the first dim
};

constexpr auto copying = CollectiveAlgorithm::one_shot;
constexpr std::array forms = {
    Form{"_c10d_functional.all_reduce.default"},
    Form{"_c10d_functional.all_reduce_.default"},
    Form{"_c10d_functional.all_reduce_coalesced.default"},
    Form{"_c10d_functional.all_reduce_coalesced_.default"},
    Form{"_c10d_functional.all_gather_into_tensor.default"},
    Form{"_c10d_functional.all_gather_into_tensor_out.default"},
    Form{"_c10d_functional.all_gather_into_tensor_coalesced.default"},
    Form{"_c10d_functional.reduce_scatter_tensor.default"},
    Form{"_c10d_functional.reduce_scatter_tensor_out.default"},
    Form{"_c10d_functional.reduce_scatter_tensor_coalesced.default"},
    Form{"_c10d_functional.all_to_all_single.default"},
    Form{"hocket.all_to_all_single.default"},
    Form{"_c10d_functional.broadcast.default"},
    Form{"_c10d_functional.broadcast_.default"},
    Form{"hocket.all_gather_along.default", CollectiveAlgorithm::automatic, 0, 1},
    Form{"hocket.reduce_scatter_along.default", CollectiveAlgorithm::automatic, 0, 2},
    // On memory that all ranks see, the symmetric algorithm is chosen by itself.
    Form{"symm_mem.one_shot_all_reduce.default"},
    Form{"symm_mem.one_shot_all_reduce_out.default"},
    Form{"symm_mem.one_shot_all_reduce_copy.default", copying, 1},
    Form{"symm_mem.one_shot_all_reduce_copy_out.default", copying, 1},
    Form{"symm_mem.two_shot_all_reduce_.default"},
};

const Form* form_of(std::string_view op) {
  const auto* const form = std::find_if(forms.begin(), forms.end(), [&](const Form& one) { return one.op == op; });
  return form == forms.end() ? nullptr : form;
}

Result<std::int64_t> elements_of(const Program& program, OperandId operand) {
  std::int64_t elements = 1;
  for (const Dim dim : program.type(operand).shape) {
    if (!dim.is_static()) return fail(ErrorKind::input, "an operand has a symbolic size");
    elements *= dim.value();
  }
  return elements;
}

// hocket's own all-to-alls: (input, two lists or dims, group, tail).
constexpr std::size_t tail_arg = 4;
constexpr std::string_view exchange_along = "hocket.all_to_all_along.default";
constexpr std::int32_t exchange_tag = std::numeric_limits<std::int32_t>::min();  // no program's own

Result<std::size_t> dim_of(const TypeView& type, const Arg& arg) {
  if (!arg.is(ArgKind::integer)) return fail(ErrorKind::input, "the dim is no number");
  const auto dims = static_cast<std::int64_t>(type.shape.size());
  const std::int64_t dim = arg.as_integer() < 0 ? arg.as_integer() + dims : arg.as_integer();
  if (dim < 0 || dim >= dims) return fail(ErrorKind::input, "dim {} of a tensor with {}", arg.as_integer(), dims);
  return static_cast<std::size_t>(dim);
}

// What lies before the dim along which it is communicated, each as if it were alone.
Result<std::int64_t> rows_before(const TypeView& type, const Arg& arg) {
  HOCKET_TRY(const std::size_t along, dim_of(type, arg));
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < along; ++d) rows *= type.shape[d].value();
  return rows;
}

std::vector<OperandId> operands_in(const Program& program, const Arg& arg) {
  std::vector<OperandId> operands;
  program.pool().for_each_value(arg, [&](const Arg& value) { operands.push_back(value.as_operand()); });
  return operands;
}

}  // namespace

Result<CollectiveStep> CollectiveStep::create(const Program& program, StepId step, const ProgramGroups& groups,
                                              std::chrono::milliseconds timeout) {
  CollectiveStep collective(groups.of(program.collective(step)->group));
  collective.options_.timeout = timeout;
  collective.options_.blocking = program.op_spec(step)->effects.comm->blocking;
  collective.kind_ = program.collective(step)->kind;
  if (collective.kind_ == CollectiveKind::p2p) {
    HOCKET_CHECK(collective.take_messages(program, step));
    return collective;
  }
  if (program.op_name(step) == exchange_along) {
    HOCKET_CHECK(collective.take_exchanged_rows(program, step));
    HOCKET_CHECK(collective.take_tail(program, step));
    return collective;
  }
  HOCKET_CHECK(collective.take_tensors(program, step));
  HOCKET_CHECK(collective.take_arguments(program, step));
  HOCKET_CHECK(collective.take_tail(program, step));
  collective.transfers_.resize(collective.parts_.size());
  return collective;
}

Result<CollectiveStep::Tensor> CollectiveStep::tensor_of(const Program& program, OperandId operand) {
  const TypeView type = program.type(operand);
  if (!type.offset.is_static()) return fail(ErrorKind::input, "an operand has a symbolic offset");
  return Tensor{program.operand(operand).buffer, type.offset.value() * size_of(type.dtype)};
}

Status CollectiveStep::take_tensors(const Program& program, StepId step) {
  const Form* const form = form_of(program.op_name(step));
  const auto args = program.args(step);
  if (form == nullptr || form->data_arg >= args.size()) {
    return fail(ErrorKind::usage, "the executor has no {}: lower the graph without it, or give it a kernel that blocks",
                program.op_name(step));
  }
  options_.algorithm = form->algorithm;
  const std::vector<OperandId> inputs = operands_in(program, args[form->data_arg]);
  const auto outputs = program.writes(step);  // results first
  if (outputs.size() < inputs.size()) {
    return fail(ErrorKind::input, "communicates {} tensors and writes {}", inputs.size(), outputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    dtype_ = program.type(inputs[i]).dtype;
    if (dtype_ != program.type(inputs[0]).dtype) {
      return fail(ErrorKind::input, "communicates {} and {} at once, expected one dtype", short_name(dtype_),
                  short_name(program.type(inputs[0]).dtype));
    }
    const bool scatters = kind_ == CollectiveKind::reduce_scatter;
    Part part;
    HOCKET_TRY(part.input, tensor_of(program, inputs[i]));
    HOCKET_TRY(part.output, tensor_of(program, outputs[i]));
    HOCKET_TRY(part.count, elements_of(program, scatters ? outputs[i] : inputs[i]));
    if (kind_ == CollectiveKind::all_to_all) part.count /= group_.group().size();
    parts_.push_back(part);
  }
  if (form->dim_arg == 0 || form->dim_arg >= args.size()) return {};
  HOCKET_TRY(const std::int64_t rows, rows_before(program.type(inputs[0]), args[form->dim_arg]));
  return cut_to_rows(rows);
}

// The rows of what goes in and of what comes out lie behind each other in both.
Status CollectiveStep::cut_to_rows(std::int64_t rows) {
  const Part whole = parts_[0];
  if (rows == 0) return {};
  const std::int64_t ranks = group_.group().size();
  const bool scatters = kind_ == CollectiveKind::reduce_scatter;
  const std::int64_t count = whole.count / rows;
  const std::int64_t bytes = count * static_cast<std::int64_t>(size_of(dtype_));
  parts_.assign(static_cast<std::size_t>(rows), whole);
  for (std::int64_t row = 0; row < rows; ++row) {
    Part& part = parts_[static_cast<std::size_t>(row)];
    part.input.offset += row * bytes * (scatters ? ranks : 1);
    part.output.offset += row * bytes * (scatters ? 1 : ranks);
    part.count = count;
  }
  return {};
}

// The rows of a tail follow those that come.
Status CollectiveStep::take_tail(const Program& program, StepId step) {
  const auto args = program.args(step);
  if (kind_ != CollectiveKind::all_to_all || args.size() <= tail_arg) return {};
  const OperandId result = program.writes(step)[0];
  for (const OperandId tail : operands_in(program, args[tail_arg])) {
    Copy copy;
    HOCKET_TRY(copy.from, tensor_of(program, tail));
    HOCKET_TRY(copy.to, tensor_of(program, result));
    HOCKET_TRY(copy.bytes, elements_of(program, tail));
    HOCKET_TRY(std::int64_t before, elements_of(program, result));
    const auto size = static_cast<std::int64_t>(size_of(program.type(tail).dtype));
    copy.to.offset += (before - copy.bytes) * size;
    copy.bytes *= size;
    copies_.push_back(copy);
  }
  return {};
}

// Row by row of what lies before the dims: a part for each rank along the one, a part of each rank along the other.
Status CollectiveStep::take_exchanged_rows(const Program& program, StepId step) {
  in_messages_ = true;
  const auto args = program.args(step);
  const OperandId input = operands_in(program, args[0])[0];
  const TypeView type = program.type(input);
  dtype_ = type.dtype;
  HOCKET_TRY(const std::size_t gather, dim_of(type, args[1]));
  HOCKET_TRY(const std::size_t shard, dim_of(type, args[2]));
  Part whole;
  HOCKET_TRY(whole.input, tensor_of(program, input));
  HOCKET_TRY(whole.output, tensor_of(program, program.writes(step)[0]));
  const std::int64_t ranks = group_.group().size();
  const auto own = static_cast<std::int32_t>(group_.group().place());
  const auto size = static_cast<std::int64_t>(size_of(dtype_));
  // As three dims: those before both, those between, and those behind, with the part of the first dim of each that is cut.
  const std::size_t first = std::min(gather, shard);
  const std::size_t second = std::max(gather, shard);
  std::int64_t outer = 1;
  std::int64_t middle = 1;
  std::int64_t inner = 1;
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    if (!type.shape[d].is_static()) return fail(ErrorKind::input, "an operand has a symbolic size");
    (d < first ? outer : d < second ? middle : inner) *= type.shape[d].value();
  }
  const bool shards_first = shard < gather;
  // A piece is what lies together on both sides.
  const std::int64_t rows = shards_first ? middle / ranks : middle;
  const std::int64_t count = shards_first ? inner : inner / ranks;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t peer = 0; peer < ranks; ++peer) {
      for (std::int64_t row = 0; row < rows && count > 0; ++row) {
        const std::int64_t by_part = (o * ranks + peer) * rows + row;  // where the parts lie behind each other
        const std::int64_t by_row = (o * rows + row) * ranks + peer;
        Part piece = whole;
        piece.input.offset += (shards_first ? by_part : by_row) * count * size;
        piece.output.offset += (shards_first ? by_row : by_part) * count * size;
        if (peer == own) {
          copies_.push_back({piece.input, piece.output, count * size});
          continue;
        }
        for (const auto direction : {Message::Direction::send, Message::Direction::receive}) {
          parts_.push_back({direction == Message::Direction::send ? piece.input : piece.output, {}, count});
          messages_.push_back({direction, nullptr, count, static_cast<std::int32_t>(peer), exchange_tag});
        }
      }
    }
  }
  return {};
}

// isend and irecv (tensor, peer, tag, group); batch_p2p_ops (operations, peers, tags, tensors, group).
Status CollectiveStep::take_messages(const Program& program, StepId step) {
  in_messages_ = true;
  const bool is_batch = program.op_name(step) == "_c10d_functional.batch_p2p_ops.default";
  const auto args = program.args(step);
  const std::vector<OperandId> tensors = operands_in(program, args[is_batch ? 3 : 0]);
  const auto of = [&](std::size_t arg, std::size_t message) {
    return is_batch ? program.pool().elements(args[arg])[message] : args[arg];
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TypeView type = program.type(tensors[i]);
    if (type.dtype != program.type(tensors[0]).dtype || !is_contiguous(type)) {
      return fail(ErrorKind::usage, "message {} of {}, expected contiguous tensors of one dtype", i, tensors.size());
    }
    dtype_ = type.dtype;
    const std::string_view operation = is_batch ? program.pool().text(of(0, i)) : program.op_name(step);
    Part part;
    Message message;
    HOCKET_TRY(part.input, tensor_of(program, tensors[i]));
    HOCKET_TRY(message.count, elements_of(program, tensors[i]));
    if (operation.find("irecv") != std::string_view::npos) message.direction = Message::Direction::receive;
    message.peer = static_cast<std::int32_t>(of(1, i).as_integer());
    message.tag = static_cast<std::int32_t>(of(2, i).as_integer());
    parts_.push_back(part);
    messages_.push_back(message);
  }
  return {};
}

Status CollectiveStep::take_arguments(const Program& program, StepId step) {
  const auto args = program.args(step);
  const int reduce_arg = program.op_spec(step)->effects.comm->reduce_arg;
  if (reduce_arg >= 0 && static_cast<std::size_t>(reduce_arg) < args.size()) {
    const std::string_view name = program.pool().text(args[static_cast<std::size_t>(reduce_arg)]);
    const auto reduce = reduce_op_from_name(name);
    if (!reduce) return fail(ErrorKind::input, "unknown reduce operation '{}'", name);
    reduce_ = *reduce;
  }
  if (kind_ == CollectiveKind::broadcast) source_ = static_cast<std::int32_t>(args[1].as_integer());
  if (kind_ != CollectiveKind::all_to_all) return {};
  const std::vector<OperandId> input = operands_in(program, args[0]);
  std::int64_t row = 1;
  for (const Dim dim : program.type(input[0]).shape.subspan(1)) row *= dim.value();
  for (const Arg& size : program.pool().elements(args[1])) output_splits_.push_back(size.as_integer() * row);
  for (const Arg& size : program.pool().elements(args[2])) input_splits_.push_back(size.as_integer() * row);
  return {};
}

Work CollectiveStep::start(const ProgramMemory& memory) {
  for (const Copy& copy : copies_) {
    std::memcpy(copy.to.in(memory), copy.from.in(memory), static_cast<std::size_t>(copy.bytes));
  }
  if (in_messages_) {
    for (std::size_t i = 0; i < parts_.size(); ++i) messages_[i].data = parts_[i].input.in(memory);
    return group_.batch(messages_, dtype_, options_);
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    transfers_[i] = {parts_[i].input.in(memory), parts_[i].output.in(memory), parts_[i].count};
  }
  const bool coalesced = transfers_.size() != 1;
  const Transfer one = coalesced ? Transfer{} : transfers_[0];
  switch (kind_) {
    case CollectiveKind::all_reduce:
      return coalesced ? group_.all_reduce_coalesced(transfers_, dtype_, reduce_, options_)
                       : group_.all_reduce(one.input, one.output, one.count, dtype_, reduce_, options_);
    case CollectiveKind::all_gather:
      return coalesced ? group_.all_gather_coalesced(transfers_, dtype_, options_)
                       : group_.all_gather(one.input, one.output, one.count, dtype_, options_);
    case CollectiveKind::reduce_scatter:
      return coalesced ? group_.reduce_scatter_coalesced(transfers_, dtype_, reduce_, options_)
                       : group_.reduce_scatter(one.input, one.output, one.count, dtype_, reduce_, options_);
    case CollectiveKind::all_to_all:
      return input_splits_.empty()
                 ? group_.all_to_all(one.input, one.output, one.count, dtype_, options_)
                 : group_.all_to_all(one.input, input_splits_, one.output, output_splits_, dtype_, options_);
    case CollectiveKind::broadcast:
      return group_.broadcast(one.input, one.output, one.count, dtype_, source_, options_);
    case CollectiveKind::p2p: break;
  }
  return Work::failed({ErrorKind::internal, "a collective of no kind", ""});
}

}  // namespace hocket
