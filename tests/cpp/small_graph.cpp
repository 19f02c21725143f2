#include "small_graph.h"

#include <algorithm>
#include <random>

#include "codegen/loops/interpreter.h"
#include "codegen/loops/scalar_eval.h"
#include "ops/op_table.h"
#include "round_trip.h"

namespace triptych::testing {
namespace {

using ir::Argument;
using ir::SymExpr;
using ir::TensorType;

Argument size(const SymExpr& e) { return e.is_constant() ? Argument(e.constant()) : Argument(e); }

template <class T>
Argument list(const std::vector<T>& items) {
  ir::ArgumentList result;
  for (const T& item : items) result.items.push_back(size(SymExpr(item)));
  return result;
}

std::int64_t wrap(std::int64_t dim, std::size_t rank) {
  return dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim;
}

std::int64_t count(const Ints& sizes) {
  std::int64_t product = 1;
  for (std::int64_t size : sizes) product *= size;
  return product;
}

}  // namespace

TensorType SmallGraph::type(const Sizes& sizes, DType dtype) const {
  TensorType result;
  result.dtype = dtype;
  SymExpr stride(1);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    result.sizes.insert(result.sizes.begin(), sizes[i]);
    result.strides.insert(result.strides.begin(), stride);
    if (sizes[i] != SymExpr(0)) stride *= sizes[i];
  }
  return result;
}

Sizes SmallGraph::sizes(ValueId x) const { return graph.tensor(x).sizes; }

Ints SmallGraph::known_sizes(ValueId x) const {
  Ints result;
  for (const SymExpr& size : graph.tensor(x).sizes) result.push_back(evaluate(graph, size));
  return result;
}

SymExpr SmallGraph::symbol(std::string_view name, std::int64_t hint) {
  ir::SymbolInfo info;
  info.name = ir::Symbol(name);
  info.hint = hint;
  graph.symbols().push_back(info);
  return SymExpr::symbol(name);
}

std::int64_t evaluate(const ir::Graph& graph, const SymExpr& e) {
  const auto value = e.evaluate([&](ir::Symbol symbol) -> std::optional<std::int64_t> {
    for (const ir::SymbolInfo& info : graph.symbols()) {
      if (info.name == symbol) return info.hint;
    }
    return std::nullopt;
  });
  TRIPTYCH_CHECK(value.has_value(), "cannot evaluate " + e.str());
  return *value;
}

bool SmallGraph::contiguous(ValueId x) const {
  return graph.tensor(x).strides == type(sizes(x), DType::kF32).strides;
}

ValueId SmallGraph::input(const Sizes& sizes, DType dtype, const Sizes& strides) {
  TensorType result = type(sizes, dtype);
  for (std::size_t i = 0; i < strides.size(); ++i) result.strides[i] = strides[i];
  const std::string name = "x" + std::to_string(graph.inputs().size());
  return graph.add_input(ir::Input::Kind::kUser, name, result);
}

ValueId SmallGraph::call(std::string_view op, std::map<std::string, Argument> given,
                         TensorType type) {
  const ops::OpInfo* row = ops::find(op);
  TRIPTYCH_CHECK(row != nullptr, "the op is in the table");
  const ir::Target* target = ops::target(row->op);
  std::vector<Argument> args;
  for (const ir::SchemaArgument& argument : target->schema->arguments) {
    const auto found = given.find(argument.name);
    args.push_back(found != given.end() ? found->second
                                        : argument.default_value.value_or(Argument(ir::None{})));
  }
  std::vector<ir::ValueType> results = {type};
  for (std::size_t i = 1; i < target->schema->returns.size(); ++i) {  // layer norm: mean and rstd
    TensorType moment = type;
    moment.sizes.back() = SymExpr(1);
    results.emplace_back(this->type(moment.sizes, type.dtype));
  }
  const ir::NodeId node = graph.add_node(target, std::move(args), std::move(results));
  return graph.node(node).results[0];
}

ValueId SmallGraph::unary(std::string_view op, ValueId x) {
  return call(op, {{"self", x}}, type(sizes(x), graph.tensor(x).dtype));
}

