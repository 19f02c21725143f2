#include "codegen/loops/builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "codegen/loops/scalar_eval.h"
#include "codegen/loops/scalar_types.h"
#include "codegen/loops/simplify.h"

namespace triptych::loops {
namespace {

bool same_constant(const Instruction& a, const Instruction& b) {
  if (a.constant.index() != b.constant.index()) return false;
  if (const auto* x = std::get_if<double>(&a.constant)) {
    return std::bit_cast<std::uint64_t>(*x) ==
           std::bit_cast<std::uint64_t>(std::get<double>(b.constant));
  }
  return a.constant == b.constant;
}

bool same_computation(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.dtype == b.dtype && a.args == b.args && a.buffer == b.buffer &&
         same_constant(a, b) && a.index == b.index;
}

template <class Visit>
void for_each_statement(std::vector<Statement>& body, const Visit& visit) {
  for (Statement& statement : body) {
    visit(statement);
    if (auto* loop = std::get_if<Loop>(&statement.data)) for_each_statement(loop->body, visit);
  }
}

}  // namespace

DType arithmetic_dtype(DType storage) { return is_half(storage) ? DType::kF32 : storage; }

bool supported_dtype(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      return true;
    case DType::kC32:
    case DType::kC64:
    case DType::kC128:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
      return false;
  }
  return false;
}

bool is_one(const SymExpr& size) { return size.as_constant() == 1; }

SymExpr element_extent(const ir::TensorType& type) {
  SymExpr extent(1);
  for (std::size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].as_constant() == 0) return SymExpr(0);
    extent += (type.sizes[d] - SymExpr(1)) * type.strides[d];
  }
  return extent;
}

SymExpr flat_index(std::span<const SymExpr> index, std::span<const SymExpr> strides) {
  SymExpr sum;
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d].as_constant() == 0) continue;
    sum += index[d] * strides[d];
  }
  return sum;
}

std::vector<SymExpr> broadcast_index(std::span<const SymExpr> index, const ir::TensorType& type) {
  const std::size_t rank = type.sizes.size();
  TRIPTYCH_CHECK(index.size() >= rank, "a broadcast shape has at least the operand's rank");
  std::vector<SymExpr> result(index.end() - static_cast<std::ptrdiff_t>(rank), index.end());
  for (std::size_t d = 0; d < rank; ++d) {
    if (is_one(type.sizes[d])) result[d] = SymExpr(0);
  }
  return result;
}

Builder::Builder(const ir::Graph& graph, const ViewRoots& roots, std::string name)
    : graph_(graph), roots_(roots) {
  kernel_.name = std::move(name);
  frames_.emplace_back();
}

SymExpr Builder::open_loop(const SymExpr& extent) {
  if (is_one(extent)) return SymExpr(0);
  Frame frame;
  frame.loop.variable = Symbol("i" + std::to_string(next_loop_++));
  frame.loop.extent = extent;
  const SymExpr index = SymExpr::symbol(frame.loop.variable);
  frames_.push_back(std::move(frame));
  return index;
}

std::vector<SymExpr> Builder::open_loops(std::span<const SymExpr> extents) {
  std::vector<SymExpr> index;
  index.reserve(extents.size());
  for (const SymExpr& extent : extents) index.push_back(open_loop(extent));
  return index;
}

void Builder::close_loops(int count) {
  if (count < 0) count = open_count();
  for (int i = 0; i < count; ++i) {
    TRIPTYCH_CHECK(open_count() > 0, "a loop is open");
    Loop loop = std::move(frames_.back().loop);
    frames_.pop_back();
    body().push_back({std::move(loop)});
  }
}

std::vector<ScalarId> Builder::close_reducing(int keep, std::span<const Reduce> reductions) {
  std::vector<Reduce> current(reductions.begin(), reductions.end());
  std::vector<ScalarId> results;
  for (const Reduce& reduce : reductions) results.push_back(reduce.input);
  while (open_count() > keep) {
    Loop loop = std::move(frames_.back().loop);
    frames_.pop_back();
    results.clear();
    for (Reduce& reduce : current) {
      Reduction reduction{.op = reduce.op, .dtype = dtype(reduce.input), .input = reduce.input};
      const int count = reduce_results(reduce.op);
      for (int i = 0; i < count; ++i) {
        const ScalarId result = kernel_.new_scalar();
        dtypes_.push_back(
            reduction_result_dtype(reduce.op, reduction.dtype, static_cast<std::size_t>(i)));
        definitions_.push_back({.result = result, .dtype = dtypes_.back()});
        reduction.results.push_back(result);
        results.push_back(result);
      }
      reduce.input = reduction.results[0];
      loop.reductions.push_back(std::move(reduction));
    }
    body().push_back({std::move(loop)});
  }
  return results;
}

