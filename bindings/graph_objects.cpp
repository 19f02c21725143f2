#include "graph_objects.h"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ir/literal_text.h"

namespace nb = nanobind;

namespace triptych::bindings {
namespace {

nb::object torch_attribute(std::string_view name) {
  return nb::module_::import_("torch").attr(std::string(name).c_str());
}

// Layouts and memory formats print as attributes of torch.
nb::object torch_constant(const ir::Argument& argument) {
  std::string text;
  ir::append_literal(argument, text);
  return torch_attribute(std::string_view(text).substr(sizeof("torch.") - 1));
}

struct ArgumentConverter {
  const GraphPtr& graph;

  nb::object operator()(ir::None) const { return nb::none(); }
  nb::object operator()(ir::ValueId id) const { return to_python(graph, id); }
  nb::object operator()(bool x) const { return nb::bool_(x); }
  nb::object operator()(std::int64_t x) const { return nb::int_(x); }
  nb::object operator()(double x) const { return nb::float_(x); }
  nb::object operator()(const std::complex<double>& x) const { return nb::cast(x); }
  nb::object operator()(const std::string& x) const { return nb::cast(x); }
  nb::object operator()(ir::DType x) const { return to_python(x); }
  nb::object operator()(const ir::Device& x) const { return to_python(x); }
  nb::object operator()(ir::Layout x) const { return torch_constant(x); }
  nb::object operator()(ir::MemoryFormat x) const { return torch_constant(x); }
  nb::object operator()(const ir::SymExpr& x) const { return to_python(x); }
  nb::object operator()(const ir::ArgumentList& x) const {
    nb::list items = list(x.items);
    return x.is_tuple ? nb::object(nb::tuple(items)) : nb::object(items);
  }
  nb::object operator()(const ir::ArgumentDict& x) const {
    nb::dict out;
    for (const auto& [key, item] : x.items) out[nb::cast(key)] = to_python(graph, item);
    return out;
  }
  nb::object operator()(const ir::Slice& x) const {
    const nb::list parts = list(x.parts);
    return nb::steal(PySlice_New(nb::object(parts[0]).ptr(), nb::object(parts[1]).ptr(),
                                 nb::object(parts[2]).ptr()));
  }
  nb::object operator()(ir::Ellipsis) const { return nb::borrow(Py_Ellipsis); }
  nb::object operator()(const ir::Generator& x) const { return nb::cast(x); }

  nb::list list(const std::vector<ir::Argument>& items) const {
    nb::list out;
    for (const ir::Argument& item : items) out.append(to_python(graph, item));
    return out;
  }
};

}  // namespace

nb::object to_python(const GraphPtr& graph, const ir::Argument& argument) {
  return std::visit(ArgumentConverter{graph}, argument.data);
}

nb::object to_python(const GraphPtr& graph, ir::ValueId value) {
  return value.valid() ? nb::cast(ValueView{graph, value}) : nb::none();
}

nb::object to_python(const ir::SymExpr& e) {
  return e.is_constant() ? nb::object(nb::int_(e.constant())) : nb::cast(e);
}

nb::list to_python(const std::vector<ir::SymExpr>& list) {
  nb::list out;
  for (const ir::SymExpr& e : list) out.append(to_python(e));
  return out;
}

nb::object to_python(ir::DType dtype) { return torch_attribute(ir::torch_dtype_name(dtype)); }

nb::object to_python(const ir::Device& device) { return torch_attribute("device")(device.str()); }

nb::object to_python(const ir::ValueType& type) {
  if (std::holds_alternative<ir::NoneType>(type)) return nb::none();
  return std::visit([](const auto& x) { return nb::cast(x); }, type);
}

}  // namespace triptych::bindings
