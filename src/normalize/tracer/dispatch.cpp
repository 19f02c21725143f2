// The boxed kernel of the tracer: what happens to one op.
//
//   special cases -> decompose it, or keep it: metadata by rule, node recorded, fakes returned.
#include <algorithm>
#include <numeric>

#include <ATen/ExpandUtils.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/full.h>
#include <ATen/ops/permute.h>

#include "normalize/tracer/eager_trial.h"
#include "normalize/tracer/trace.h"
#include "normalize/tracer/trace_key.h"
#include "normalize/tracer/written_memory.h"
#include "normalize/unsupported.h"

namespace triptych::normalize {

static constexpr const char* kMutationCode = "normalize.mutation";

void Trace::Scan::add(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  any_tensor = true;
  if (as_fake(tensor) != nullptr) {
    any_fake = true;
    all_meta = false;
    if (!tensor.device().is_cpu()) device = tensor.device();
    return;
  }
  all_meta &= tensor.is_meta();
  if (!any_fake && !tensor.device().is_cpu()) device = tensor.device();
}

void Trace::Scan::add(const c10::IValue& value) {
  if (value.isTensor()) {
    add(value.toTensor());
  } else if (value.isTensorList() || value.isOptionalTensorList()) {
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor()) add(item.toTensor());
    }
  }
}

Trace::Scan Trace::scan(const OpEntry& op, c10::ArrayRef<c10::IValue> args) {
  Scan found;
  for (const c10::IValue& arg : args) found.add(arg);
  if (op.device_arg >= 0 && args[op.device_arg].isDevice())
    found.device = args[op.device_arg].toDevice();
  return found;
}

static void wrap_functional(c10::IValue& value) {
  namespace functional = at::functionalization::impl;
  if (value.isSymFloat()) {
    value =
        value.toSymFloat().guard_float("decomposition", 0);  // Python has no form for our floats
  } else if (value.isTensor()) {
    if (value.toTensor().defined() && as_fake(value.toTensor()) != nullptr)
      value = functional::to_functional_tensor(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector())
      list.push_back(as_fake(tensor) != nullptr ? functional::to_functional_tensor(tensor)
                                                : tensor);
    value = std::move(list);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
      list.push_back(tensor && tensor->defined()
                         ? std::optional(functional::to_functional_tensor(*tensor))
                         : tensor);
    value = std::move(list);
  }
}

static bool has_gaps(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides) {
  ir::SymExpr reach = 1;
  ir::SymExpr count = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const ir::SymExpr size = SymbolicShapes::expr(sizes[d]);
    reach += (size - 1) * SymbolicShapes::expr(strides[d]);
    count *= size;
  }
  return !(reach == count);
}

// Whether a random op makes a contiguous result, so that its first number goes to the first element
// by index. In place, the first number goes to the first element in memory.
static bool draws_in_order_of_dims(const OpEntry& op) {
  return op.random && op.info != nullptr && op.info->shape_rule == "contiguous_like";
}

// The dimensions from the largest stride to the smallest; empty where they already are in order.
static std::vector<std::int64_t> memory_order(c10::SymIntArrayRef sizes,
                                              c10::SymIntArrayRef strides,
                                              const SymbolicShapes& shapes) {
  std::vector<std::int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::int64_t> moved;  // where there is more than one element
  std::vector<std::pair<std::int64_t, std::int64_t>> by_stride;
  for (const std::int64_t d : order) {
    if (shapes.hint(SymbolicShapes::expr(sizes[d])) == 1) continue;
    moved.push_back(d);
    by_stride.emplace_back(-shapes.hint(SymbolicShapes::expr(strides[d])), d);
  }
  if (std::is_sorted(by_stride.begin(), by_stride.end())) return {};
  std::sort(by_stride.begin(), by_stride.end());
  for (std::size_t i = 0; i < moved.size(); ++i) order[moved[i]] = by_stride[i].second;
  return order;
}

static std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return back;
}

static void permute_in_place(c10::IValue& value, const std::vector<std::int64_t>& order) {
  value = at::permute(value.toTensor(), order);
}

