#include "normalize/tracer/op_entry.h"

#include <mutex>
#include <sstream>

#include "normalize/decompositions/decomposition.h"
#include "support/check.h"

namespace triptych::normalize {
namespace {

bool has_any_tag(const c10::OperatorHandle& handle, std::initializer_list<at::Tag> tags) {
  for (const at::Tag tag : tags) {
    if (handle.hasTag(tag)) return true;
  }
  return false;
}

ArgKind kind_of(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType)
    type = type->expectRef<c10::OptionalType>().getElementType();
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return ArgKind::kScalarType;
    case c10::TypeKind::LayoutType:
      return ArgKind::kLayout;
    case c10::TypeKind::MemoryFormatType:
      return ArgKind::kMemoryFormat;
    case c10::TypeKind::GeneratorType:
      return ArgKind::kGenerator;
    case c10::TypeKind::StorageType:
    case c10::TypeKind::StreamObjType:
    case c10::TypeKind::ClassType:
    case c10::TypeKind::AnyType:
      return ArgKind::kUnsupported;
    default:
      return ArgKind::kPlain;  // tensors, numbers, strings, devices and lists of these
  }
}

std::string qualified_name(const c10::FunctionSchema& schema) {
  const std::string_view full = schema.name();
  const std::size_t colons = full.find("::");
  std::string name(full.substr(0, colons));
  if (colons != std::string_view::npos) name.append(".").append(full.substr(colons + 2));
  return name.append(".").append(schema.overload_name().empty() ? "default"
                                                                : schema.overload_name());
}

const ir::Target* make_target(const c10::FunctionSchema& schema, const std::string& name,
                              const ops::OpInfo* info) {
  if (info != nullptr) return ops::target(info->op);
  std::ostringstream text;
  text << schema;
  auto parsed = ir::parse_schema(text.str());
  TORCH_CHECK(parsed.ok(), "triptych: cannot parse the schema ", text.str());
  return ir::intern_target(name, std::make_shared<const ir::Schema>(std::move(parsed).value()));
}

// Per return, the argument that it is: the one written under the same alias set.
std::vector<int> written_results(const c10::FunctionSchema& schema) {
  std::vector<int> result;
  for (const c10::Argument& ret : schema.returns()) {
    int found = -1;
    const c10::AliasInfo* alias = ret.alias_info();
    for (std::size_t i = 0; alias != nullptr && alias->isWrite() && i < schema.arguments().size();
         ++i) {
      const c10::AliasInfo* argument = schema.arguments()[i].alias_info();
      if (argument != nullptr && argument->isWrite() &&
          argument->beforeSets() == alias->beforeSets())
        found = static_cast<int>(i);
    }
    result.push_back(found);
  }
  return result;
}

bool is_tensor_like(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return true;
    case c10::TypeKind::OptionalType:
      return is_tensor_like(type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ListType:
      return is_tensor_like(type->expectRef<c10::ListType>().getElementType());
    default:
      return false;
  }
}

}  // namespace

OpEntry::OpEntry(const c10::OperatorHandle& op) : handle(op) {
  const c10::FunctionSchema& schema = op.schema();
  name = qualified_name(schema);
  info = ops::find(name);
  target = make_target(schema, name, info);
  aten = schema.name().starts_with("aten::") || schema.name().starts_with("prims::");
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    arg_kinds.push_back(kind_of(argument));
    if (argument.name() == "device") device_arg = static_cast<int>(i);
    if (argument.name() == "dtype") dtype_arg = static_cast<int>(i);
    if (argument.name() == "pin_memory") pin_memory_arg = static_cast<int>(i);
  }
  written_result = written_results(schema);
  mutates = schema.is_mutable();
  inplace = written_result.size() == 1 && written_result[0] == 0;
  for (const c10::Argument& ret : schema.returns()) {
    returns_tensors &= is_tensor_like(ret.type());
    is_view |= ret.alias_info() != nullptr && !ret.alias_info()->isWrite();
  }

  core = op.hasTag(at::Tag::core) || (info != nullptr && info->has(ops::Tag::kCore));
  kept = info != nullptr && info->has(ops::Tag::kKept);
  random = op.hasTag(at::Tag::nondeterministic_seeded) ||
           (info != nullptr && info->has(ops::Tag::kRandom));
  effect = schema.returns().empty() || (info != nullptr && info->has(ops::Tag::kEffect));
  reads_scalar = schema.name() == "aten::_local_scalar_dense";
  identity = schema.name() == "aten::detach" || schema.name() == "aten::alias";
  lift = schema.name() == "aten::lift_fresh" || schema.name() == "aten::lift" ||
         schema.name() == "aten::lift_fresh_copy";
  pointwise = op.hasTag(at::Tag::pointwise) || (info != nullptr && info->has(ops::Tag::kPointwise));
  draws_by_layout = info != nullptr && info->has(ops::Tag::kDrawsByLayout);
  composite_implicit = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  composite_explicit = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
  if (info != nullptr) {
    if (!info->shape_rule.empty()) rule = find_shape_rule(info->shape_rule);
    if (!info->decomposition.empty()) decomposition = find_decomposition(info->decomposition);
  }
  const bool any_sizes = pointwise || (info != nullptr && info->has(ops::Tag::kTried));
  // A composite's parts are tried one by one.
  tried = any_sizes && aten && !random && !composite_implicit &&
          (composite_explicit || op.hasKernelForDispatchKey(c10::DispatchKey::CPU));
  // Indexing is data-dependent only by a mask.
  dynamic_by_mask = schema.name() == "aten::index" || schema.name() == "aten::_unsafe_index";
  data_dependent = reads_scalar || (info != nullptr && info->has(ops::Tag::kDataDependent)) ||
                   (!dynamic_by_mask && has_any_tag(op, {at::Tag::data_dependent_output,
                                                         at::Tag::dynamic_output_shape}));
}

OpEntry& op_entry(const c10::OperatorHandle& handle) {
  // Keyed by the schema's address: it lives as long as the op.
  static std::mutex mutex;
  static auto* entries = new std::unordered_map<const void*, std::unique_ptr<OpEntry>>();
  const std::lock_guard lock(mutex);
  std::unique_ptr<OpEntry>& entry = (*entries)[&handle.schema()];
  if (!entry) {
    entry = std::make_unique<OpEntry>(handle);
    entry->index = static_cast<int>(entries->size()) - 1;
  }
  return *entry;
}

}  // namespace triptych::normalize
