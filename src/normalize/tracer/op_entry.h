// What the tracer knows of an op, looked up once per process.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "ir/graph.h"
#include "normalize/shape_rules/shape_rule.h"
#include "ops/op_table.h"

namespace triptych::normalize {

enum class ArgKind : std::uint8_t {  // how an argument is recorded
  kPlain,
  kScalarType,
  kLayout,
  kMemoryFormat,
  kGenerator,
  kUnsupported,
};

struct OpEntry {
  explicit OpEntry(const c10::OperatorHandle& handle);

  c10::OperatorHandle handle;
  std::string name;  // "aten.add.Tensor"
  int index = 0;     // dense, for per-trace tables
  const ir::Target* target = nullptr;
  const ops::OpInfo* info = nullptr;  // the op table's row, or null
  ShapeRule rule = nullptr;
  const c10::KernelFunction* decomposition = nullptr;  // ours, in C++
  std::vector<ArgKind> arg_kinds;
  std::vector<int>
      written_result;  // per return: index of the argument it is (in-place, out=), or -1
  int device_arg = -1;
  int dtype_arg = -1;
  int pin_memory_arg = -1;

  bool core = false;
  bool kept = false;  // stays although not core
  bool aten = false;
  bool random = false;
  bool effect = false;  // must stay even when unused
  bool data_dependent = false;
  bool dynamic_by_mask = false;  // data-dependent when an index is a mask
  bool reads_scalar = false;     // _local_scalar_dense: answered for known constants
  bool identity = false;         // detach, alias: the same value under another name
  bool lift = false;             // lift_fresh and its kin
  bool inplace = false;          // writes its first argument and returns it
  bool mutates = false;
  bool is_view = false;  // a result aliases an argument
  bool pointwise = false;
  bool tried = false;            // eager's kernel is asked what it refuses (eager_trial.h)
  bool draws_by_layout = false;  // random: other numbers where memory is contiguous
  bool returns_tensors = true;
  bool composite_implicit = false;
  bool composite_explicit = false;
};

OpEntry& op_entry(const c10::OperatorHandle& handle);

}  // namespace triptych::normalize
