// An op that stays: the metadata of its results, its node, its fakes. Metadata comes from our own
// rule, else from what is at the Meta key (mostly Python, hundreds of times slower, counted).
#include <ATen/core/LegacyTypeDispatch.h>

#include "normalize/tracer/trace.h"
#include "normalize/tracer/trace_key.h"
#include "normalize/unsupported.h"
#include "torch_types/torch_types.h"

namespace triptych::normalize {

namespace {

bool is_list_return(const c10::Argument& ret) {
  return ret.type()->kind() == c10::TypeKind::ListType;
}

}  // namespace

void Trace::keep_node(OpEntry& op, const Scan& found, torch::jit::Stack* stack) {
  const std::size_t base = stack->size() - op.arg_kinds.size();
  const c10::ArrayRef<c10::IValue> args = c10::ArrayRef<c10::IValue>(*stack).slice(base);
  Results results;
  if (!run_rule(op, args, results) && !run_library_meta(op, args, results)) {
    run_meta_kernel(op, found, args, results);
  }
  finish_node(op, args, results, stack);
}

void Trace::finish_node(OpEntry& op, c10::ArrayRef<c10::IValue> args, Results& results,
                        torch::jit::Stack* stack) {
  for (const ResultMeta& meta : results.metas) {
    if (meta.undefined) {
      results.fakes.emplace_back();
      continue;
    }
    if (meta.alias_of < 0) {
      results.fakes.push_back(make_fake(meta, shapes_));
      continue;
    }
    const at::Tensor& base_tensor = args[meta.alias_of].toTensor();
    const at::Tensor aliased = as_fake(base_tensor) != nullptr ? base_tensor : lift(base_tensor);
    results.fakes.push_back(make_fake(meta, shapes_, &aliased.storage()));
  }
  if (recording_ && (op.returns_tensors || !results.metas.empty())) record(op, args, results);
  stack->resize(stack->size() - args.size());
  std::size_t next = 0;
  std::size_t other = 0;
  for (std::size_t i = 0; i < results.counts.size(); ++i) {
    if (results.counts[i] < 0) {
      stack->push_back(results.others[other++]);
    } else if (results.is_list[i]) {
      c10::List<at::Tensor> list;
      for (int k = 0; k < results.counts[i]; ++k) list.push_back(results.fakes[next++]);
      stack->emplace_back(std::move(list));
    } else {
      stack->emplace_back(results.fakes[next++]);
    }
  }
}

bool Trace::run_rule(OpEntry& op, c10::ArrayRef<c10::IValue> args, Results& results) {
  if (op.rule == nullptr || !op.returns_tensors) return false;
  RuleContext context(op.handle.schema(), args);
  op.rule(context);
  results.metas = std::move(context.results());
  const auto& returns = op.handle.schema().returns();
  int lists = 0;
  for (const c10::Argument& ret : returns) lists += is_list_return(ret) ? 1 : 0;
  const int in_list =
      static_cast<int>(results.metas.size()) - (static_cast<int>(returns.size()) - lists);
  TORCH_CHECK(in_list >= 0 && (lists == 1 || in_list == 0) && lists <= 1,
              "triptych: the shape rule of ", op.name, " gave ", results.metas.size(), " results");
  for (const c10::Argument& ret : returns) {
    results.is_list.push_back(is_list_return(ret));
    results.counts.push_back(results.is_list.back() ? in_list : 1);
  }
  ++counters_.by_rule;
  return true;
}

namespace {

// Arguments for a concrete meta kernel: meta tensors at the hint sizes, over the same storages, so
// that aliasing shows in the results. Each symbolic size used is specialised by a guard.
class MetaArguments {
 public:
  explicit MetaArguments(SymbolicShapes& shapes) : shapes_(shapes) {}

  at::Tensor tensor(const at::Tensor& source) {
    if (!source.defined()) return source;
    auto impl = c10::make_intrusive<c10::TensorImpl>(
        storage(source), c10::DispatchKeySet(c10::DispatchKey::Meta), source.dtype());
    impl->set_sizes_and_strides(concrete(source.sym_sizes()), concrete(source.sym_strides()),
                                concrete(source.sym_storage_offset()));
    if (source.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
    return at::Tensor(std::move(impl));
  }

  c10::IValue value(const c10::IValue& source) {
    if (source.isTensor()) return tensor(source.toTensor());
    if (source.isSymInt()) return concrete(source.toSymInt());
    if (source.isSymFloat()) return source.toSymFloat().guard_float("meta kernel", 0);
    if (source.isSymBool()) return source.toSymBool().guard_bool("meta kernel", 0);
    if (source.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& item : source.toTensorVector()) list.push_back(tensor(item));
      return list;
    }
    if (source.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& item : source.toOptionalTensorVector())
        list.push_back(item ? std::optional(tensor(*item)) : item);
      return list;
    }
    if (source.isSymIntList()) {
      c10::List<std::int64_t> list;
      for (const c10::SymInt& item : source.toSymIntVector()) list.push_back(concrete(item));
      return list;
    }
    return source;
  }

