// What a lowering works with: it asks where values lie and appends steps. lower() makes one for a whole graph and hands it to the
// lowering of each node, in the order of the nodes.
//
//   Status lower_my_scale(Emitter& emit, NodeId node) {           // y = mylib.scale(x, 2.0)
//     const OperandId y = emit.operand(node);
//     emit.step(node, "aten.mul.Tensor", emit.arguments(node), {}, {{y}});
//     return {};
//   }
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hocket/ir/graph.h"
#include "hocket/ir/program.h"
#include "hocket/lower/lower.h"
#include "hocket/lower/report.h"

namespace hocket {

class StorageUse;

class Emitter {
 public:
  Emitter(const Graph& graph, const LowerOptions& options);
  ~Emitter();
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  const Graph& graph() const { return graph_; }
  const LowerOptions& options() const { return options_; }
  const Program& program() const { return builder_.program(); }  // so far; buffers are added at the end
  LowerReport& report() { return report_; }

  // ---- values
  // Where an output of a node lies. The buffer of a new storage is made when it is first asked for.
  OperandId operand(NodeId node, std::size_t output = 0);
  // From now on that output, and every view of it, lies there: `where` has its shape, dtype and strides.
  // False where that can't be said, since a view could reach beyond the buffer or between its elements.
  bool place(NodeId node, std::size_t output, OperandId where);
  // Gives a view memory of its own, laid out as its storage is: for operators that change what is read through them. Views of it
  // lie there, too. Nothing when the storage is written, since the two would then have to stay alike.
  std::optional<OperandId> detach(NodeId view);
  // An argument of the graph as one of the program: values become operands, known numbers themselves.
  Arg argument(const Arg& arg);
  std::vector<Arg> arguments(NodeId node);
  std::vector<Keyword> keywords(NodeId node);
  Arg list(std::span<const Arg> elements) { return Arg::list(builder_.tables().pool().add(elements)); }
  // A number that nothing has to compute at run time.
  bool is_known_number(NodeId node) const;

  // ---- memory
  TypeView type(OperandId operand) const { return program().type(operand); }
  bool is_contiguous(OperandId operand);
  bool same_layout(OperandId operand, const Output& output) const;  // dtype, shape and strides
  bool is_owned(OperandId operand) const;                           // neither an input nor a constant
  // Is this node the last that may see the operand's buffer, and nothing else in flight over it?
  bool dies_at(OperandId operand, NodeId node) const;
  // Makes the operand's buffer a communication buffer of the group; or says why it can't be one.
  std::optional<OrdinaryReason> realize(OperandId operand, GroupId group);
  std::optional<OrdinaryReason> can_realize(OperandId operand, GroupId group) const;
  // A new contiguous tensor with the dtype and shape of another.
  OperandId temporary(std::string_view name, OperandId like);

  // ---- steps
  // Appends a step with the node's name and measured facts (a second one for the same node gets a name of its own).
  StepId step(NodeId node, std::string_view op, std::span<const Arg> args, std::span<const Keyword> keywords,
              std::span<const OperandId> writes);
  StepId copy(NodeId node, OperandId from, OperandId to, CopyReason reason);
  // The node as a step of its own, as its operator's row says. What is done to nodes without a lowering.
  Status ordinary(NodeId node);

  // ---- communication
  // The step carries out this collective. Its wait completes it, and then what was communicated elsewhere is copied back.
  struct CopyBack {
    OperandId from, to;
  };
  void communicates(NodeId node, StepId step, std::vector<CopyBack> copies_back);
  // The wait for a collective: a step, or nothing where none is needed.
  void wait(NodeId node);

  // ---- for lower()
  // The tensors of this collective are never placed in symmetric memory, whoever else communicates them. Before the first step.
  void keep_ordinary(NodeId node, OrdinaryReason reason);
  void follow_view(NodeId node);  // lies where what it views lies
  void add_inputs();
  void add_results(NodeId output);
  Result<Lowered> finish();

 private:
  struct BufferRecord {
    std::string name = {};
    Home home = Home::arena;
    GroupId group = {};
    Dim bytes = 0;
    DeviceId device = {};  // of the graph; none(): the host
    NodeId last_use = {};
    std::optional<OrdinaryReason> kept_ordinary = {};
    int flights = 0;  // communications under way that read or write it
  };
  // Where a storage lies.
  struct Place {
    BufferId buffer;
    std::int64_t base = 0;  // in bytes
  };
  enum class Flight : std::uint8_t { none, flying, landed, blocking };
  struct CollectiveRecord {
    Flight state = Flight::none;
    StepId step;
    std::vector<CopyBack> copies_back;
  };

  Place place_of(StorageId storage);
  Home home_of(StorageId storage) const;
  OperandId number(NodeId node);  // the cell that holds it
  bool is_fresh(NodeId node, std::size_t output) const;
  std::vector<OperandId> written_by(NodeId node);
  struct Names {
    std::unordered_set<std::string> taken;
    std::unordered_map<std::string, int> last_number;  // of a name that was wanted again
  };
  enum class NameKind : std::uint8_t { own, derived };
  std::string unique_name(std::string_view wanted, NameKind kind, Names& names);
  BufferId add_buffer(BufferRecord record, NameKind kind);
  void count_flights(StepId step, int change);
  void wait_for_input(NodeId node);

  const Graph& graph_;
  const LowerOptions& options_;
  ProgramBuilder builder_;
  LowerReport report_;
  std::unique_ptr<StorageUse> use_;
  std::vector<BufferRecord> buffers_;
  std::vector<std::optional<OrdinaryReason>> kept_ordinary_;  // by storage
  std::vector<Place> places_;                                 // by storage
  std::vector<BufferId> detached_;                            // by node; none(): it lies in its storage's buffer
  std::vector<OperandId> operands_;                           // by output of the graph; none(): not asked for yet
  std::vector<OperandId> numbers_;                            // by node
  std::vector<CollectiveRecord> collectives_;                 // by node
  std::vector<BufferId> inputs_;
  std::vector<bool> ordinary_groups_;  // by group
  std::unordered_set<std::string_view> node_names_;
  Names step_names_;
  Names buffer_names_;
};

}  // namespace hocket
