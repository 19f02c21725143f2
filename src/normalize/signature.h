// The signature of a traced program: its inputs as fakes under functionalization, and, once it has
// run, what its outputs are (fresh, inputs, views) and which inputs it has changed.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "normalize/normalize.h"

namespace triptych::normalize {

class Signature {
 public:
  // Adds the inputs to the graph. Called inside the trace's scope.
  Signature(Trace& trace, const std::vector<ProgramInput>& inputs);

  const std::vector<c10::IValue>& traced_inputs() const { return traced_; }

  // Writes outputs and mutations. Called inside the trace's scope.
  void finish(const std::vector<c10::IValue>& outputs);

 private:
  struct TracedInput {
    at::Tensor real, fake, wrapper;  // undefined for an integer
    bool data_mutated = false;
  };
  using Memory = const c10::StorageImpl*;

  void add_tensor(const ProgramInput& input);
  void add_integer(const ProgramInput& input);
  void write_mutations();
  void check_overlap(std::size_t mutated) const;
  void count_sharers(const std::vector<c10::IValue>& outputs);
  ir::Output make_output(const c10::IValue& output);
  ir::Output make_plain(const at::Tensor& output);
  ir::Output make_view(const at::Tensor& output);
  void add_hidden_bases();
  ir::TensorType view_type(const at::Tensor& wrapper, const at::Tensor& base);
  // A value whose memory is nobody else's: a clone where it would be an input's, a constant's or
  // another output's.
  ir::ValueId owned(const at::Tensor& fake);
  ir::ValueId clone_of(const at::Tensor& fake);
  ir::ValueId root_of(ir::ValueId value) const;
  std::optional<std::size_t> input_of(ir::ValueId value) const;

  Trace& trace_;
  std::vector<TracedInput> inputs_;
  std::vector<c10::IValue> traced_;
  std::vector<at::Tensor> output_tensors_;      // by output index; undefined for others
  std::map<Memory, std::size_t> input_memory_;  // functional storage -> input
  std::map<Memory, std::vector<const c10::TensorImpl*>> sharers_;
  std::map<Memory, std::size_t> owners_;  // functional storage -> the output that is its base
  std::vector<std::pair<std::size_t, at::Tensor>>
      pending_;  // outputs that are views of a base that is none
  std::set<ir::ValueId> owned_roots_;
};

}  // namespace triptych::normalize
