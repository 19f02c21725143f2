// Debug entries for the tests of shape rules and decompositions: run one on real tensors.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <chrono>

#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include "bindings.h"
#include "normalize/decompositions/decomposition.h"
#include "normalize/shape_rules/shape_rule.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

using normalize::ResultMeta;

c10::OperatorHandle find_op(const std::string& name, const std::string& overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
}

// A number where the schema wants a tensor becomes a wrapped number, as in torch's own argument
// parser.
py::object as_tensor_argument(const c10::Argument& argument, py::handle value) {
  if (argument.type()->kind() != c10::TypeKind::TensorType ||
      !(PyNumber_Check(value.ptr()) && !THPVariable_Check(value.ptr()))) {
    return py::reinterpret_borrow<py::object>(value);
  }
  const c10::IValue number = torch::jit::toIValue(value, c10::NumberType::get());
  at::Tensor tensor = c10::scalar_to_tensor(number.toScalar());
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return py::cast(tensor);
}

torch::jit::Stack boxed(const c10::FunctionSchema& schema, nb::tuple args, nb::dict kwargs) {
  auto positional = py::reinterpret_borrow<py::tuple>(args.ptr());
  py::tuple converted(positional.size());
  for (std::size_t i = 0; i < positional.size(); ++i) {
    converted[i] = as_tensor_argument(schema.arguments()[i], positional[i]);
  }
  positional = converted;
  const auto named = py::reinterpret_borrow<py::kwargs>(kwargs.ptr());
  return torch::jit::createStackForSchema(schema, torch::jit::tuple_slice(positional), named,
                                          std::nullopt);
}

nb::list integers(c10::SymIntArrayRef values) {
  nb::list out;
  for (const c10::SymInt& v : values) out.append(nb::steal(py::cast(v).release().ptr()));
  return out;
}

nb::object described(const ResultMeta& result) {
  if (result.undefined) return nb::none();
  nb::dict out;
  out["size"] = integers(result.sizes);
  out["stride"] = integers(result.strides);
  out["storage_offset"] = integers(c10::SymIntArrayRef(&result.storage_offset, 1))[0];
  out["dtype"] = c10::toString(result.dtype);
  out["device"] = result.device.str();
  out["alias_of"] = result.alias_of;
  return out;
}

nb::list apply_shape_rule(const std::string& rule_name, const std::string& op,
                          const std::string& overload, nb::tuple args, nb::dict kwargs) {
  const normalize::ShapeRule rule = normalize::find_shape_rule(rule_name);
  if (!rule) throw nb::key_error(("no shape rule named " + rule_name).c_str());
  const c10::OperatorHandle handle = find_op(op, overload);
  const torch::jit::Stack stack = boxed(handle.schema(), args, kwargs);
  normalize::RuleContext ctx(handle.schema(), stack);
  rule(ctx);
  nb::list out;
  for (const ResultMeta& result : ctx.results()) out.append(described(result));
  return out;
}

// Seconds per call of a rule, for the budget of a traced op.
double time_shape_rule(const std::string& rule_name, const std::string& op,
                       const std::string& overload, nb::tuple args, nb::dict kwargs, int times) {
  const normalize::ShapeRule rule = normalize::find_shape_rule(rule_name);
  if (!rule) throw nb::key_error(("no shape rule named " + rule_name).c_str());
  const c10::OperatorHandle handle = find_op(op, overload);
  const torch::jit::Stack stack = boxed(handle.schema(), args, kwargs);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    normalize::RuleContext ctx(handle.schema(), stack);
    rule(ctx);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count() / times;
}

nb::object apply_decomposition(const std::string& name, const std::string& op,
                               const std::string& overload, nb::tuple args, nb::dict kwargs) {
  const c10::KernelFunction* kernel = normalize::find_decomposition(name);
  if (!kernel) throw nb::key_error(("no decomposition named " + name).c_str());
  const c10::OperatorHandle handle = find_op(op, overload);
  torch::jit::Stack stack = boxed(handle.schema(), args, kwargs);
  kernel->callBoxed(handle, c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  return nb::steal(torch::jit::createPyObjectForStack(std::move(stack)).release().ptr());
}

}  // namespace

void bind_rules(nb::module_& m) {
  m.def("has_shape_rule",
        [](const std::string& name) { return normalize::find_shape_rule(name) != nullptr; });
  m.def("has_decomposition",
        [](const std::string& name) { return normalize::find_decomposition(name) != nullptr; });
  m.def("apply_shape_rule", &apply_shape_rule);
  m.def("apply_decomposition", &apply_decomposition);
  m.def("time_shape_rule", &time_shape_rule);
}

}  // namespace triptych::bindings