const SymExpr& Builder::flat(std::span<const SymExpr> index, std::span<const SymExpr> strides) {
  for (const FlatIndex& known : flat_indices_) {
    const bool same =
        std::equal(index.begin(), index.end(), known.index.begin(), known.index.end()) &&
        std::equal(strides.begin(), strides.end(), known.strides.begin(), known.strides.end());
    if (same) return known.flat;
  }
  flat_indices_.push_back(
      {{index.begin(), index.end()}, {strides.begin(), strides.end()}, flat_index(index, strides)});
  return flat_indices_.back().flat;
}

Builder::Location Builder::locate(ValueId value, std::span<const SymExpr> index) {
  const ir::TensorType& type = graph_.tensor(value);
  TRIPTYCH_CHECK(index.size() == type.sizes.size(), "an index has one part per dim");
  SymExpr position = flat(index, type.strides);
  const ValueId root = roots_.root(value);
  if (root != value) position += type.storage_offset - graph_.tensor(root).storage_offset;
  return {root, std::move(position)};
}

BufferId Builder::buffer_of(ValueId value, Buffer::Kind kind) {
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    if (values_[i] == value) return BufferId{i};
  }
  const ir::TensorType& type = graph_.tensor(value);
  values_.push_back(value);
  return kernel_.buffers.push_back({.kind = kind,
                                    .name = graph_.value(value).name,
                                    .dtype = type.dtype,
                                    .extent = element_extent(type)});
}

ScalarId Builder::load(ValueId value, std::span<const SymExpr> index) {
  Location location = locate(value, index);
  const BufferId buffer = buffer_of(location.root, Buffer::Kind::kInput);
  return add({.op = ScalarOp::kLoad,
              .dtype = kernel_.buffers[buffer].dtype,
              .index = std::move(location.index),
              .buffer = buffer});
}

ScalarId Builder::load_as(ValueId value, std::span<const SymExpr> index, DType dtype) {
  return cast(load(value, index), dtype);
}

void Builder::store(ValueId value, std::span<const SymExpr> index, ScalarId scalar) {
  const ir::TensorType& type = graph_.tensor(value);
  const BufferId buffer = buffer_of(value, Buffer::Kind::kOutput);
  const ScalarId stored = cast(scalar, type.dtype);
  body().push_back({Store{buffer, flat(index, type.strides), stored}});
}

BufferId Builder::add_local(std::string name, DType dtype, SymExpr extent) {
  values_.push_back(ValueId{});
  return kernel_.buffers.push_back({.kind = Buffer::Kind::kLocal,
                                    .name = std::move(name),
                                    .dtype = dtype,
                                    .extent = std::move(extent)});
}

ScalarId Builder::load_local(BufferId buffer, const SymExpr& index) {
  return add({.op = ScalarOp::kLoad,
              .dtype = kernel_.buffers[buffer].dtype,
              .index = index,
              .buffer = buffer});
}

void Builder::store_local(BufferId buffer, const SymExpr& index, ScalarId scalar) {
  const ScalarId stored = cast(scalar, kernel_.buffers[buffer].dtype);
  body().push_back({Store{buffer, index, stored}});
}

ScalarId Builder::constant(DType dtype, double value) {
  if (dtype == DType::kBool) return constant_bool(value != 0);
  if (!ir::is_floating(dtype)) {
    TRIPTYCH_CHECK(value >= -0x1p63 && value < 0x1p63, "an integer constant fits i64");
    return constant_int(dtype, static_cast<std::int64_t>(value));
  }
  return add({.op = ScalarOp::kConstant, .dtype = dtype, .constant = rounded(value, dtype)});
}

