#include "normalize/tracer/trace.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/ops/_local_scalar_dense.h>

#include "normalize/tracer/composites.h"
#include "normalize/tracer/mutable_ops.h"
#include "normalize/tracer/trace_key.h"
#include "normalize/unsupported.h"
#include "support/check.h"
#include "torch_types/torch_types.h"

namespace triptych::normalize {
namespace {

thread_local Trace* current_trace = nullptr;

void boxed_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  Trace* trace = Trace::current();
  TORCH_CHECK(trace != nullptr, "triptych: ", op.schema().name(),
              " was called on a traced tensor after its trace had ended");
  trace->dispatch(op_entry(op), stack);
}

}  // namespace

Status register_trace_fallback() {
  static bool registered = false;  // under the GIL
  if (registered) return Unit{};
  auto& dispatcher = c10::Dispatcher::singleton();
  if (dispatcher.hasBackendFallbackForDispatchKey(trace_key())) {
    return unsupported("normalize.key_taken",
                       "another library has a fallback on the dispatch key that the tracer uses");
  }
  TRIPTYCH_TRY([[maybe_unused]] const Unit composites, register_composites());
  watch_mutable_ops();
  // Stays for the life of the process: the handle is never destroyed.
  static auto* handle = new c10::RegistrationHandleRAII(dispatcher.registerFallback(
      trace_key(), c10::KernelFunction::makeFromBoxedFunction<&boxed_fallback>(),
      "triptych tracer"));
  static_cast<void>(handle);
  registered = true;
  return Unit{};
}

Trace::Trace(std::string name, NodeRunner& runner, std::set<std::string> keep)
    : graph_(std::move(name), ir::Level::kNormalized),
      runner_(runner),
      shapes_(std::make_shared<SymbolicShapes>()),
      keep_(std::move(keep)) {
  catch_composites(keep_);
  catch_mutable_ops();
}

Trace::~Trace() { shapes_->close(); }

Trace* Trace::current() { return current_trace; }

TraceScope::TraceScope(Trace& trace)
    : previous_(current_trace),
      saved_(c10::impl::tls_local_dispatch_key_set()),
      saved_reapply_views_(at::functionalization::impl::getFunctionalizationReapplyViewsTLS()) {
  current_trace = &trace;
  at::functionalization::impl::setFunctionalizationReapplyViewsTLS(true);
  c10::impl::tls_set_dispatch_key_included(trace_key(), true);
  c10::impl::tls_set_dispatch_key_included(c10::DispatchKey::Functionalize, true);
  c10::impl::tls_set_dispatch_key_included(composite_key(), true);
}

TraceScope::~TraceScope() {
  current_trace = previous_;
  at::functionalization::impl::setFunctionalizationReapplyViewsTLS(saved_reapply_views_);
  c10::impl::_force_tls_local_dispatch_key_set(saved_);
}

ir::TensorType Trace::type_of(const ResultMeta& meta) {
  ir::TensorType type;
  auto dtype = to_ir(meta.dtype);
  if (!dtype.ok()) throw Unsupported(dtype.error());
  type.dtype = dtype.value();
  type.device = to_ir(meta.device);
  type.sizes.reserve(meta.sizes.size());
  type.strides.reserve(meta.strides.size());
  for (const c10::SymInt& size : meta.sizes) type.sizes.push_back(SymbolicShapes::expr(size));
  for (const c10::SymInt& stride : meta.strides)
    type.strides.push_back(SymbolicShapes::expr(stride));
  type.storage_offset = SymbolicShapes::expr(meta.storage_offset);
  return type;
}

ir::TensorType Trace::type_of(const at::Tensor& tensor) const {
  ResultMeta meta;
  const auto sizes = tensor.sym_sizes();
  const auto strides = tensor.sym_strides();
  meta.sizes.assign(sizes.begin(), sizes.end());
  meta.strides.assign(strides.begin(), strides.end());
  meta.storage_offset = tensor.sym_storage_offset();
  meta.dtype = tensor.scalar_type();
  meta.device = tensor.device();
  return type_of(meta);
}

static std::shared_ptr<const std::vector<std::byte>> bytes_of(const at::Tensor& real) {
  constexpr std::size_t kLargest = 1 << 20;  // larger ones are kept by handle alone
  if (!real.is_cpu() || real.nbytes() > kLargest) return nullptr;
  c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing());
  const at::Tensor flat = real.contiguous();
  const auto* data = static_cast<const std::byte*>(flat.const_data_ptr());
  return std::make_shared<const std::vector<std::byte>>(data, data + flat.nbytes());
}

void Trace::know(const at::Tensor& real, const at::Tensor& fake) {
  lifted_[real.unsafeGetTensorImpl()] = fake;
  keep_alive_.push_back(real);
}

at::Tensor Trace::lift(const at::Tensor& real) {
  const auto found = lifted_.find(real.unsafeGetTensorImpl());
  if (found != lifted_.end()) return found->second;
  if (real.layout() != c10::kStrided)
    throw Unsupported(unsupported("normalize.layout", "a sparse or opaque tensor constant"));
  ResultMeta meta;
  meta.sizes.assign(real.sym_sizes().begin(), real.sym_sizes().end());
  meta.strides.assign(real.sym_strides().begin(), real.sym_strides().end());
  meta.storage_offset = real.sym_storage_offset();
  meta.dtype = real.scalar_type();
  meta.device = real.device();
  at::Tensor fake = make_fake(meta, shapes_);
  auto handle = std::shared_ptr<void>(
      new at::Tensor(real), [](void* tensor) { delete static_cast<at::Tensor*>(tensor); });
  FakeTensorImpl* impl = as_fake(fake);
  const std::string name = "constant_" + std::to_string(graph_.constants().size());
  impl->value = graph_.add_constant(name, type_of(meta), bytes_of(real), std::move(handle));
  if (real.numel() == 1) impl->constant = real;
  lifted_[real.unsafeGetTensorImpl()] = fake;
  keep_alive_.push_back(real);
  return fake;
}

}  // namespace triptych::normalize
