#include "fuse/forms.h"

#include "fuse/ddp_filter.h"

namespace hocket::fuse {

std::vector<ArgInit> CollectiveForm::call_on(ArgInit input) const {
  std::vector<ArgInit> call = {std::move(input)};
  const auto args = from().args(members_.back()->collective);
  for (std::size_t i = 1; i < args.size(); ++i) call.push_back(NodeWriter::same(args[i]));
  return call;
}

std::vector<ArgInit> CollectiveForm::inputs() const {
  std::vector<ArgInit> list;
  for (const CommBlock* member : members_) list.emplace_back(writer_.now(member->input()));
  return list;
}

std::int64_t CollectiveForm::group_size() const {
  const Collective* collective = from().collective(members_.front()->collective);
  return static_cast<std::int64_t>(from().group(collective->group).ranks.size());
}

bool CollectiveForm::divides() const { return reduce_operation(from(), members_.front()->collective) != "avg"; }

std::int64_t CollectiveForm::result_elements(std::size_t member) const {
  return elements_of(from(), members_[member]->collective);
}

namespace {

// ---- coalesced: a list in, a list out

class Coalesced : public CollectiveForm {
 public:
  using CollectiveForm::CollectiveForm;

  void start() override { communicate(inputs()); }
  NodeId result(std::size_t member) override { return writer_.wait(results_[member], static_cast<int>(member)); }

 protected:
  void communicate(std::vector<ArgInit> list) {
    const NodeId fused = writer_.op(operator_name(), call_on(ArgInit(std::move(list))), "coalesced");
    // All at once: a getitem that stood at its member's wait would keep the memory of all members until then.
    for (std::size_t i = 0; i < members_.size(); ++i) results_.push_back(writer_.getitem(fused, i, "result"));
  }

 private:
  // "…all_reduce_.default" -> "…all_reduce_coalesced": the fused one allocates its results.
  std::string operator_name() const {
    std::string name(from().op_name(members_.back()->collective));
    name.resize(name.rfind('.'));
    if (name.ends_with('_')) name.pop_back();
    return name + "_coalesced";
  }

  std::vector<NodeId> results_;
};

class DdpCoalesced final : public Coalesced {
 public:
  using Coalesced::Coalesced;

  void start() override {
    if (!divides()) return Coalesced::start();
    std::vector<ArgInit> gradients;
    for (const CommBlock* member : members_) {
      gradients.emplace_back(writer_.now(from().args(member->input())[0].as_node()));
    }
    const Arg divisor = from().args(members_.back()->input())[1];
    const NodeId divided =
        writer_.op("aten._foreach_div.Scalar", {ArgInit(std::move(gradients)), NodeWriter::same(divisor)}, "div");
    std::vector<ArgInit> averages;
    for (std::size_t i = 0; i < members_.size(); ++i) averages.emplace_back(writer_.getitem(divided, i, "average"));
    communicate(std::move(averages));
  }
};

// ---- concat: one tensor in, one tensor out, cut at the members' bounds

class Concat : public CollectiveForm {
 public:
  using CollectiveForm::CollectiveForm;

  void wait() override { parts_ = split(writer_.wait(fused_)); }

 protected:
  // The awaited result as a list, one part for each member.
  virtual NodeId split(NodeId whole) = 0;

  NodeId split_by_results(NodeId whole, std::int64_t ranks, std::int64_t dim) {
    std::vector<ArgInit> sizes;
    for (std::size_t i = 0; i < members_.size(); ++i) sizes.emplace_back(result_elements(i) / ranks);
    return writer_.op("aten.split_with_sizes", {whole, ArgInit(std::move(sizes)), dim}, "split");
  }
  void communicate(NodeId input) {
    fused_ = writer_.op(from().op_name(members_.back()->collective), call_on(input), "collective");
  }
  NodeId part(std::size_t member) { return writer_.getitem(parts_, member, "part"); }
  NodeId shaped(NodeId part, std::size_t member) {
    return writer_.op("aten.reshape", {part, sizes_of(from(), members_[member]->collective)}, "result",
                      static_cast<int>(member));
  }

