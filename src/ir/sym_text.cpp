// Printing and parsing of symbolic integers: "4*s0 + floordiv(s1, 2) - 1".
#include <array>

#include "ir/sym_expr.h"
#include "ir/sym_node.h"
#include "ir/sym_text.h"

namespace triptych::ir {
namespace {

constexpr int kMaxNesting =
    200;  // of parentheses and calls, so that hostile text cannot exhaust the stack

void print_atom(const SymAtom& atom, std::string& out);

void print_atoms(const Monomial& term, std::string& out) {
  for (std::size_t i = 0; i < term.atoms.size(); ++i) {
    if (i != 0) out += '*';
    print_atom(*term.atoms[i], out);
  }
}

void print_signed(std::int64_t value, bool first, std::string& out) {
  if (!first && value < 0 && value != INT64_MIN) {
    out += " - ";
    out += std::to_string(-value);
  } else {
    if (!first) out += " + ";
    out += std::to_string(value);
  }
}

void print_expr(const SymExpr& e, std::string& out) {
  bool first = true;
  for (const Monomial& term : SymNode::terms_of(e)) {
    if (term.coefficient == 1) {
      if (!first) out += " + ";
    } else if (term.coefficient == -1) {
      out += first ? "-" : " - ";
    } else {
      print_signed(term.coefficient, first, out);
      out += '*';
    }
    print_atoms(term, out);
    first = false;
  }
  if (first || SymNode::constant_of(e) != 0) print_signed(SymNode::constant_of(e), first, out);
}

std::string_view name_of(AtomKind kind) {
  static constexpr std::array<std::string_view, 5> kNames = {"", "floordiv", "mod", "min", "max"};
  return kNames[static_cast<std::size_t>(kind)];
}

void print_atom(const SymAtom& atom, std::string& out) {
  if (atom.kind == AtomKind::kSymbol) {
    out += atom.symbol.str();
    return;
  }
  out += name_of(atom.kind);
  out += '(';
  print_expr(atom.a, out);
  out += ", ";
  print_expr(atom.b, out);
  out += ')';
}

class Parser {
 public:
  explicit Parser(Scanner& scanner) : scanner_(scanner) {}

  Result<SymExpr> sum() {
    if (++depth_ > kMaxNesting) return scanner_.error("an expression that is nested less deeply");
    TRIPTYCH_TRY(SymExpr out, product());
    while (scanner_.peek() == '+' || scanner_.peek() == '-') {
      const bool minus = scanner_.accept("-");
      if (!minus) scanner_.accept("+");
      TRIPTYCH_TRY(const SymExpr next, product());
      out = minus ? out - next : out + next;
    }
    --depth_;
    return out;
  }

 private:
  Result<SymExpr> product() {
    TRIPTYCH_TRY(SymExpr out, factor());
    while (scanner_.accept("*")) {
      TRIPTYCH_TRY(const SymExpr next, factor());
      out *= next;
    }
    return out;
  }

  Result<SymExpr> factor() {
    bool negative = false;
    while (scanner_.peek() == '-') {
      const std::size_t sign_at = scanner_.position();
      scanner_.accept("-");
      if (scanner_.adjacent() && next_is_digit()) {
        scanner_.rewind(sign_at);  // the most negative number needs its sign to be read
        break;
      }
      negative = !negative;
    }
    TRIPTYCH_TRY(SymExpr out, unsigned_factor());
    return negative ? -out : out;
  }

  bool next_is_digit() {
    const char next = scanner_.peek();
    return next >= '0' && next <= '9';
  }

  Result<SymExpr> unsigned_factor() {
    if (next_is_digit() || scanner_.peek() == '-') return number();
    if (scanner_.accept("(")) {
      TRIPTYCH_TRY(SymExpr inner, sum());
      TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
      return inner;
    }
    const std::string_view word = scanner_.word();
    if (word.empty()) return scanner_.error("a symbolic integer");
    for (const auto kind : {AtomKind::kFloorDiv, AtomKind::kMod, AtomKind::kMin, AtomKind::kMax}) {
      if (word == name_of(kind) && scanner_.next_is("(")) return call(kind);
    }
    return SymExpr::symbol(word);
  }

  Result<SymExpr> number() {
    TRIPTYCH_TRY(const std::int64_t value, scanner_.integer());
    return SymExpr(value);
  }

  Result<SymExpr> call(AtomKind kind) {
    TRIPTYCH_TRY([[maybe_unused]] const Unit opened, scanner_.expect("("));
    TRIPTYCH_TRY(const SymExpr a, sum());
    TRIPTYCH_TRY([[maybe_unused]] const Unit comma, scanner_.expect(","));
    const std::size_t divisor_at = scanner_.position();
    TRIPTYCH_TRY(const SymExpr b, sum());
    TRIPTYCH_TRY([[maybe_unused]] const Unit closed, scanner_.expect(")"));
    const bool divides = kind == AtomKind::kFloorDiv || kind == AtomKind::kMod;
    if (divides && b == SymExpr()) return scanner_.error_at(divisor_at, "the divisor is zero");
    return apply_call(kind, a, b);
  }

  Scanner& scanner_;
  int depth_ = 0;
};

}  // namespace

void append_sym_expr(const SymExpr& e, std::string& out) { print_expr(e, out); }

std::string SymExpr::str() const {
  std::string out;
  print_expr(*this, out);
  return out;
}

Result<SymExpr> parse_sym_expr(Scanner& scanner) {
  const std::size_t begin = scanner.position();
  try {
    return Parser(scanner).sum();
  } catch (const InternalError&) {  // text is not ours: its overflow is the writer's mistake
    return scanner.error_at(begin, "this expression overflows 64 bits");
  }
}

Result<SymExpr> parse_sym_expr(std::string_view text) {
  Scanner scanner(text, "sym_expr.parse");
  TRIPTYCH_TRY(SymExpr out, parse_sym_expr(scanner));
  if (!scanner.at_end()) return scanner.error("the end of the expression");
  return out;
}

}  // namespace triptych::ir