void Trace::dispatch(OpEntry& op, torch::jit::Stack* stack) {
  if (op.random) ++counters_.random;
  const std::size_t count = op.arg_kinds.size();
  const Scan found = scan(op, c10::ArrayRef<c10::IValue>(*stack).slice(stack->size() - count));
  // Functionalization hands on a view of a plain tensor as it is; the program must see it wrapped.
  const bool wrap = depth_ == 0 && op.is_view && !op.lift && found.any_tensor && !found.any_fake &&
                    !found.all_meta;
  if (!handle_special(op, found, stack)) {
    std::optional<ExpectedLayout> expected;
    const std::string& name = op.handle.schema().name();
    if (announced_ && (announced_->op == name || announced_->op + "_functional" == name))
      std::swap(expected, announced_);
    if (expected) try_unreplaced(*expected->in_place, *stack);
    std::vector<std::int64_t> order;
    if (expected && draws_in_order_of_dims(op)) {
      order = memory_order(expected->sizes, expected->strides, *shapes_);
    } else if (expected && op.draws_by_layout && has_gaps(expected->sizes, expected->strides)) {
      // Contiguous memory stands for the view, and the kernel draws other numbers there.
      throw Unsupported(
          unsupported("normalize.random_view", op.name + " would fill a view with gaps"));
    }
    if (!order.empty()) permute_in_place((*stack)[stack->size() - count], order);
    run(op, found, stack);
    if (!order.empty()) permute_in_place(stack->back(), inverse(order));
    if (expected) keep_layout(*expected, stack->back());
  }
  if (wrap) {
    for (std::size_t i = 0; i < op.written_result.size(); ++i)
      wrap_functional((*stack)[stack->size() - op.written_result.size() + i]);
  }
}

// Raises what eager raises for an op that eager runs too: not for the parts of a decomposition.
void Trace::try_unreplaced(const OpEntry& op, const torch::jit::Stack& stack) {
  if (replaced_depth_ > 0) return;
  const std::size_t count = op.arg_kinds.size();
  try_in_eager(op, c10::ArrayRef<c10::IValue>(stack).slice(stack.size() - count), *shapes_);
}

void Trace::run(OpEntry& op, const Scan& found, torch::jit::Stack* stack) {
  try_unreplaced(op, *stack);
  const Action action = action_for(op);
  if (action == Action::kCompositeExplicit) {
    if (decompose_by_kernel(op, stack)) return;
  } else if (action != Action::kKeep && decompose(op, action, stack)) {
    return;
  }
  if (op.mutates) {
    throw Unsupported(unsupported(
        kMutationCode, op.name + " writes into a tensor that is no input of the program"));
  }
  kept_targets_.insert(op.target);
  keep_node(op, found, stack);
}

static bool has_mask(c10::ArrayRef<c10::IValue> args) {
  for (const c10::IValue& arg : args) {
    if (!arg.isOptionalTensorList()) continue;
    for (const std::optional<at::Tensor>& index : arg.toOptionalTensorVector()) {
      if (index && index->defined() &&
          (index->scalar_type() == at::kBool || index->scalar_type() == at::kByte))
        return true;
    }
  }
  return false;
}

// An in-place op leaves its tensor's layout alone; the functional op that stands for it may have
// chosen another one.
void Trace::keep_layout(const ExpectedLayout& expected, c10::IValue& result) {
  if (!result.isTensor() || as_fake(result.toTensor()) == nullptr) return;
  const at::Tensor value = result.toTensor();
  if (value.sym_sizes() != c10::SymIntArrayRef(expected.sizes)) return;
  // A layout with gaps is a view's: the result is written into its base.
  if (has_gaps(expected.sizes, expected.strides)) return;
  bool same = true;
  for (std::size_t d = 0; d < expected.sizes.size(); ++d) {
    const bool counts =
        expected.sizes[d].is_heap_allocated() || expected.sizes[d].as_int_unchecked() > 1;
    same &= !counts ||
            SymbolicShapes::expr(expected.strides[d]) == SymbolicShapes::expr(value.sym_stride(d));
  }
  if (same) return;
  result =
      at::copy(at::empty_strided_symint(expected.sizes, expected.strides, value.options()), value);
}