 private:
  // A meta tensor must lie on a storage of the meta device, as all of ours do; a real tensor gets
  // one of its own.
  c10::Storage storage(const at::Tensor& source) {
    if (as_fake(source) != nullptr || source.is_meta()) return source.storage();
    return make_fake_storage(static_cast<std::int64_t>(source.storage().nbytes()));
  }
  std::int64_t concrete(const c10::SymInt& value) {
    return shapes_.specialize(SymbolicShapes::expr(value), "meta kernel");
  }
  std::vector<std::int64_t> concrete(c10::SymIntArrayRef values) {
    std::vector<std::int64_t> result;
    for (const c10::SymInt& value : values) result.push_back(concrete(value));
    return result;
  }
  SymbolicShapes& shapes_;
};

ResultMeta meta_of(const at::Tensor& result, c10::Device device, c10::ArrayRef<c10::IValue> args) {
  ResultMeta meta;
  if (!result.defined()) {
    meta.undefined = true;
    return meta;
  }
  meta.sizes.assign(result.sym_sizes().begin(), result.sym_sizes().end());
  meta.strides.assign(result.sym_strides().begin(), result.sym_strides().end());
  meta.storage_offset = result.sym_storage_offset();
  meta.dtype = result.scalar_type();
  meta.device = device;
  const auto* storage = result.storage().unsafeGetStorageImpl();
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].isTensor() && args[i].toTensor().defined() && args[i].toTensor().has_storage() &&
        args[i].toTensor().storage().unsafeGetStorageImpl() == storage)
      meta.alias_of = static_cast<int>(i);
  }
  return meta;
}

}  // namespace

void Trace::run_meta_kernel(OpEntry& op, const Scan& found, c10::ArrayRef<c10::IValue> args,
                            Results& results) {
  torch::jit::Stack inner;
  inner.reserve(args.size());
  MetaArguments convert(*shapes_);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool device = static_cast<int>(i) == op.device_arg;
    inner.push_back(device ? c10::IValue(c10::Device(c10::kMeta)) : convert.value(args[i]));
  }
  {
    c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing() |
                                             c10::autograd_dispatch_keyset_with_ADInplaceOrView |
                                             c10::autocast_dispatch_keyset);
    ++counters_.by_python_meta;
    ++counters_.python_meta_ops[op.name];
    try {
      op.handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &inner);
    } catch (const c10::NotImplementedError&) {
      throw Unsupported(
          unsupported("normalize.no_meta", op.name + " has no shape rule and no Meta kernel"));
    }
  }
  for (const c10::IValue& value : inner) {
    results.is_list.push_back(value.isTensorList());
    if (value.isTensor()) {
      results.counts.push_back(1);
      results.metas.push_back(meta_of(value.toTensor(), found.device, args));
    } else if (value.isTensorList()) {
      const auto tensors = value.toTensorVector();
      results.counts.push_back(static_cast<int>(tensors.size()));
      for (const at::Tensor& tensor : tensors)
        results.metas.push_back(meta_of(tensor, found.device, args));
    } else {
      results.counts.push_back(-1);
      results.others.push_back(value);
    }
  }
}

static ir::ScalarValueType number_type(const c10::IValue& value) {
  ir::ScalarValueType type;
  if (value.isInt()) {
    type.expr = ir::SymExpr(value.toInt());
  } else {
    type.kind =
        value.isBool() ? ir::ScalarValueType::Kind::kBool : ir::ScalarValueType::Kind::kFloat;
  }
  return type;
}

