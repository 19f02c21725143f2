#include "normalize/tracer/mutable_ops.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/ops/empty_strided.h>

#include "normalize/tracer/op_entry.h"
#include "normalize/tracer/trace.h"
#include "normalize/tracer/trace_key.h"
#include "normalize/unsupported.h"

namespace triptych::normalize {

namespace functional = at::functionalization::impl;

namespace {

constexpr const char* kNamespace = "triptych_functional::";

bool is_watched(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  return op.hasSchema() && op.schema().is_mutable() && !name.starts_with("aten::") &&
         !name.starts_with("prims::") && !name.starts_with("prim::");
}

struct Pending {
  std::mutex mutex;
  std::vector<c10::OperatorName> ops;
  std::unordered_set<c10::OperatorName> caught;
};

Pending& pending() {
  static auto* it = new Pending();
  return *it;
}

// Called with the dispatcher's own lock held: it only takes notes.
class Listener : public c10::OpRegistrationListener {
 public:
  void onOperatorRegistered(const c10::OperatorHandle& op) override {
    if (!is_watched(op)) return;
    const std::lock_guard lock(pending().mutex);
    pending().ops.push_back(op.operator_name());
  }
  void onOperatorDeregistered(const c10::OperatorHandle&) override {}
};

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool is_tensor(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::OptionalType)
    return is_tensor(type->expectRef<c10::OptionalType>().getElementType());
  return type->kind() == c10::TypeKind::TensorType;
}

c10::Argument without_alias(const c10::Argument& argument) {
  return {argument.name(),          argument.type(),       argument.real_type(), argument.N(),
          argument.default_value(), argument.kwarg_only(), std::nullopt};
}

std::string twin_name(const std::string& name) {
  std::string flat = name;
  std::replace_if(flat.begin(), flat.end(), [](char c) { return c == ':' || c == '.'; }, '_');
  return kNamespace + flat;
}

// The results that are no argument, then the written arguments.
c10::FunctionSchema twin_schema(const c10::FunctionSchema& schema) {
  const auto refuse = [&](const char* what) {
    throw Unsupported(unsupported("normalize.mutable_op", schema.name() + " " + what));
  };
  std::vector<c10::Argument> arguments;
  std::vector<c10::Argument> returns;
  for (const c10::Argument& ret : schema.returns()) {
    if (ret.alias_info() == nullptr)
      returns.push_back(without_alias(ret));
    else if (!ret.alias_info()->isWrite())
      refuse("returns a view and writes an argument");
  }
  for (const c10::Argument& argument : schema.arguments()) {
    arguments.push_back(without_alias(argument));
    if (!is_written(argument)) continue;
    if (!is_tensor(argument.type())) refuse("writes a list of tensors");
    returns.emplace_back("", c10::TensorType::get());  // undefined where the argument is None
  }
  return {twin_name(schema.name()), schema.overload_name(), std::move(arguments),
          std::move(returns)};
}

at::Tensor copy_of(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options()).copy_(tensor);
}

// The kernel of a twin: copies, calls, returns the copies.
void run_on_copies(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const std::size_t base = stack->size() - arguments.size();
  std::vector<c10::IValue> written;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_written(arguments[i])) continue;
    c10::IValue& value = (*stack)[base + i];
    const bool given = value.isTensor() && value.toTensor().defined();
    if (given) value = copy_of(value.toTensor());
    written.emplace_back(given ? value.toTensor() : at::Tensor());
  }
  op.callBoxed(stack);
  std::vector<c10::IValue> results(stack->begin() + static_cast<std::ptrdiff_t>(base),
                                   stack->end());
  stack->resize(base);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (op.schema().returns()[i].alias_info() == nullptr) stack->push_back(results[i]);
  }
  for (c10::IValue& value : written) stack->push_back(std::move(value));
}

class Twin : public c10::OperatorKernel {
 public:
  explicit Twin(c10::OperatorName original) : original_(std::move(original)) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    run_on_copies(c10::Dispatcher::singleton().findSchemaOrThrow(original_.name.c_str(),
                                                                 original_.overload_name.c_str()),
                  stack);
  }

 private:
  c10::OperatorName original_;
};