bool Trace::handle_special(OpEntry& op, const Scan& found, torch::jit::Stack* stack) {
  const std::size_t base = stack->size() - op.arg_kinds.size();
  if (found.any_tensor && !found.any_fake && found.all_meta) {
    handle_reference_meta(op, stack);
    return true;
  }
  if (op.identity || op.lift) {
    const at::Tensor tensor = (*stack)[base].toTensor();
    const at::Tensor fake = as_fake(tensor) != nullptr ? tensor
                            : op.lift                  ? lift_literal(tensor)
                                                       : lift(tensor);
    at::Tensor result(fake.unsafeGetTensorImpl()->shallow_copy_and_detach(
        c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true));
    stack->resize(base);
    stack->emplace_back(std::move(result));
    return true;
  }
  if (op.dynamic_by_mask && has_mask(c10::ArrayRef<c10::IValue>(*stack).slice(base)))
    runner_.raise_data_dependent(op.name);
  if (op.data_dependent) {
    if (op.reads_scalar) {
      const FakeTensorImpl* fake = as_fake((*stack)[base].toTensor());
      if (fake != nullptr && fake->constant.defined()) {
        c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing());
        (*stack)[base] = fake->constant.item();
        return true;
      }
      runner_.raise_data_dependent("item() of a tensor (or bool, int, float of one)");
    }
    runner_.raise_data_dependent(op.name);
  }
  return false;
}

// The tensor of a literal, as `torch.tensor(0.5)`: nobody else has it. A single element becomes a
// `full` node, which code generation folds; anything else is a constant.
at::Tensor Trace::lift_literal(const at::Tensor& real) {
  if (real.dim() != 0 || !real.is_cpu() || real.layout() != c10::kStrided) return lift(real);
  at::Scalar number;
  {
    c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing());
    number = real.item();
  }
  const at::Tensor fake = at::full({}, number, real.options().requires_grad(false));
  as_fake(fake)->constant = real;
  return fake;
}

// Functionalization runs each in-place op on meta tensors first, to raise what eager raises; this
// is not part of the program. An in-place op answers with its first argument after the check that
// matters.
void Trace::handle_reference_meta(OpEntry& op, torch::jit::Stack* stack) {
  const std::size_t count = op.arg_kinds.size();
  const std::size_t base = stack->size() - count;
  for (const int written : op.written_result) {
    if (written < 0 || !(*stack)[base + written].isTensor()) continue;
    const at::Tensor& target = (*stack)[base + written].toTensor();
    if (target.defined() && overlaps_itself(target, *shapes_))
      throw Unsupported(unsupported("normalize.overlapping_write",
                                    op.name + " writes into a tensor whose elements share memory"));
  }
  if (op.inplace) {
    const at::Tensor self = (*stack)[base].toTensor();
    std::string functional = op.handle.schema().name();
    if (functional.ends_with('_')) functional.pop_back();
    announced_ =
        ExpectedLayout{&op, std::move(functional),
                       c10::SymDimVector(self.sym_sizes().begin(), self.sym_sizes().end()),
                       c10::SymDimVector(self.sym_strides().begin(), self.sym_strides().end())};
    if (op.pointwise) {
      c10::SymDimVector shape(self.sym_sizes().begin(), self.sym_sizes().end());
      for (std::size_t i = base + 1; i < stack->size(); ++i) {
        if (!(*stack)[i].isTensor() || !(*stack)[i].toTensor().defined()) continue;
        const auto sizes = (*stack)[i].toTensor().sym_sizes();
        if (sizes != self.sym_sizes()) shape = at::infer_size_symdimvector(shape, sizes);
      }
      TORCH_CHECK(c10::SymIntArrayRef(shape) == self.sym_sizes(), "output with shape ",
                  self.sym_sizes(), " doesn't match the broadcast shape ",
                  c10::SymIntArrayRef(shape));
    }
    stack->resize(base);
    stack->emplace_back(self);
    return;
  }
  c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing());
  op.handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), stack);
}

Trace::Action Trace::action_for(const OpEntry& op) {
  if (actions_.size() <= static_cast<std::size_t>(op.index)) actions_.resize(op.index + 1);
  if (actions_[op.index] == Action::kUnknown) {
    const Action action = choose_action(op);  // may look up other ops
    actions_[op.index] = action;
  }
  return actions_[op.index];
}