 private:
  NodeId fused_;
  NodeId parts_;
};

// All gradients flat behind each other.
class DdpConcat final : public Concat {
 public:
  using Concat::Concat;

  void start() override {
    std::vector<ArgInit> flat;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const NodeId input = members_[i]->input();
      const NodeId gradient = divides() ? from().args(input)[0].as_node() : input;
      flat.emplace_back(writer_.op("aten.flatten.using_ints", {writer_.now(gradient)}, "flatten", static_cast<int>(i)));
    }
    const NodeId all = writer_.op("aten.cat", {ArgInit(std::move(flat))}, "cat");
    if (!divides()) return communicate(all);
    const NodeId division = members_.back()->input();
    communicate(writer_.op(from().op_name(division), {all, NodeWriter::same(from().args(division)[1])}, "div"));
  }
  NodeId result(std::size_t member) override { return shaped(part(member), member); }

 protected:
  NodeId split(NodeId whole) override { return split_by_results(whole, 1, 0); }
};

// Every rank sends its shards flat behind each other; rank r's are row r of the result, so that a member's part is a range of
// columns, and its rows have to be copied together.
class GatherConcat final : public Concat {
 public:
  using Concat::Concat;

  void start() override {
    std::vector<ArgInit> flat;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const NodeId shard = writer_.now(members_[i]->input());
      flat.emplace_back(writer_.op("aten.flatten.using_ints", {shard}, "flatten", static_cast<int>(i)));
    }
    communicate(writer_.op("aten.cat", {ArgInit(std::move(flat))}, "cat"));
  }
  NodeId result(std::size_t member) override { return shaped(part(member), member); }

 protected:
  NodeId split(NodeId whole) override {
    const NodeId rows = writer_.op("aten.view", {whole, ArgInit({group_size(), std::int64_t{-1}})}, "rows");
    return split_by_results(rows, group_size(), 1);
  }
};

// A member's input is one chunk for each rank; row r of the fused input holds the chunks of all members for rank r.
class ScatterConcat final : public Concat {
 public:
  using Concat::Concat;

  void start() override {
    std::vector<ArgInit> chunks;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      chunks.emplace_back(writer_.op("aten.reshape",
                                     {writer_.now(members_[i]->input()), ArgInit({group_size(), result_elements(i)})},
                                     "chunks", static_cast<int>(i)));
    }
    communicate(writer_.op("aten.cat", {ArgInit(std::move(chunks)), std::int64_t{1}}, "cat"));
  }
  NodeId result(std::size_t member) override { return shaped(part(member), member); }

 protected:
  NodeId split(NodeId whole) override {
    const NodeId flat = writer_.op("aten.view", {whole, ArgInit(std::vector<ArgInit>{std::int64_t{-1}})}, "flat");
    return split_by_results(flat, 1, 0);
  }
};

}  // namespace

std::unique_ptr<CollectiveForm> make_ddp_form(FusedForm form, NodeWriter writer, Members members) {
  if (form == FusedForm::concat) return std::make_unique<DdpConcat>(std::move(writer), std::move(members));
  return std::make_unique<DdpCoalesced>(std::move(writer), std::move(members));
}

std::unique_ptr<CollectiveForm> make_gather_form(FusedForm form, NodeWriter writer, Members members) {
  if (form == FusedForm::concat) return std::make_unique<GatherConcat>(std::move(writer), std::move(members));
  return std::make_unique<Coalesced>(std::move(writer), std::move(members));
}

std::unique_ptr<CollectiveForm> make_scatter_form(FusedForm form, NodeWriter writer, Members members) {
  if (form == FusedForm::concat) return std::make_unique<ScatterConcat>(std::move(writer), std::move(members));
  return std::make_unique<Coalesced>(std::move(writer), std::move(members));
}

}  // namespace hocket::fuse
