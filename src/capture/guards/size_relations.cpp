#include "capture/guards/size_relations.h"

#include <algorithm>

#include "ir/sym_guard.h"
#include "ir/symbol_text.h"

namespace triptych::capture {
namespace {

constexpr std::size_t kShallow = 32;  // stacks that need no memory of their own

}  // namespace

SizeRelations::SizeRelations(const std::vector<ir::SymGuard>& relations,
                             const std::vector<std::string>& names) {
  for (const ir::SymGuard& guard : relations) {
    Relation relation{guard.kind, {}, {}};
    relation.known =
        compile(guard.left, names, relation.left) && compile(guard.right, names, relation.right);
    deepest_ = std::max({deepest_, depth_of(relation.left), depth_of(relation.right)});
    relations_.push_back(std::move(relation));
    texts_.push_back(ir::relation_text(guard));
  }
}

// Postfix; an atom that is no symbol is one operation on two expressions.
bool SizeRelations::compile(const ir::SymExpr& expr, const std::vector<std::string>& names,
                            std::vector<Code>& codes) {
  if (expr.is_constant()) {
    codes.push_back({Op::kConstant, expr.constant()});
    return true;
  }
  if (expr.is_symbol()) {
    const auto found = std::find(names.begin(), names.end(), expr.as_symbol().str());
    codes.push_back({Op::kSymbol, found - names.begin()});
    return found != names.end();
  }
  if (const auto call = expr.as_call()) {
    const Op op = call->op == "floordiv" ? Op::kFloorDiv
                  : call->op == "mod"    ? Op::kMod
                  : call->op == "min"    ? Op::kMin
                                         : Op::kMax;
    if (!compile(*call->a, names, codes) || !compile(*call->b, names, codes)) return false;
    codes.push_back({op, 0});
    return true;
  }
  bool first = true;
  for (const ir::SymExpr::Term& term : expr.terms()) {
    codes.push_back({Op::kConstant, term.coefficient});
    for (const ir::SymExpr& atom : term.atoms) {
      if (!compile(atom, names, codes)) return false;
      codes.push_back({Op::kMultiply, 0});
    }
    if (!first) codes.push_back({Op::kAdd, 0});
    first = false;
  }
  return true;
}

std::size_t SizeRelations::depth_of(const std::vector<Code>& codes) {
  std::size_t depth = 0, deepest = 0;
  for (const Code& code : codes) {
    const bool pushes = code.op == Op::kConstant || code.op == Op::kSymbol;
    depth = pushes ? depth + 1 : depth - 1;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

bool SizeRelations::apply(Op op, std::int64_t a, std::int64_t b, std::int64_t& value) {
  switch (op) {
    case Op::kAdd:
      return !__builtin_add_overflow(a, b, &value);
    case Op::kMultiply:
      return !__builtin_mul_overflow(a, b, &value);
    case Op::kMin:
      value = std::min(a, b);
      return true;
    case Op::kMax:
      value = std::max(a, b);
      return true;
    case Op::kFloorDiv:
    case Op::kMod: {
      if (b == 0 || (a == INT64_MIN && b == -1)) return false;
      std::int64_t rest = a % b;
      if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
      value = op == Op::kMod ? rest : (a - rest) / b;
      return true;
    }
    case Op::kConstant:
    case Op::kSymbol:
      return false;
  }
  return false;
}

bool SizeRelations::evaluate(const std::vector<Code>& codes, const std::int64_t* symbols,
                             std::int64_t* stack, std::int64_t& value) {
  std::size_t depth = 0;
  for (const Code& code : codes) {
    if (code.op == Op::kConstant || code.op == Op::kSymbol) {
      stack[depth++] = code.op == Op::kConstant ? code.value : symbols[code.value];
      continue;
    }
    std::int64_t result = 0;
    if (!apply(code.op, stack[depth - 2], stack[depth - 1], result)) return false;
    stack[--depth - 1] = result;
  }
  value = stack[0];
  return true;
}

int SizeRelations::first_broken(const std::int64_t* symbols) const {
  std::int64_t shallow[kShallow];
  std::vector<std::int64_t> deep(deepest_ > kShallow ? deepest_ : 0);
  std::int64_t* const stack = deep.empty() ? shallow : deep.data();
  for (std::size_t k = 0; k < relations_.size(); ++k) {
    const Relation& relation = relations_[k];
    std::int64_t left = 0, right = 0;
    const bool good = relation.known && evaluate(relation.left, symbols, stack, left) &&
                      evaluate(relation.right, symbols, stack, right) &&
                      ir::holds(relation.kind, left, right);
    if (!good) return static_cast<int>(k);
  }
  return -1;
}

}  // namespace triptych::capture
