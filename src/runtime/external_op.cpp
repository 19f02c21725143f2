#include "runtime/external_op.h"

#include "runtime/errors.h"

namespace triptych::runtime {

c10::OperatorHandle find_operator(const ir::Target& target) {
  if (target.schema == nullptr) {
    fail(unsupported("runtime.no_schema", target.name + " is no dispatcher op"));
  }
  const auto handle =
      c10::Dispatcher::singleton().findSchema({target.schema->name, target.schema->overload});
  if (!handle) {
    fail(unsupported("runtime.unknown_op", target.name + " is not registered in this process", {},
                     "import the module that registers it first"));
  }
  return *handle;
}

void flatten_results(torch::jit::Stack& stack, std::vector<c10::IValue>& results) {
  for (c10::IValue& value : stack) {
    if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) results.emplace_back(tensor);
    } else if (value.isTuple()) {
      for (const c10::IValue& item : value.toTupleRef().elements()) results.push_back(item);
    } else {
      results.push_back(std::move(value));
    }
  }
}

}  // namespace triptych::runtime