ValueId SmallGraph::binary(std::string_view op, ValueId a, ValueId b) {
  const Sizes x = sizes(a);
  const Sizes y = sizes(b);
  Sizes result(std::max(x.size(), y.size()), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const SymExpr p = i < x.size() ? x[x.size() - 1 - i] : SymExpr(1);
    const SymExpr q = i < y.size() ? y[y.size() - 1 - i] : SymExpr(1);
    result[result.size() - 1 - i] = p == SymExpr(1) ? q : p;
  }
  return call(op, {{"self", a}, {"other", b}}, type(result, graph.tensor(a).dtype));
}

ValueId SmallGraph::scaled(ValueId x, double factor) {
  return call("aten.mul.Scalar", {{"self", x}, {"other", factor}},
              type(sizes(x), graph.tensor(x).dtype));
}

ValueId SmallGraph::reduce(std::string_view op, ValueId x, const Ints& dims, bool keepdim) {
  Sizes result;
  const Sizes from = sizes(x);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool reduced = std::any_of(dims.begin(), dims.end(), [&](std::int64_t d) {
      return wrap(d, from.size()) == static_cast<std::int64_t>(i);
    });
    if (!reduced) result.push_back(from[i]);
    if (reduced && keepdim) result.push_back(1);
  }
  return call(op, {{"self", x}, {"dim", list(dims)}, {"keepdim", keepdim}},
              type(result, graph.tensor(x).dtype));
}

ValueId SmallGraph::softmax(ValueId x, std::int64_t dim) {
  return call("aten._softmax.default", {{"self", x}, {"dim", dim}, {"half_to_float", false}},
              type(sizes(x), graph.tensor(x).dtype));
}

ValueId SmallGraph::layer_norm(ValueId x, ValueId weight, ValueId bias) {
  return call("aten.native_layer_norm.default",
              {{"input", x},
               {"normalized_shape", list(Sizes{sizes(x).back()})},
               {"weight", weight},
               {"bias", bias},
               {"eps", 1e-5}},
              type(sizes(x), graph.tensor(x).dtype));
}

ValueId SmallGraph::cast(ValueId x, DType dtype) {
  return call("aten._to_copy.default", {{"self", x}, {"dtype", dtype}}, type(sizes(x), dtype));
}

ValueId SmallGraph::clone(ValueId x) {
  return call("aten.clone.default", {{"self", x}, {"memory_format", ir::MemoryFormat::kContiguous}},
              type(sizes(x), graph.tensor(x).dtype));
}

ValueId SmallGraph::cat(const std::vector<ValueId>& xs, std::int64_t dim) {
  ir::ArgumentList tensors;
  Sizes result = sizes(xs[0]);
  const auto at = static_cast<std::size_t>(wrap(dim, result.size()));
  result[at] = 0;
  for (ValueId x : xs) {
    tensors.items.emplace_back(x);
    result[at] += sizes(x)[at];
  }
  return call("aten.cat.default", {{"tensors", tensors}, {"dim", dim}},
              type(result, graph.tensor(xs[0]).dtype));
}

ValueId SmallGraph::mm(ValueId a, ValueId b) {
  return call("aten.mm.default", {{"self", a}, {"mat2", b}},
              type({sizes(a)[0], sizes(b)[1]}, graph.tensor(a).dtype));
}

ValueId SmallGraph::external(std::string_view op, std::map<std::string, ir::Argument> args,
                             const Sizes& sizes) {
  return call(op, std::move(args), type(sizes, DType::kF32));
}

ValueId SmallGraph::as_view(std::string_view op, std::map<std::string, Argument> args,
                            TensorType type) {
  return call(op, std::move(args), std::move(type));
}

ValueId SmallGraph::view(ValueId x, const Sizes& to) {
  TensorType result = type(to, graph.tensor(x).dtype);
  result.storage_offset = graph.tensor(x).storage_offset;
  return as_view("aten.view.default", {{"self", x}, {"size", list(to)}}, result);
}

ValueId SmallGraph::permute(ValueId x, const Ints& dims) {
  TensorType result = graph.tensor(x);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    result.sizes[i] = graph.tensor(x).sizes[static_cast<std::size_t>(dims[i])];
    result.strides[i] = graph.tensor(x).strides[static_cast<std::size_t>(dims[i])];
  }
  return as_view("aten.permute.default", {{"self", x}, {"dims", list(dims)}}, result);
}

