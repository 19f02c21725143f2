#include "codegen/writers/llvm/index_text.h"

#include <algorithm>
#include <map>
#include <optional>

#include "support/check.h"

namespace triptych::writers::llvm {

namespace {

struct Sum {  // of a polynomial, sorted by the depth of its terms
  std::int64_t constant = 0;
  std::map<int, std::vector<SymExpr::Term>> by_level;
};

int level_of(const Scope& scope, const SymExpr& e) {
  int level = 0;
  for (Symbol symbol : e.symbols()) {
    auto found = scope.symbols.find(symbol);
    if (found != scope.symbols.end()) {
      level = std::max(level, found->second.level);
    } else if (ScalarId id = scope.scalar_symbol(symbol); id.valid()) {
      level = std::max(level, scope.get(id, 0).level);
    } else {
      TRIPTYCH_UNREACHABLE(cat("index symbol ", symbol.str(), " is not in scope"));
    }
  }
  return level;
}

SymExpr expression_of(const SymExpr::Term& term) {
  SymExpr e(term.coefficient);
  for (const SymExpr& atom : term.atoms) e = e * atom;
  return e;
}

Sum sort_terms(const Scope& scope, const SymExpr& index) {
  Sum sum;
  for (const SymExpr::Term& term : index.terms()) {
    if (term.atoms.empty()) {
      sum.constant += term.coefficient;
      continue;
    }
    int level = 0;
    for (const SymExpr& atom : term.atoms) level = std::max(level, level_of(scope, atom));
    sum.by_level[level].push_back(term);
  }
  return sum;
}

Operand integer(std::int64_t value) { return Operand{.text = num(value)}; }
bool is_literal(const Operand& a, std::int64_t value) { return a.text == num(value); }

Operand binary(Scope& scope, std::string_view op, const Operand& a, const Operand& b) {
  Operand result{.lanes = a.lanes, .level = std::max(a.level, b.level)};
  result.text = scope.code.define(result.level, cat(op, " ", a.typed(), ", ", b.text));
  return result;
}
Operand add(Scope& scope, const Operand& a, const Operand& b) {
  if (is_literal(a, 0)) return b;
  if (is_literal(b, 0)) return a;
  return binary(scope, "add nsw", a, b);
}
Operand mul(Scope& scope, const Operand& a, const Operand& b) {
  if (is_literal(a, 1)) return b;
  if (is_literal(b, 1)) return a;
  return binary(scope, "mul nsw", a, b);
}

Operand min_max(Scope& scope, std::string_view op, const Operand& a, const Operand& b) {
  Operand result{.lanes = a.lanes, .level = std::max(a.level, b.level)};
  Ops ops(scope.code, DType::kI64, a.lanes, result.level);
  result.text = ops.intrinsic(op == "min" ? "llvm.smin" : "llvm.smax", {a.text, b.text});
  return result;
}

// Rounds to minus infinity. A zero divisor can only belong to a loop that does not run: any value
// will do.
Operand scalar_floordiv(Scope& scope, const Operand& a, const Operand& b, bool plain) {
  int level = std::max(a.level, b.level);
  Ops ops(scope.code, DType::kI64, 1, level);
  Operand divisor = b;
  if (b.text.starts_with("%")) {
    divisor.text = ops.select(ops.icmp("eq", b.text, "0"), "1", b.text);
    divisor.level = level;
  }
  if (plain) return binary(scope, "udiv", a, divisor);
  std::string quotient = ops.binary("sdiv", a.text, divisor.text);
  std::string rest = ops.binary("sub", a.text, ops.binary("mul", quotient, divisor.text));
  std::string differs = ops.icmp("slt", ops.binary("xor", rest, divisor.text), "0");
  std::string inexact = ops.icmp("ne", rest, "0");
  std::string down = scope.code.define(level, cat("and i1 ", differs, ", ", inexact));
  std::string one = scope.code.define(level, cat("zext i1 ", down, " to i64"));
  return Operand{.text = ops.binary("sub", quotient, one), .level = level};
}

// Vectors of i64 have no division: indices stay far below 2^53, where the quotient of doubles,
// rounded down, is exact.
Operand vector_floordiv(Scope& scope, const Operand& a, const Operand& b) {
  int level = std::max(a.level, b.level);
  Ops ints(scope.code, DType::kI64, a.lanes, level);
  Ops reals(scope.code, DType::kF64, a.lanes, level);
  std::string x = ints.convert("sitofp", a.text, DType::kF64);
  std::string y = ints.convert("sitofp", b.text, DType::kF64);
  std::string quotient = reals.intrinsic("llvm.floor", {reals.div(x, y)});
  return Operand{
      .text = reals.convert("fptosi", quotient, DType::kI64), .lanes = a.lanes, .level = level};
}

Operand scalar_call(Scope& scope, const SymExpr::Call& call) {
  Operand a = scalar_index(scope, *call.a);
  Operand b = scalar_index(scope, *call.b);
  if (call.op == "min" || call.op == "max") return min_max(scope, call.op, a, b);
  bool plain = call.a->range(scope.ranges).low >= 0 && call.b->range(scope.ranges).low >= 0;
  Operand quotient = scalar_floordiv(scope, a, b, plain);
  if (call.op == "floordiv") return quotient;
  return binary(scope, "sub nsw", a, mul(scope, quotient, b));
}

Operand vector_call(Scope& scope, const SymExpr::Call& call, int u) {
  Operand a = vector_index(scope, *call.a, u);
  Operand b = vector_index(scope, *call.b, u);
  if (call.op == "min" || call.op == "max") return min_max(scope, call.op, a, b);
  Operand quotient = vector_floordiv(scope, a, b);
  if (call.op == "floordiv") return quotient;
  return binary(scope, "sub nsw", a, binary(scope, "mul nsw", quotient, b));
}

Operand scalar_term(Scope& scope, const SymExpr::Term& term) {
  Operand product = integer(term.coefficient);
  std::vector<Operand> factors;
  for (const SymExpr& atom : term.atoms) factors.push_back(scalar_index(scope, atom));
  std::stable_sort(factors.begin(), factors.end(),
                   [](const Operand& a, const Operand& b) { return a.level < b.level; });
  for (const Operand& factor : factors) product = mul(scope, factor, product);
  return product;
}

Operand symbol_value(Scope& scope, Symbol symbol, int u) {
  auto found = scope.symbols.find(symbol);
  if (found != scope.symbols.end()) return found->second;
  ScalarId id = scope.scalar_symbol(symbol);
  TRIPTYCH_CHECK(id.valid(), cat("index symbol ", symbol.str(), " is not in scope"));
  return scope.get(id, u);
}

Operand lanes_of_variable(Scope& scope, int u) {
  int lanes = scope.vector.lanes;
  Operand base = scope.broadcast(scope.symbols.at(scope.vector.variable));
  Operand steps{.text = iota_literal("i64", lanes, static_cast<std::int64_t>(u) * lanes, 1),
                .lanes = lanes};
  return binary(scope, "add nsw", base, steps);
}

Operand vector_factor(Scope& scope, const SymExpr& atom, int u) {
  if (!scope.varies(atom)) return scope.broadcast(scalar_index(scope, atom));
  if (!atom.is_symbol()) return vector_index(scope, atom, u);
  if (atom.as_symbol() == scope.vector.variable) return lanes_of_variable(scope, u);
  return scope.broadcast(symbol_value(scope, atom.as_symbol(), u));
}

// buffer + terms up to the deepest level, each level's sum added where its loop begins.
Operand pointer_to(Scope& scope, BufferId buffer, const Sum& sum) {
  const Operand& base = scope.buffers.at(buffer.value);
  std::string type = memory_type(scope.kernel.buffers[buffer].dtype, 1);
  Operand pointer = base;
  for (const auto& [level, terms] : sum.by_level) {
    Operand offset = integer(0);
    for (const SymExpr::Term& term : terms) offset = add(scope, offset, scalar_term(scope, term));
    std::string text = cat("getelementptr ", type, ", ptr ", pointer.text, ", i64 ", offset.text);
    int at = std::max(pointer.level, offset.level);
    std::string key = cat(text, " at ", num(at));
    if (const Operand* known = scope.code.find(key)) {
      pointer = *known;
      continue;
    }
    pointer = Operand{.text = scope.code.define(at, text), .level = at};
    scope.code.remember(key, pointer);
  }
  return pointer;
}

Operand moved(Scope& scope, BufferId buffer, const Operand& pointer, std::int64_t elements) {
  if (elements == 0) return pointer;
  std::string type = memory_type(scope.kernel.buffers[buffer].dtype, 1);
  Operand result = pointer;
  result.text = scope.code.define(
      pointer.level, cat("getelementptr ", type, ", ptr ", pointer.text, ", i64 ", num(elements)));
  return result;
}

// The constant step between lanes when `index` is linear in the vector variable and nothing else
// varies.
std::optional<std::int64_t> lane_stride(const Scope& scope, const SymExpr& index) {
  auto linear = index.linear_in(scope.vector.variable);
  if (!linear || scope.varies(*linear->rest)) return std::nullopt;
  return linear->coefficient->as_constant();
}

}  // namespace

Operand scalar_index(Scope& scope, const SymExpr& index) {
  if (auto value = index.as_constant()) return integer(*value);
  if (index.is_symbol()) return symbol_value(scope, index.as_symbol(), 0);
  std::string key = cat("index ", index.str());
  if (const Operand* known = scope.code.find(key)) return *known;
  Operand total;
  if (auto call = index.as_call()) {
    total = scalar_call(scope, *call);
  } else {
    Sum sum = sort_terms(scope, index);
    total = integer(0);
    for (const auto& [level, terms] : sum.by_level) {
      for (const SymExpr::Term& term : terms) total = add(scope, total, scalar_term(scope, term));
    }
    total = add(scope, total, integer(sum.constant));
  }
  scope.code.remember(key, total);
  return total;
}

Operand vector_index(Scope& scope, const SymExpr& index, int u) {
  if (!scope.varies(index)) return scope.broadcast(scalar_index(scope, index));
  std::string key = cat("lanes ", num(u), " ", index.str());
  if (const Operand* known = scope.code.find(key)) return *known;
  Operand total;
  if (auto call = index.as_call()) {
    total = vector_call(scope, *call, u);
  } else if (index.is_symbol()) {
    total = vector_factor(scope, index, u);
  } else {
    SymExpr uniform;
    std::optional<Operand> varying;
    for (const SymExpr::Term& term : index.terms()) {
      if (!scope.varies(expression_of(term))) {
        uniform += expression_of(term);
        continue;
      }
      std::optional<Operand> product;
      for (const SymExpr& atom : term.atoms) {
        Operand factor = vector_factor(scope, atom, u);
        product = product ? binary(scope, "mul nsw", *product, factor) : factor;
      }
      if (term.coefficient != 1) {
        product = binary(scope, "mul nsw", *product, scope.broadcast(integer(term.coefficient)));
      }
      varying = varying ? binary(scope, "add nsw", *varying, *product) : *product;
    }
    total = *varying;
    if (uniform != SymExpr(0)) {
      total = binary(scope, "add nsw", total, scope.broadcast(scalar_index(scope, uniform)));
    }
  }
  scope.code.remember(key, total);
  return total;
}

Access access(Scope& scope, BufferId buffer, const SymExpr& index, int u) {
  Access result;
  if (!scope.varies(index)) {
    Sum sum = sort_terms(scope, index);
    result.pointer = moved(scope, buffer, pointer_to(scope, buffer, sum), sum.constant);
    // An unrolled group in scalar code cannot be: groups exist only in vector code.
    return result;
  }
  if (auto stride = lane_stride(scope, index)) {
    Sum sum = sort_terms(scope, index);
    std::int64_t step = *stride * scope.vector.lanes * u;
    result.kind = *stride == 1 ? Access::Kind::kContiguous : Access::Kind::kStrided;
    result.stride = *stride;
    result.pointer = moved(scope, buffer, pointer_to(scope, buffer, sum), sum.constant + step);
    return result;
  }
  SymExpr shared, varying;
  for (const SymExpr::Term& term : index.terms()) {
    SymExpr e = expression_of(term);
    (scope.varies(e) ? varying : shared) += e;
  }
  Sum sum = sort_terms(scope, shared);
  result.kind = Access::Kind::kGather;
  result.pointer = moved(scope, buffer, pointer_to(scope, buffer, sum), sum.constant);
  result.offsets = vector_index(scope, varying, u);
  return result;
}

}  // namespace triptych::writers::llvm