ScalarId Builder::constant_int(DType dtype, std::int64_t value) {
  if (dtype == DType::kBool) return constant_bool(value != 0);
  if (ir::is_floating(dtype)) {
    // One rounding: i64 to f32 through double would round twice.
    const double number = dtype == DType::kF64 ? static_cast<double>(value)
                                               : static_cast<double>(static_cast<float>(value));
    return constant(dtype, number);
  }
  return add({.op = ScalarOp::kConstant, .dtype = dtype, .constant = wrapped(value, dtype)});
}

ScalarId Builder::constant_bool(bool value) {
  return add({.op = ScalarOp::kConstant, .dtype = DType::kBool, .constant = value});
}

ScalarId Builder::index_value(const SymExpr& expr) {
  if (const auto constant = expr.as_constant()) return constant_int(DType::kI64, *constant);
  return add({.op = ScalarOp::kIndex, .dtype = DType::kI64, .index = expr});
}

ScalarId Builder::cast(ScalarId scalar, DType to) {
  const std::array args = {scalar};
  return emit(ScalarOp::kCast, to, args);
}

ScalarId Builder::rounding_cast(ScalarId scalar, DType to) {
  const DType from = dtype(scalar);
  const ScalarId narrow = cast(scalar, to);
  if (!is_half(to) || (from != DType::kF32 && from != DType::kF64)) return narrow;
  const std::array bits = {emit(ScalarOp::kBitcast, DType::kI16, std::array{narrow})};
  return emit(ScalarOp::kBitcast, to, bits);
}

ScalarId Builder::emit(ScalarOp op, DType dtype, std::span<const ScalarId> args) {
  if (const auto simpler = simplify_instruction(*this, op, dtype, args)) return *simpler;
  return add({.op = op, .dtype = dtype, .args = {args.begin(), args.end()}});
}

ScalarId Builder::unary(ScalarOp op, ScalarId a) {
  const std::array args = {a};
  return emit(op, info(op).bool_result ? DType::kBool : dtype(a), args);
}

ScalarId Builder::binary(ScalarOp op, ScalarId a, ScalarId b) {
  TRIPTYCH_DCHECK(dtype(a) == dtype(b), "operands share a dtype");
  const std::array args = {a, b};
  return emit(op, info(op).bool_result ? DType::kBool : dtype(a), args);
}

ScalarId Builder::select(ScalarId condition, ScalarId if_true, ScalarId if_false) {
  TRIPTYCH_DCHECK(dtype(if_true) == dtype(if_false), "both sides of a select share a dtype");
  const std::array args = {condition, if_true, if_false};
  return emit(ScalarOp::kSelect, dtype(if_true), args);
}

void Builder::check(ScalarId condition, Check::Code code) {
  const Instruction* known = definition(condition);
  const auto* truth = known != nullptr ? std::get_if<bool>(&known->constant) : nullptr;
  if (truth != nullptr && *truth) return;
  for (const Frame& frame : frames_) {
    for (const Statement& statement : frame.loop.body) {
      const auto* seen = std::get_if<Check>(&statement.data);
      if (seen != nullptr && seen->condition == condition && seen->code == code) return;
    }
  }
  body().push_back({Check{condition, code}});
}

SymExpr Builder::index_symbol(ScalarId scalar) {
  needed_.resize(std::max<std::size_t>(needed_.size(), scalar.value + 1));
  needed_[scalar.value] = true;
  return SymExpr::symbol(scalar_symbol(scalar));
}

const Instruction* Builder::definition(ScalarId scalar) const {
  const Instruction& found = definitions_.at(scalar.value);
  const bool reduction_result =
      found.op == ScalarOp::kConstant && std::holds_alternative<std::monostate>(found.constant);
  return reduction_result ? nullptr : &found;
}

std::optional<ScalarId> Builder::find_equal(const Instruction& instruction) const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    for (auto it = frame->loop.body.rbegin(); it != frame->loop.body.rend(); ++it) {
      const auto* seen = std::get_if<Instruction>(&it->data);
      if (seen != nullptr && same_computation(*seen, instruction)) return seen->result;
    }
  }
  return std::nullopt;
}

