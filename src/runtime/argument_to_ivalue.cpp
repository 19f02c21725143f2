#include "runtime/argument_to_ivalue.h"

#include <ATen/ops/scalar_tensor.h>

#include "runtime/errors.h"
#include "torch_types/torch_types.h"

namespace triptych::runtime {

using c10::IValue;
using c10::TypeKind;
using ir::Argument;

namespace {

[[noreturn]] void refuse(const std::string& found, const c10::Type& type) {
  fail(internal_error("runtime.argument",
                      "external call: found " + found + ", expected " + type.str()));
}

// A Python number where a Tensor is expected takes part in type promotion as a number does.
at::Tensor wrapped_number(const c10::Scalar& number) {
  at::Tensor tensor = at::scalar_tensor(number, at::TensorOptions(number.type()).device(at::kCPU));
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

IValue number(const c10::Scalar& value, const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::TensorType:
      return wrapped_number(value);
    case TypeKind::FloatType:
      return value.toDouble();
    case TypeKind::ComplexType:
      return value.toComplexDouble();
    default:
      return IValue(value);
  }
}

// Only what a list's elements can be; every list type of the dispatcher is one of these.
IValue list(const std::vector<Argument>& items, const c10::Type& element,
            const ArgumentSource& source) {
  std::vector<IValue> values;
  values.reserve(items.size());
  for (const Argument& item : items) values.push_back(to_ivalue(item, element, source));
  const auto fill = [&](auto result, const auto& convert) {
    result.reserve(values.size());
    for (const IValue& value : values) result.push_back(convert(value));
    return IValue(std::move(result));
  };
  switch (element.kind()) {
    case TypeKind::TensorType:
      return fill(c10::List<at::Tensor>(), [](const IValue& v) { return v.toTensor(); });
    case TypeKind::IntType:
    case TypeKind::SymIntType:
    case TypeKind::ScalarTypeType:
      return fill(c10::List<std::int64_t>(), [](const IValue& v) { return v.toInt(); });
    case TypeKind::FloatType:
      return fill(c10::List<double>(), [](const IValue& v) { return v.toDouble(); });
    case TypeKind::BoolType:
      return fill(c10::List<bool>(), [](const IValue& v) { return v.toBool(); });
    case TypeKind::OptionalType:
      if (element.containedType(0)->kind() == TypeKind::TensorType) {
        return fill(c10::List<std::optional<at::Tensor>>(), [](const IValue& v) {
          return v.isNone() ? std::nullopt : std::make_optional(v.toTensor());
        });
      }
      [[fallthrough]];
    default: {
      c10::impl::GenericList result(c10::NumberType::get());
      for (const IValue& value : values) result.push_back(value);
      return result;
    }
  }
}

class Converter {
 public:
  Converter(const c10::Type& type, const ArgumentSource& source) : type_(type), source_(source) {}

  IValue operator()(ir::None) const {
    return type_.kind() == TypeKind::TensorType ? IValue(at::Tensor()) : IValue();
  }
  IValue operator()(ir::ValueId id) const {
    IValue value = source_.value(id);
    return value.isInt() ? number(value.toScalar(), type_) : value;
  }
  IValue operator()(bool value) const { return number(c10::Scalar(value), type_); }
  IValue operator()(std::int64_t value) const {
    if (type_.kind() == TypeKind::BoolType) return value != 0;
    return number(c10::Scalar(value), type_);
  }
  IValue operator()(double value) const { return number(c10::Scalar(value), type_); }
  IValue operator()(const std::complex<double>& value) const {
    return number(c10::Scalar(c10::complex<double>(value)), type_);
  }
  IValue operator()(const ir::SymExpr& value) const {
    return number(c10::Scalar(source_.integer(value)), type_);
  }
  IValue operator()(const std::string& value) const { return value; }
  IValue operator()(ir::DType value) const { return static_cast<std::int64_t>(to_torch(value)); }
  IValue operator()(const ir::Device& value) const { return to_torch(value); }
  IValue operator()(ir::Layout value) const { return static_cast<std::int64_t>(to_torch(value)); }
  IValue operator()(ir::MemoryFormat value) const {
    return static_cast<std::int64_t>(to_torch(value));
  }
  IValue operator()(const ir::ArgumentList& value) const {
    if (type_.kind() != TypeKind::ListType) refuse("a list", type_);
    return list(value.items, *type_.containedType(0), source_);
  }
  IValue operator()(const ir::Generator&) const { return {}; }  // the default generator
  IValue operator()(const ir::ArgumentDict&) const { refuse("a dict", type_); }
  IValue operator()(const ir::Slice&) const { refuse("a slice", type_); }
  IValue operator()(ir::Ellipsis) const { refuse("an ellipsis", type_); }

 private:
  const c10::Type& type_;
  const ArgumentSource& source_;
};

}  // namespace

IValue to_ivalue(const Argument& argument, const c10::Type& type, const ArgumentSource& source) {
  if (type.kind() == TypeKind::OptionalType) {
    return argument.is_none() ? IValue() : to_ivalue(argument, *type.containedType(0), source);
  }
  return std::visit(Converter(type, source), argument.data);
}

}  // namespace triptych::runtime
