#include "runtime/typed_calls.h"

#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/mm_ops.h>

#include <algorithm>
#include <array>

namespace triptych::runtime {

namespace {

// The out forms take `out` as a mutable reference to a const handle: the handle itself is not
// changed, since the result has its size already.
at::Tensor& out(const at::Tensor* tensor) { return const_cast<at::Tensor&>(*tensor); }

void mm(const at::Tensor* const* t) { at::_ops::mm_out::call(*t[0], *t[1], out(t[2])); }
void bmm(const at::Tensor* const* t) { at::_ops::bmm_out::call(*t[0], *t[1], out(t[2])); }
void addmm(const at::Tensor* const* t) {
  at::_ops::addmm_out::call(*t[0], *t[1], *t[2], 1, 1, out(t[3]));
}

struct Row {
  std::string_view target;
  std::size_t tensors;  // leading arguments; the others must be the number one
  TypedCall call;
};
constexpr std::array kRows = {
    Row{"aten.mm.out", 2, mm},
    Row{"aten.bmm.out", 2, bmm},
    Row{"aten.addmm.out", 3, addmm},
};

bool is_one(const ir::Argument& argument) {
  if (const auto* i = argument.get_if<std::int64_t>()) return *i == 1;
  if (const auto* d = argument.get_if<double>()) return *d == 1.0;
  return false;
}

}  // namespace

TypedCall find_typed_call(const ir::Target& target, const std::vector<ir::Argument>& args) {
  for (const Row& row : kRows) {
    if (row.target != target.name || args.size() < row.tensors) continue;
    const auto behind = args.begin() + static_cast<std::ptrdiff_t>(row.tensors);
    const bool tensors = std::all_of(args.begin(), behind,
                                     [](const ir::Argument& a) { return a.is<ir::ValueId>(); });
    return tensors && std::all_of(behind, args.end(), is_one) ? row.call : nullptr;
  }
  return nullptr;
}

}  // namespace triptych::runtime
