// Shape rules: result metadata of an ATen op from its boxed arguments, symbolic sizes included,
// without running any kernel. The op table names each op's rule. A rule raises (TORCH_CHECK) what
// eager raises for bad arguments, with eager's text, and gives the strides that eager gives.
#pragma once

#include <stdexcept>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/SymInt.h>
#include <c10/core/SymIntArrayRef.h>

namespace triptych::normalize {

struct ResultMeta {
  c10::SymDimVector sizes;
  c10::SymDimVector strides;
  c10::SymInt storage_offset = 0;
  at::ScalarType dtype = at::kFloat;
  c10::Device device{c10::kCPU};
  int alias_of = -1;  // index of the tensor argument whose storage the result shares; -1: fresh
  bool undefined = false;  // an undefined tensor
};

// Raised by a rule whose result's size depends on the data, as indexing with a mask.
class DataDependentShape : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class RuleContext {
 public:
  RuleContext(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> args)
      : schema_(schema), args_(args) {}

  const c10::FunctionSchema& schema() const { return schema_; }
  std::size_t num_args() const { return args_.size(); }
  const c10::IValue& arg(std::size_t i) const { return args_[i]; }
  const at::Tensor& tensor(std::size_t i) const {
    return args_[i].toTensor();
  }  // sym_sizes() and so on are the fake's
  bool has_tensor(std::size_t i) const {
    return args_[i].isTensor() && args_[i].toTensor().defined();
  }

  // One call per result in the order of the schema's returns, Tensor[] returns flattened.
  void add_result(ResultMeta result) { results_.push_back(std::move(result)); }
  const std::vector<ResultMeta>& results() const { return results_; }
  std::vector<ResultMeta>& results() { return results_; }

 private:
  const c10::FunctionSchema& schema_;
  c10::ArrayRef<c10::IValue> args_;
  std::vector<ResultMeta> results_;
};

using ShapeRule = void (*)(RuleContext&);

// By the name in the op table's `shape` column; nullptr when there is no such rule.
ShapeRule find_shape_rule(std::string_view name);

}  // namespace triptych::normalize