ValueId SmallGraph::slice(ValueId x, std::int64_t dim, const SymExpr& start, const SymExpr& end) {
  TensorType result = graph.tensor(x);
  const auto at = static_cast<std::size_t>(dim);
  result.sizes[at] = end - start;
  result.storage_offset += start * result.strides[at];
  return as_view("aten.slice.Tensor",
                 {{"self", x}, {"dim", dim}, {"start", size(start)}, {"end", size(end)}}, result);
}

ValueId SmallGraph::expand(ValueId x, const Sizes& to) {
  TensorType result = graph.tensor(x);
  const std::size_t added = to.size() - result.sizes.size();
  result.sizes.insert(result.sizes.begin(), added, SymExpr(1));
  result.strides.insert(result.strides.begin(), added, SymExpr(0));
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (result.sizes[i] == to[i]) continue;
    result.sizes[i] = to[i];
    result.strides[i] = SymExpr(0);
  }
  return as_view("aten.expand.default", {{"self", x}, {"size", list(to)}}, result);
}

void SmallGraph::output(ValueId x) {
  ir::Output result;
  result.value = x;
  graph.outputs().push_back(result);
}

namespace {

std::int64_t extent(const ir::Graph& graph, const TensorType& type) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < type.sizes.size(); ++i) {
    const std::int64_t size = evaluate(graph, type.sizes[i]);
    if (size == 0) return 0;
    last += (size - 1) * evaluate(graph, type.strides[i]);
  }
  return last + 1;
}

class Runner {
 public:
  Runner(const loops::LoopProgram& program, Memory& memory) : program_(program), memory_(memory) {
    for (const loops::Item& item : program.items) {
      if (const auto* view = std::get_if<loops::ViewItem>(&item)) base_[view->value] = view->base;
    }
  }

  ValueId root(ValueId value) const {
    for (auto found = base_.find(value); found != base_.end(); found = base_.find(value))
      value = found->second;
    return value;
  }

  char* data(ValueId value) {
    const ValueId owner = root(value);
    const TensorType& type = program_.graph.tensor(value);
    const TensorType& whole = program_.graph.tensor(owner);
    auto& bytes = memory_[owner];
    if (bytes.empty()) {
      bytes.assign(
          static_cast<std::size_t>(extent(program_.graph, whole) * ir::dtype_bytes(whole.dtype)),
          0x7b);
    }
    const std::int64_t offset =
        evaluate(program_.graph, type.storage_offset - whole.storage_offset);
    return bytes.data() + offset * ir::dtype_bytes(type.dtype);
  }

  void run() {
    for (const loops::Item& item : program_.items) {
      if (const auto* kernel = std::get_if<loops::KernelItem>(&item)) {
        run_kernel(*kernel);
      } else if (const auto* external = std::get_if<loops::ExternalItem>(&item)) {
        run_external(program_.graph.node(external->node));
      }
    }
  }

 private:
  std::int64_t value(const SymExpr& e) const { return evaluate(program_.graph, e); }

  void run_kernel(const loops::KernelItem& item) {
    std::vector<void*> pointers;
    for (ValueId value : item.buffers) data(value);  // allocate all before taking addresses
    for (ValueId value : item.buffers) pointers.push_back(data(value));
    std::vector<std::int64_t> symbols;
    for (ir::Symbol symbol : item.kernel.symbols) symbols.push_back(value(SymExpr::symbol(symbol)));
    std::int32_t error = 0;
    const Status status = loops::interpret(item.kernel, pointers, symbols, error);
    TRIPTYCH_CHECK(status.ok(),
                   status.ok() ? "" : status.error().describe() + "\n" + print(item.kernel));
    TRIPTYCH_CHECK(error == 0, "no check failed");
  }

  bool is_empty(ValueId id) const {
    const TensorType& type = program_.graph.tensor(id);
    return std::any_of(type.sizes.begin(), type.sizes.end(),
                       [&](const SymExpr& size) { return value(size) == 0; });
  }