ScalarId Builder::add(Instruction instruction) {
  const bool local_load = instruction.op == ScalarOp::kLoad &&
                          kernel_.buffers[instruction.buffer].kind == Buffer::Kind::kLocal;
  if (!local_load) {
    if (const auto equal = find_equal(instruction)) return *equal;
  }
  instruction.result = kernel_.new_scalar();
  dtypes_.push_back(instruction.dtype);
  definitions_.push_back(instruction);
  const ScalarId result = instruction.result;
  body().push_back({std::move(instruction)});
  return result;
}

// Definitions stand before uses, so one sweep from the end finds every instruction that nothing
// needs.
void Builder::drop_unused() {
  needed_.resize(kernel_.num_scalars);
  sweep(kernel_.body);
}

bool Builder::sweep(std::vector<Statement>& body) {
  std::vector<bool> kept(body.size(), true);
  for (std::size_t i = body.size(); i-- > 0;) {
    if (const auto* store = std::get_if<Store>(&body[i].data)) {
      needed_[store->value.value] = true;
    } else if (const auto* check = std::get_if<Check>(&body[i].data)) {
      needed_[check->condition.value] = true;
    } else if (const auto* instruction = std::get_if<Instruction>(&body[i].data)) {
      kept[i] = needed_[instruction->result.value];
      if (!kept[i]) continue;
      for (const ScalarId arg : instruction->args) needed_[arg.value] = true;
    } else {
      Loop& loop = std::get<Loop>(body[i].data);
      std::erase_if(loop.reductions, [&](const Reduction& reduction) {
        return std::none_of(reduction.results.begin(), reduction.results.end(),
                            [&](ScalarId result) { return needed_[result.value]; });
      });
      for (const Reduction& reduction : loop.reductions) needed_[reduction.input.value] = true;
      kept[i] = sweep(loop.body) || !loop.reductions.empty();
    }
  }
  std::size_t next = 0;
  std::erase_if(body, [&](const Statement&) { return !kept[next++]; });
  return !body.empty();
}

// Parameters first, as the kernel's contract says: inputs, outputs, then locals.
void Builder::order_buffers() {
  std::vector<std::uint32_t> order(values_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto& buffers = kernel_.buffers.items();
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return buffers[a].kind < buffers[b].kind;
  });
  if (std::is_sorted(order.begin(), order.end())) return;
  std::vector<BufferId> renamed(order.size());
  std::vector<Buffer> sorted;
  std::vector<ValueId> values;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    renamed[order[i]] = BufferId{i};
    sorted.push_back(std::move(kernel_.buffers.items()[order[i]]));
    values.push_back(values_[order[i]]);
  }
  kernel_.buffers.items() = std::move(sorted);
  values_ = std::move(values);
  for_each_statement(kernel_.body, [&](Statement& statement) {
    if (auto* instruction = std::get_if<Instruction>(&statement.data)) {
      if (instruction->op == ScalarOp::kLoad)
        instruction->buffer = renamed[instruction->buffer.value];
    } else if (auto* store = std::get_if<Store>(&statement.data)) {
      store->buffer = renamed[store->buffer.value];
    }
  });
}

void Builder::collect_symbols() {
  if (graph_.symbols().empty()) return;
  std::set<Symbol> used;
  const auto collect = [&](const SymExpr& e) {
    if (e.is_constant()) return;
    for (const Symbol symbol : e.symbols()) used.insert(symbol);
  };
  for (const Buffer& buffer : kernel_.buffers) collect(buffer.extent);
  for_each_statement(kernel_.body, [&](Statement& statement) {
    if (auto* instruction = std::get_if<Instruction>(&statement.data)) collect(instruction->index);
    if (auto* store = std::get_if<Store>(&statement.data)) collect(store->index);
    if (auto* loop = std::get_if<Loop>(&statement.data)) collect(loop->extent);
  });
  for (const ir::SymbolInfo& symbol : graph_.symbols()) {
    if (used.contains(symbol.name)) kernel_.symbols.push_back(symbol.name);
  }
}

KernelItem Builder::finish(std::vector<std::string> origins) {
  close_loops();
  kernel_.body = std::move(frames_.back().loop.body);
  kernel_.origins = std::move(origins);
  drop_unused();
  order_buffers();
  collect_symbols();
  std::vector<ValueId> values;
  for (const ValueId value : values_) {
    if (value.valid()) values.push_back(value);
  }
  return {std::move(kernel_), std::move(values)};
}

}  // namespace triptych::loops
