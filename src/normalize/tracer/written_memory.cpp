#include "normalize/tracer/written_memory.h"

#include <ATen/FunctionalStorageImpl.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/MemoryOverlap.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "normalize/unsupported.h"

namespace triptych::normalize {
namespace {

std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) return {value.toTensor()};
  return value.isTensorList() ? value.toTensorVector() : std::vector<at::Tensor>();
}

// The first element's place in the memory, and the place behind the last's.
std::pair<c10::SymInt, c10::SymInt> reach(const at::Tensor& tensor) {
  c10::SymInt end = tensor.sym_storage_offset() + 1;
  for (std::int64_t d = 0; d < tensor.dim(); ++d)
    end += (tensor.sym_size(d) - 1) * tensor.sym_stride(d);
  return {tensor.sym_storage_offset(), end};
}

bool same_elements(const at::Tensor& a, const at::Tensor& b) {
  return a.dim() == b.dim() && a.sym_storage_offset() == b.sym_storage_offset() &&
         a.sym_sizes() == b.sym_sizes() && a.sym_strides() == b.sym_strides();
}

struct Dim {
  std::int64_t stride, size_a, size_b;
};

// Whether sum(stride (i_a - i_b)) = distance for indices within the sizes; the dimensions come by
// falling stride, and each step is longer than what lies within.
bool meet(c10::ArrayRef<Dim> dims, std::int64_t distance) {
  if (dims.empty()) return distance == 0;
  const Dim& dim = dims.front();
  const std::int64_t least = distance / dim.stride - (distance % dim.stride < 0 ? 1 : 0);
  for (const std::int64_t steps : {least, least + 1}) {
    if (steps < dim.size_a && -steps < dim.size_b &&
        meet(dims.slice(1), distance - steps * dim.stride))
      return true;
  }
  return false;
}

// The dimensions of two views that step alike through one memory, as the columns of a matrix do;
// nullopt for others, and where a number is symbolic.
std::optional<std::vector<Dim>> common_steps(const at::Tensor& a, const at::Tensor& b) {
  if (a.dim() != b.dim()) return std::nullopt;
  std::vector<Dim> dims;
  for (std::int64_t d = 0; d < a.dim(); ++d) {
    const auto stride = a.sym_stride(d).maybe_as_int();
    const auto other = b.sym_stride(d).maybe_as_int();
    const auto size_a = a.sym_size(d).maybe_as_int();
    const auto size_b = b.sym_size(d).maybe_as_int();
    if (!stride || !other || !size_a || !size_b) return std::nullopt;
    if (*size_a == 1 && *size_b == 1) continue;
    const std::int64_t step = *size_a == 1 ? *other : *stride;
    if ((*size_a != 1 && *size_b != 1 && *stride != *other) || step <= 0) return std::nullopt;
    dims.push_back({step, *size_a, *size_b});
  }
  std::sort(dims.begin(), dims.end(),
            [](const Dim& x, const Dim& y) { return x.stride > y.stride; });
  return dims;
}

bool overlap_in_part(const at::Tensor& a, const at::Tensor& b) {
  if (!a.has_storage() || !b.has_storage()) return false;
  if (a.storage().unsafeGetStorageImpl() != b.storage().unsafeGetStorageImpl()) return false;
  if (same_elements(a, b) || a.sym_numel() == 0 || b.sym_numel() == 0) return false;
  const auto [begin_a, end_a] = reach(a);
  const auto [begin_b, end_b] = reach(b);
  if (!(begin_a < end_b && begin_b < end_a)) return false;
  const auto distance = (begin_b - begin_a).maybe_as_int();
  const auto dims = common_steps(a, b);
  return !dims || !distance || meet(*dims, *distance);
}

bool is_view_of_overlapping(const at::Tensor& tensor, Trace& trace) {
  namespace functional = at::functionalization::impl;
  if (!functional::isFunctionalTensor(tensor)) return false;
  const auto& steps = functional::unsafeGetFunctionalWrapper(tensor)->view_metas();
  if (steps.size() < 2) return false;
  const at::AutoDispatchSkipFunctionalize inside;
  trace.set_recording(false);
  at::Tensor view = static_cast<at::functionalization::FunctionalStorageImpl*>(
                        tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl())
                        ->base();
  bool found = false;
  for (std::size_t i = 0; i + 1 < steps.size() && !found; ++i) {
    view = steps[i]->forward(view);
    found = overlaps_itself(view, *trace.shapes());
  }
  trace.set_recording(true);
  return found;
}

}  // namespace

bool overlaps_itself(const at::Tensor& tensor, const SymbolicShapes& shapes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // (stride, size)
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    const std::int64_t size = shapes.hint(SymbolicShapes::expr(tensor.sym_size(d)));
    if (size == 0) return false;
    if (size > 1) steps.emplace_back(shapes.hint(SymbolicShapes::expr(tensor.sym_stride(d))), size);
  }
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

void check_written_memory(const OpEntry& op, c10::ArrayRef<c10::IValue> args, Trace& trace) {
  const auto& schema = op.handle.schema().arguments();
  for (std::size_t w = 0; w < args.size(); ++w) {
    const c10::AliasInfo* alias = schema[w].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    for (const at::Tensor& written : tensors_of(args[w])) {
      bool refused = at::has_internal_overlap(written) == at::MemOverlap::Yes ||
                     is_view_of_overlapping(written, trace);
      for (std::size_t r = 0; r < args.size() && !refused; ++r) {
        for (const at::Tensor& other : tensors_of(args[r]))
          refused |= overlap_in_part(written, other);
      }
      if (refused)
        throw Unsupported(unsupported(
            "normalize.overlapping_write",
            op.name + " writes into memory that overlaps itself or an operand in part"));
    }
  }
}

}  // namespace triptych::normalize
