// How the collectives of one bucket become one. A CollectiveForm writes three parts, each at its own place: all up to the collective, the wait
// if there is one for all, and for each member the value that stands for its old wait.
#pragma once

#include <memory>

#include "fuse/node_writer.h"
#include "hocket/fuse/comm_block.h"
#include "hocket/fuse/form.h"

namespace hocket::fuse {

using Members = std::vector<const CommBlock*>;

class CollectiveForm {
 public:
  CollectiveForm(NodeWriter writer, Members members) : writer_(std::move(writer)), members_(std::move(members)) {}
  CollectiveForm(const CollectiveForm&) = delete;
  CollectiveForm& operator=(const CollectiveForm&) = delete;
  virtual ~CollectiveForm() = default;

  virtual void start() = 0;
  virtual void wait() {}
  virtual NodeId result(std::size_t member) = 0;

 protected:
  const Graph& from() const { return writer_.from(); }
  // The arguments of the members' collective behind the first: they are equal.
  std::vector<ArgInit> call_on(ArgInit input) const;
  std::vector<ArgInit> inputs() const;  // of all members, as they are now
  std::int64_t group_size() const;
  bool divides() const;  // the members' inputs are divisions by one number
  std::int64_t result_elements(std::size_t member) const;

  NodeWriter writer_;
  Members members_;
};

// DDP: the members average; where their inputs are divisions of gradients by one number, that is done once for all.
std::unique_ptr<CollectiveForm> make_ddp_form(FusedForm form, NodeWriter writer, Members members);
// all_gather_into_tensor and reduce_scatter_tensor.
std::unique_ptr<CollectiveForm> make_gather_form(FusedForm form, NodeWriter writer, Members members);
std::unique_ptr<CollectiveForm> make_scatter_form(FusedForm form, NodeWriter writer, Members members);

}  // namespace hocket::fuse