void Trace::record(OpEntry& op, c10::ArrayRef<c10::IValue> args, Results& results) {
  std::vector<ir::Argument> arguments;
  arguments.reserve(args.size());
  bool any_tensor = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    arguments.push_back(to_argument(op.arg_kinds[i], args[i]));
    any_tensor |= args[i].isTensor() || args[i].isTensorList();
  }
  // A factory's dtype depends on torch's default dtype when it is not given: the graph says what it
  // was.
  if (!any_tensor && op.dtype_arg >= 0 && arguments[op.dtype_arg].is_none() &&
      !results.metas.empty())
    arguments[op.dtype_arg] = to_ir(results.metas[0].dtype).value();
  std::vector<ir::ValueType> types;  // in the order of the schema's returns
  std::vector<int> tensor_of;        // per result: index into fakes, or -1
  types.reserve(results.metas.size());
  std::size_t next = 0;
  std::size_t other = 0;
  for (const int count : results.counts) {
    if (count < 0) {
      types.emplace_back(number_type(results.others[other++]));
      tensor_of.push_back(-1);
    }
    for (int k = 0; k < count; ++k, ++next) {
      const ResultMeta& meta = results.metas[next];
      types.push_back(meta.undefined ? ir::ValueType(ir::NoneType{})
                                     : ir::ValueType(type_of(meta)));
      tensor_of.push_back(meta.undefined ? -1 : static_cast<int>(next));
    }
  }
  const ir::NodeId id = graph_.add_node(op.target, std::move(arguments), std::move(types));
  const ir::Node& node = graph_.node(id);
  for (std::size_t i = 0; i < tensor_of.size(); ++i) {
    if (tensor_of[i] >= 0) as_fake(results.fakes[tensor_of[i]])->value = node.results[i];
  }
  node_locations_.resize(id.value + 1, -1);
  node_locations_[id.value] = runner_.current_location();
  ++counters_.recorded;
}

ir::Argument Trace::tensor_argument(const at::Tensor& tensor) {
  if (!tensor.defined()) return ir::None{};
  if (const FakeTensorImpl* fake = as_fake(tensor)) {
    TORCH_CHECK(fake->shapes() == shapes_, "triptych: a tensor of an earlier trace was used");
    TORCH_CHECK(fake->value.valid(),
                "triptych: a tensor made while recording was suspended was used");
    return fake->value;
  }
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    if (!shapes_->symbols().empty()) {
      const c10::IValue symbolic = runner_.symbolic_number(tensor);
      if (!symbolic.isNone()) return to_argument(ArgKind::kPlain, symbolic);
    }
    c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing());
    return to_argument(ArgKind::kPlain, c10::IValue(tensor.item()));
  }
  return as_fake(lift(tensor))->value;
}

static ir::Argument integer_argument(const c10::SymInt& value) {
  const ir::SymExpr e = SymbolicShapes::expr(value);
  if (const auto constant = e.as_constant()) return *constant;
  return e;
}

ir::Argument Trace::to_argument(ArgKind kind, const c10::IValue& value) {
  if (value.isNone()) return ir::None{};
  if (value.isTensor()) return tensor_argument(value.toTensor());
  if (value.isInt()) {
    const std::int64_t number = value.toInt();
    if (kind == ArgKind::kScalarType) {
      auto dtype = to_ir(static_cast<at::ScalarType>(number));
      if (!dtype.ok()) throw Unsupported(dtype.error());
      return dtype.value();
    }
    if (kind == ArgKind::kLayout) return to_ir(static_cast<c10::Layout>(number));
    if (kind == ArgKind::kMemoryFormat) return to_ir(static_cast<c10::MemoryFormat>(number));
    return number;
  }
  if (value.isSymInt()) return integer_argument(value.toSymInt());
  if (value.isDouble()) return value.toDouble();
  if (value.isSymFloat()) return value.toSymFloat().guard_float("argument", 0);
  if (value.isBool()) return value.toBool();
  if (value.isSymBool()) return value.toSymBool().guard_bool("argument", 0);
  if (value.isComplexDouble()) return std::complex<double>(value.toComplexDouble());
  if (value.isString()) return value.toStringRef();
  if (value.isDevice()) return to_ir(value.toDevice());
  if (value.isList()) {
    ir::ArgumentList list;
    if (value.isIntList()) {
      for (const std::int64_t item : value.toIntList()) list.items.emplace_back(item);
    } else if (value.isDoubleList()) {
      for (const double item : value.toDoubleList()) list.items.emplace_back(item);
    } else if (value.isBoolList()) {
      for (const bool item : value.toBoolList()) list.items.emplace_back(item);
    } else {
      for (const c10::IValue& item : value.toListRef())
        list.items.push_back(to_argument(kind, item));
    }
    return list;
  }
  throw Unsupported(unsupported("normalize.argument",
                                "an argument of type " + value.tagKind() + " cannot be recorded"));
}

}  // namespace triptych::normalize
