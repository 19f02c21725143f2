// Views: metadata over the base's memory.
#include "codegen/loops/lowerings/families.h"

namespace triptych::loops {

Status lower_view(LoweringContext& context) {
  const ValueId base = context.tensor_arg("self");
  const ir::TensorType& base_type = context.type(base);
  for (std::size_t i = 0; i < context.node.results.size(); ++i) {
    if (context.result_type(i).dtype != base_type.dtype) {
      return not_lowered("a view with another dtype");
    }
    context.views.push_back({context.result(i), base});
  }
  return Unit{};
}

// as_strided may show memory that the base does not: then kernels read the view itself, not its
// base.
Status lower_as_strided(LoweringContext& context) {
  if (Status status = lower_view(context); !status.ok()) return status;
  const ir::TensorType& view = context.result_type();
  const ir::TensorType& base = context.type(context.tensor_arg("self"));
  const auto first = (view.storage_offset - base.storage_offset).as_constant();
  const auto reach = element_extent(view).as_constant();
  const auto available = element_extent(base).as_constant();
  context.views_stay_inside =
      first && reach && available && *first >= 0 && *first + *reach <= *available;
  return Unit{};
}

}  // namespace triptych::loops