  void run_external(const ir::Node& node) {
    if (is_empty(node.results[0])) {  // nothing to compute, whatever the op
      data(node.results[0]);
      return;
    }
    if (node.target->name == "aten.sum.dim_IntList" && is_empty(node.args[0].get<ValueId>())) {
      const TensorType& sums = program_.graph.tensor(node.results[0]);
      const std::int64_t bytes = extent(program_.graph, sums) * ir::dtype_bytes(sums.dtype);
      std::fill_n(data(node.results[0]), bytes, char{0});
      return;
    }
    TRIPTYCH_CHECK(node.target->name == "aten.mm.default",
                   "run_program knows " + node.target->name);
    const ValueId a = node.args[0].get<ValueId>();
    const ValueId b = node.args[1].get<ValueId>();
    const TensorType& x = program_.graph.tensor(a);
    const TensorType& y = program_.graph.tensor(b);
    const TensorType& z = program_.graph.tensor(node.results[0]);
    for (std::int64_t i = 0; i < value(x.sizes[0]); ++i) {
      for (std::int64_t j = 0; j < value(y.sizes[1]); ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < value(y.sizes[0]); ++k) {
          sum += at(a, i * value(x.strides[0]) + k * value(x.strides[1])) *
                 at(b, k * value(y.strides[0]) + j * value(y.strides[1]));
        }
        loops::store_scalar(data(node.results[0]), i * value(z.strides[0]) + j, z.dtype, {sum, 0});
      }
    }
  }

  double at(ValueId value, std::int64_t index) {
    return loops::load_scalar(data(value), index, program_.graph.tensor(value).dtype).number;
  }

  const loops::LoopProgram& program_;
  Memory& memory_;
  std::map<ValueId, ValueId> base_;
};

}  // namespace

Memory fill_inputs(const ir::Graph& graph, std::uint32_t seed) {
  Memory memory;
  std::mt19937 random(seed);
  for (const ir::Input& input : graph.inputs()) {
    const TensorType& type = graph.tensor(input.value);
    auto& bytes = memory[input.value];
    bytes.resize(static_cast<std::size_t>(extent(graph, type) * ir::dtype_bytes(type.dtype)));
    for (std::int64_t i = 0; i < extent(graph, type); ++i) {
      const double number = static_cast<double>(random() % 4001) / 1000.0 - 2.0;
      const auto integer = static_cast<std::int64_t>(random() % 4);
      loops::store_scalar(bytes.data(), i, type.dtype, {number, integer});
    }
  }
  return memory;
}

void run_program(const loops::LoopProgram& program, Memory& memory) {
  Runner(program, memory).run();
}

std::vector<double> read_value(const loops::LoopProgram& program, const Memory& memory,
                               ValueId value) {
  Memory copy = memory;
  Runner runner(program, copy);
  const char* data = runner.data(value);
  const TensorType& type = program.graph.tensor(value);
  Ints sizes;
  for (const SymExpr& size : type.sizes) sizes.push_back(evaluate(program.graph, size));
  std::vector<double> result;
  for (std::int64_t flat = 0; flat < count(sizes); ++flat) {
    std::int64_t index = 0;
    std::int64_t rest = flat;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      index += rest % sizes[d] * evaluate(program.graph, type.strides[d]);
      rest /= sizes[d];
    }
    const loops::ScalarValue element = loops::load_scalar(data, index, type.dtype);
    result.push_back(ir::is_floating(type.dtype) ? element.number
                                                 : static_cast<double>(element.integer));
  }
  return result;
}

std::size_t count_kernels(const loops::LoopProgram& program) {
  return static_cast<std::size_t>(std::count_if(
      program.items.begin(), program.items.end(),
      [](const auto& item) { return std::holds_alternative<loops::KernelItem>(item); }));
}

std::string verify_all(const loops::LoopProgram& program) {
  const auto errors = loops::verify(program);
  if (!errors.empty()) return errors[0].describe() + "\n" + print(program);
  return round_trip_complaint(program);
}

std::string print_kernels(const loops::LoopProgram& program) {
  std::string text;
  for (const loops::Item& item : program.items) {
    if (const auto* kernel = std::get_if<loops::KernelItem>(&item)) {
      text += print(kernel->kernel);
    } else if (const auto* external = std::get_if<loops::ExternalItem>(&item)) {
      text += "external " + program.graph.node(external->node).target->name + "\n";
    }
  }
  return text;
}

}  // namespace triptych::testing
