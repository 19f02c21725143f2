// One trace: the graph being recorded, its symbols, the real tensors it met. While a TraceScope is
// alive, torch ops of this thread come to dispatch().
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "ir/graph.h"
#include "normalize/node_runner.h"
#include "normalize/tracer/fake_tensor.h"
#include "normalize/tracer/op_entry.h"
#include "normalize/tracer/symbolic_shapes.h"

namespace triptych::normalize {

struct TraceCounters {
  int recorded = 0;
  int by_rule = 0;
  int by_python_meta = 0;
  int python_decompositions = 0;
  int random = 0;                              // ops that draw from a generator
  std::map<std::string, int> python_meta_ops;  // by op, for reports and for whoever writes rules
  std::map<std::string, int> python_decomposed_ops;
};

class Trace {
 public:
  Trace(std::string name, NodeRunner& runner, std::set<std::string> keep);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  static Trace* current();  // of this thread; nullptr when none is running

  // The boxed kernel on the trace key.
  void dispatch(OpEntry& op, torch::jit::Stack* stack);

  // Keeps a composite op that has been caught above autograd as one node. False: it is not in the
  // keep list, or this call has to be taken apart.
  bool keep_composite(OpEntry& op, torch::jit::Stack* stack);

  ir::Graph& graph() { return graph_; }
  NodeRunner& runner() { return runner_; }
  const std::shared_ptr<SymbolicShapes>& shapes() { return shapes_; }
  TraceCounters& counters() { return counters_; }
  // The ops that the trace decided to keep: what may stand in its graph.
  const std::set<const ir::Target*>& kept_targets() const { return kept_targets_; }

  // The fake of a real tensor: an input's when it is known, else a constant of the graph.
  at::Tensor lift(const at::Tensor& real);
  // A real tensor that the program may meet, and the input that it is.
  void know(const at::Tensor& real, const at::Tensor& fake);

  ir::TensorType type_of(const at::Tensor& fake) const;
  static ir::TensorType type_of(const ResultMeta& meta);
  void set_recording(bool recording) { recording_ = recording; }
  const std::vector<int>& node_locations() const { return node_locations_; }

 private:
  friend class TraceScope;
  enum class Action : std::uint8_t {
    kUnknown,
    kKeep,
    kCppDecomposition,
    kCompositeImplicit,
    kCompositeExplicit,
    kPythonDecomposition,
  };
  struct Scan {  // what the arguments are
    bool any_fake = false;
    bool any_tensor = false;
    bool all_meta = true;  // of the tensors
    c10::Device device{c10::kCPU};
    void add(const at::Tensor& tensor);
    void add(const c10::IValue& value);
  };

  // An in-place op that functionalization has announced: the functional op that follows must not
  // change the layout.
  struct ExpectedLayout {
    const OpEntry* in_place;
    std::string op;  // of the functional op, as "aten::add"
    c10::SymDimVector sizes, strides;
  };

  Action action_for(const OpEntry& op);
  Action choose_action(const OpEntry& op);
  Scan scan(const OpEntry& op, c10::ArrayRef<c10::IValue> args);
  bool handle_special(OpEntry& op, const Scan& found, torch::jit::Stack* stack);
  void try_unreplaced(const OpEntry& op, const torch::jit::Stack& stack);
  void run(OpEntry& op, const Scan& found, torch::jit::Stack* stack);
  void handle_reference_meta(OpEntry& op, torch::jit::Stack* stack);
  at::Tensor lift_literal(const at::Tensor& real);
  bool run_functionalized(OpEntry& op, torch::jit::Stack* stack);
  void keep_layout(const ExpectedLayout& expected, c10::IValue& result);
  bool decompose(OpEntry& op, Action action, torch::jit::Stack* stack);
  bool decompose_by_kernel(OpEntry& op, torch::jit::Stack* stack);
  void keep_node(OpEntry& op, const Scan& found, torch::jit::Stack* stack);
  struct Results {                  // of one node
    std::vector<ResultMeta> metas;  // of the tensors, lists flattened
    std::vector<at::Tensor> fakes;  // the same; undefined where the op returns None
    std::vector<int> counts;    // per return of the schema: its tensors; -1: the next of `others`
    std::vector<bool> is_list;  // per return
    std::vector<c10::IValue> others;  // results that are no tensors
  };
  class Unrecorded;  // ends a stretch of the trace that leaves no node
  bool describe_results(OpEntry& op, c10::DispatchKey key, c10::ArrayRef<c10::IValue> args,
                        bool wrapped, Results& results);
  bool run_library_meta(OpEntry& op, c10::ArrayRef<c10::IValue> args, Results& results);
  // The node and the fakes of a kept op; the stack ends in its results instead of its arguments.
  void finish_node(OpEntry& op, c10::ArrayRef<c10::IValue> args, Results& results,
                   torch::jit::Stack* stack);
  bool run_rule(OpEntry& op, c10::ArrayRef<c10::IValue> args, Results& results);
  void run_meta_kernel(OpEntry& op, const Scan& found, c10::ArrayRef<c10::IValue> args,
                       Results& results);
  void record(OpEntry& op, c10::ArrayRef<c10::IValue> args, Results& results);
  ir::Argument to_argument(ArgKind kind, const c10::IValue& value);
  ir::Argument tensor_argument(const at::Tensor& tensor);

  ir::Graph graph_;
  NodeRunner& runner_;
  std::shared_ptr<SymbolicShapes> shapes_;
  std::set<std::string> keep_;
  TraceCounters counters_;
  std::set<const ir::Target*> kept_targets_;
  std::vector<Action> actions_;  // by OpEntry::index
  std::unordered_map<const c10::TensorImpl*, at::Tensor> lifted_;
  std::vector<at::Tensor> keep_alive_;
  std::vector<int> node_locations_;  // by NodeId
  std::optional<ExpectedLayout> announced_;
  bool recording_ = true;
  int depth_ = 0;           // of decompositions running
  int replaced_depth_ = 0;  // of those that eager does not run
};

// Makes a trace current and sets the thread's dispatch state; puts everything back at the end,
// whatever happens.
class TraceScope {
 public:
  explicit TraceScope(Trace& trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace* previous_;
  c10::impl::LocalDispatchKeySet saved_;
  bool saved_reapply_views_;
};

}  // namespace triptych::normalize