// What is decomposed: everything that is neither core nor kept, by the first way there is. The
// caller's table comes first; random ops stay, because a decomposition would draw other numbers
// than eager.
Trace::Action Trace::choose_action(const OpEntry& op) {
  if (keep_.contains(op.name)) return Action::kKeep;
  if (runner_.has_caller_decomposition(op.handle)) return Action::kPythonDecomposition;
  if (op.core || op.kept) return Action::kKeep;
  if (op.decomposition != nullptr) return Action::kCppDecomposition;
  if (op.composite_implicit) return Action::kCompositeImplicit;
  if (!op.returns_tensors)
    return op.composite_explicit ? Action::kCompositeExplicit : Action::kKeep;
  if (op.random || !op.aten) return Action::kKeep;
  if (runner_.has_python_decomposition(op.handle)) return Action::kPythonDecomposition;
  if (op.composite_explicit) return Action::kCompositeExplicit;
  return Action::kKeep;
}

namespace {

struct Depth {
  explicit Depth(int& depth) : depth_(depth) { ++depth_; }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  int& depth_;
};

}  // namespace

// Our C++ decompositions and torch's composite kernels are functional: they run on the fakes as
// they are. Python ones may use in-place ops, so they run under functionalization again.
bool Trace::decompose(OpEntry& op, Action action, torch::jit::Stack* stack) {
  const Depth deeper(depth_);
  // Eager runs the parts of a composite too, but not those of a decomposition.
  const bool replaces =
      action == Action::kCppDecomposition || action == Action::kPythonDecomposition;
  int unchanged = 0;
  const Depth replaced(replaces ? replaced_depth_ : unchanged);
  switch (action) {
    case Action::kCppDecomposition:
      op.decomposition->callBoxed(op.handle, c10::DispatchKeySet(), stack);
      return true;
    case Action::kCompositeImplicit:
      op.handle.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack);
      return true;
    case Action::kCompositeExplicit:
      op.handle.callBoxedForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd, *stack);
      return true;
    case Action::kPythonDecomposition: {
      ++counters_.python_decompositions;
      ++counters_.python_decomposed_ops[op.name];
      return run_functionalized(op, stack);
    }
    case Action::kKeep:
    case Action::kUnknown:
      break;
  }
  return false;
}

// Some of torch's composite kernels only allocate results and call the op's out form on them: such
// an op has no parts, so it stays if there is a rule for its results (Meta kernels of ops that
// resize or have several kinds of results are not to be trusted). What the attempt recorded is
// dead.
bool Trace::decompose_by_kernel(OpEntry& op, torch::jit::Stack* stack) {
  const std::size_t base = stack->size() - op.arg_kinds.size();
  const torch::jit::Stack args(stack->begin() + static_cast<std::ptrdiff_t>(base), stack->end());
  try {
    return decompose(op, Action::kCompositeExplicit, stack);
  } catch (const Unsupported& unsupported) {
    if (unsupported.error().code != kMutationCode || op.mutates || op.rule == nullptr) throw;
    Unsupported::pending().reset();
  }
  stack->resize(base);
  stack->insert(stack->end(), args.begin(), args.end());
  actions_[op.index] = Action::kKeep;
  return false;
}

static at::Tensor unwrap_functional(const at::Tensor& tensor) {
  namespace functional = at::functionalization::impl;
  if (!tensor.defined() || !functional::isFunctionalTensor(tensor)) return tensor;
  functional::sync(tensor);
  return functional::from_functional_tensor(tensor);
}

bool Trace::run_functionalized(OpEntry& op, torch::jit::Stack* stack) {
  const std::size_t count = op.arg_kinds.size();
  const std::size_t base = stack->size() - count;
  torch::jit::Stack inner(stack->begin() + base, stack->end());
  // At the bottom of the dispatcher functionalization is excluded: let it in again.
  c10::impl::ForceDispatchKeyGuard restore(
      c10::impl::tls_local_dispatch_key_set().included_ |
          c10::DispatchKeySet({trace_key(), c10::DispatchKey::Functionalize}),
      (c10::impl::tls_local_dispatch_key_set().excluded_ |
       c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset) -
          c10::DispatchKeySet({trace_key(), c10::DispatchKey::Functionalize}));
  {
    c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing());
    for (c10::IValue& value : inner) wrap_functional(value);
  }
  if (!runner_.run_decomposition(op.handle, &inner)) return false;
  stack->resize(base);
  for (c10::IValue& value : inner) {
    if (value.isTensor()) {
      value = unwrap_functional(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector())
        list.push_back(unwrap_functional(tensor));
      value = std::move(list);
    }
    stack->push_back(std::move(value));
  }
  return true;
}

}  // namespace triptych::normalize