c10::OperatorHandle twin_of(const c10::OperatorHandle& op) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto& dispatcher = c10::Dispatcher::singleton();
  const c10::OperatorName name(twin_name(op.schema().name()), op.schema().overload_name());
  static auto* originals = new std::unordered_map<c10::OperatorName, c10::OperatorName>();
  const auto [original, is_new] = originals->emplace(name, op.operator_name());
  if (!(original->second == op.operator_name())) {
    throw Unsupported(unsupported(
        "normalize.mutable_op",
        op.schema().name() + " and " + original->second.name + " have one name when flattened"));
  }
  if (!is_new) return *dispatcher.findSchema(name);
  // Both stay for the life of the process: graphs name the op.
  auto* definition = new c10::RegistrationHandleRAII(
      dispatcher.registerDef(twin_schema(op.schema()), "triptych functional twins"));
  auto* implementation = new c10::RegistrationHandleRAII(dispatcher.registerImpl(
      name, c10::DispatchKey::CompositeExplicitAutograd,
      c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Twin>(op.operator_name())),
      std::nullopt, nullptr, "triptych functional twins"));
  static_cast<void>(definition);
  static_cast<void>(implementation);
  return *dispatcher.findSchema(name);
}

bool is_functional(const c10::IValue& value) {
  if (value.isTensor())
    return value.toTensor().defined() && functional::isFunctionalTensor(value.toTensor());
  if (!value.isTensorList()) return false;
  const auto tensors = value.toTensorVector();
  return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return functional::isFunctionalTensor(tensor);
  });
}

// The program's tensor becomes what the op has written.
void write_back(const at::Tensor& argument, const at::Tensor& written) {
  functional::replace_(argument, functional::from_functional_tensor(written));
  functional::commit_update(argument);
  functional::sync(argument);
}

void call_twin(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const std::size_t count = schema.arguments().size();
  const std::size_t base = stack->size() - count;
  const std::vector<c10::IValue> args(stack->begin() + static_cast<std::ptrdiff_t>(base),
                                      stack->end());
  std::vector<std::size_t> written;
  bool traced = false;
  for (std::size_t i = 0; i < count; ++i) {
    traced |= is_functional(args[i]);
    if (is_written(schema.arguments()[i])) written.push_back(i);
  }
  const bool knows_better = op.hasKernelForDispatchKey(c10::DispatchKey::Functionalize) ||
                            op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  if (Trace::current() == nullptr || !traced || knows_better) {
    const c10::DispatchKeySet below(c10::DispatchKeySet::FULL_AFTER, composite_key());
    op.redispatchBoxed(keys & below, stack);
    return;
  }
  for (const std::size_t i : written) {
    const bool tensor = args[i].isTensor() && args[i].toTensor().defined();
    if (tensor && !functional::isFunctionalTensor(args[i].toTensor()))
      throw Unsupported(
          unsupported("normalize.mutation", schema.name() + " writes a tensor that is no input"));
  }
  twin_of(op).callBoxed(stack);
  std::vector<c10::IValue> results(stack->begin() + static_cast<std::ptrdiff_t>(base),
                                   stack->end());
  stack->resize(base);
  const std::size_t fresh = results.size() - written.size();
  for (std::size_t k = 0; k < written.size(); ++k) {
    const c10::IValue& argument = args[written[k]];
    if (argument.isTensor() && argument.toTensor().defined())
      write_back(argument.toTensor(), results[fresh + k].toTensor());
  }
  const OpEntry& entry = op_entry(op);
  std::size_t next = 0;
  for (const int is_argument : entry.written_result)
    stack->push_back(is_argument >= 0 ? args[static_cast<std::size_t>(is_argument)]
                                      : std::move(results[next++]));
}

}  // namespace

void watch_mutable_ops() {
  static auto* handle = new c10::RegistrationHandleRAII(
      c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>()));
  static_cast<void>(handle);
}

void catch_mutable_ops() {
  std::vector<c10::OperatorName> found;
  {
    const std::lock_guard lock(pending().mutex);
    for (const c10::OperatorName& name : pending().ops) {
      if (pending().caught.insert(name).second) found.push_back(name);
    }
    pending().ops.clear();
  }
  for (const c10::OperatorName& name : found) {
    auto* kernel = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerImpl(
        name, composite_key(), c10::KernelFunction::makeFromBoxedFunction<&call_twin>(),
        std::nullopt, nullptr, "triptych functional twins"));
    static_cast<void>(kernel);
  }
}

}  // namespace triptych::normalize
