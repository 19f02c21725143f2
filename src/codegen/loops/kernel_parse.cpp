// Reads the text form of kernels (kernel_print.cpp).
#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>

#include "codegen/loops/kernel.h"
#include "codegen/loops/scalar_types.h"

namespace triptych::loops {
namespace {

constexpr std::uint32_t kMaxScalars = 1U << 20;  // a typo must not cost gigabytes

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Kernel> run() {
    TRIPTYCH_TRY(Unit done, header());
    static_cast<void>(done);
    TRIPTYCH_TRY(kernel_.body, body());
    kernel_.num_scalars = static_cast<std::uint32_t>(types_.size());
    space();
    if (position_ != text_.size()) return fail("end of text");
    return std::move(kernel_);
  }

 private:
  Error fail(std::string_view expected) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<long>(position_), '\n');
    std::string found(text_.substr(position_, 24));
    found = found.substr(0, found.find('\n'));
    return user_error("kernel.parse", "kernel text, line " + std::to_string(line) + ": found '" +
                                          found + "', expected " + std::string(expected));
  }

  // Tokens. Whitespace, ';' between statements and '#' comments are skipped.
  void space() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '#') {
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++position_;
      } else {
        return;
      }
    }
  }
  bool accept(std::string_view token) {
    space();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  Status expect(std::string_view token) {
    if (!accept(token)) return fail("'" + std::string(token) + "'");
    return Unit{};
  }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }
  std::string_view word() {
    space();
    const std::size_t start = position_;
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    return text_.substr(start, position_ - start);
  }
  std::string_view peek_word() {
    const std::size_t start = position_;
    const std::string_view found = word();
    position_ = start;
    return found;
  }
  bool accept_word(std::string_view expected) {
    if (peek_word() != expected) return false;
    word();
    return true;
  }
  // Text up to the bracket that closes an already opened one; the bracket is consumed.
  Result<std::string_view> until_closed() {
    const std::size_t start = position_;
    int depth = 1;
    for (; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      if (c == '[' || c == '(') ++depth;
      if ((c == ']' || c == ')') && --depth == 0) {
        return text_.substr(start, position_++ - start);
      }
    }
    return fail("a closing bracket");
  }
  Result<SymExpr> bracketed_expr() {
    TRIPTYCH_TRY(Unit open, expect("["));
    static_cast<void>(open);
    TRIPTYCH_TRY(std::string_view inside, until_closed());
    return ir::parse_sym_expr(inside);
  }

  Status header() {
    if (!accept_word("kernel")) return fail("'kernel'");
    kernel_.name = word();
    if (kernel_.name.empty()) return fail("a kernel name");
    if (accept("[")) {
      do {
        kernel_.symbols.emplace_back(word());
      } while (accept(","));
      TRIPTYCH_TRY(Unit close, expect("]"));
      static_cast<void>(close);
    }
    TRIPTYCH_TRY(Unit open, expect("("));
    static_cast<void>(open);
    while (!accept(")")) {
      TRIPTYCH_TRY(Unit declared, declaration());
      static_cast<void>(declared);
      accept(",");
    }
    if (accept_word("from")) {
      TRIPTYCH_TRY(Unit from, expect("("));
      static_cast<void>(from);
      while (!accept(")")) {
        kernel_.origins.emplace_back(word());
        if (kernel_.origins.back().empty()) return fail("a node name");
        accept(",");
      }
    }
    TRIPTYCH_TRY(Unit brace, expect("{"));
    static_cast<void>(brace);
    while (peek_word() == "local") {
      TRIPTYCH_TRY(Unit declared, declaration());
      static_cast<void>(declared);
    }
    return Unit{};
  }

  Status declaration() {
    static const std::map<std::string_view, Buffer::Kind> kinds = {
        {"in", Buffer::Kind::kInput},
        {"out", Buffer::Kind::kOutput},
        {"inout", Buffer::Kind::kInOut},
        {"local", Buffer::Kind::kLocal},
        {"workspace", Buffer::Kind::kWorkspace}};
    const auto kind = kinds.find(word());
    if (kind == kinds.end()) return fail("a buffer kind");
    Buffer buffer;
    buffer.kind = kind->second;
    TRIPTYCH_TRY(Unit percent, expect("%"));
    static_cast<void>(percent);
    buffer.name = word();
    TRIPTYCH_TRY(Unit colon, expect(":"));
    static_cast<void>(colon);
    TRIPTYCH_TRY(buffer.dtype, dtype());
    TRIPTYCH_TRY(buffer.extent, bracketed_expr());
    std::string key = buffer.name;
    const BufferId id = kernel_.buffers.push_back(std::move(buffer));
    if (!buffers_.emplace(std::move(key), id).second) return fail("a buffer name not yet used");
    return Unit{};
  }

  Result<DType> dtype() {
    const auto found = ir::parse_dtype(word());
    if (!found) return fail("a dtype");
    return *found;
  }

  Result<std::vector<Statement>> body() {  // up to and with the closing brace
    std::vector<Statement> statements;
    while (true) {
      while (accept(";")) {
      }
      if (accept("}")) return statements;
      TRIPTYCH_TRY(Statement next, statement());
      statements.push_back(std::move(next));
    }
  }

  Result<Statement> statement() {
    if (accept_word("for")) return loop();
    if (accept_word("store")) {
      Store store;
      TRIPTYCH_TRY(Unit placed, place(store.buffer, store.index));
      static_cast<void>(placed);
      TRIPTYCH_TRY(Unit comma, expect(","));
      static_cast<void>(comma);
      TRIPTYCH_TRY(store.value, scalar());
      return Statement{store};
    }
    if (accept_word("check")) {
      Check check;
      TRIPTYCH_TRY(check.condition, scalar());
      TRIPTYCH_TRY(Unit comma, expect(","));
      static_cast<void>(comma);
      const std::string_view code = word();
      if (code == "index_out_of_range") {
        check.code = Check::Code::kIndexOutOfRange;
      } else if (code == "division_by_zero") {
        check.code = Check::Code::kDivisionByZero;
      } else {
        return fail("a check code");
      }
      return Statement{check};
    }
    return instruction();
  }

  Result<Statement> instruction() {
    Instruction out;
    TRIPTYCH_TRY(out.result, scalar());
    TRIPTYCH_TRY(Unit equals, expect("="));
    static_cast<void>(equals);
    const auto op = parse_scalar_op(word());
    if (!op) return fail("a scalar operation");
    out.op = *op;
    std::vector<DType> args;
    std::optional<DType> buffer;
    if (out.op == ScalarOp::kConstant) {
      TRIPTYCH_TRY(Unit read, constant(out));
      static_cast<void>(read);
    } else if (out.op == ScalarOp::kIndex) {
      TRIPTYCH_TRY(out.index, bracketed_expr());
    } else if (out.op == ScalarOp::kLoad) {
      TRIPTYCH_TRY(Unit placed, place(out.buffer, out.index));
      static_cast<void>(placed);
      buffer = kernel_.buffers[out.buffer].dtype;
    } else {
      do {
        TRIPTYCH_TRY(ScalarId arg, scalar());
        out.args.push_back(arg);
        args.push_back(type(arg));
      } while (accept(","));
    }
    if (accept(":")) {
      TRIPTYCH_TRY(out.dtype, dtype());
    } else {
      const auto implied = implied_dtype(out.op, args, buffer);
      if (!implied) return fail("': dtype'");
      out.dtype = *implied;
    }
    set_type(out.result, out.dtype);
    return Statement{std::move(out)};
  }

  Status constant(Instruction& out) {
    space();
    const std::size_t start = position_;
    if (position_ < text_.size() && text_[position_] == '-') ++position_;
    while (position_ < text_.size() &&
           (is_word(text_[position_]) || ((text_[position_] == '-' || text_[position_] == '+') &&
                                          text_[position_ - 1] == 'e'))) {
      ++position_;
    }
    const std::string_view literal = text_.substr(start, position_ - start);
    if (literal == "none") return Unit{};
    if (literal == "true" || literal == "false") {
      out.constant = literal == "true";
      return Unit{};
    }
    const char* end = literal.data() + literal.size();
    if (literal.find_first_of(".en") == std::string_view::npos) {
      std::int64_t value = 0;
      const auto read = std::from_chars(literal.data(), end, value);
      if (read.ec != std::errc() || read.ptr != end) return fail("a constant");
      out.constant = value;
      return Unit{};
    }
    double value = 0;
    const auto read = std::from_chars(literal.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) return fail("a constant");
    out.constant = literal == "nan" ? std::numeric_limits<double>::quiet_NaN() : value;
    return Unit{};
  }

  Result<Statement> loop() {
    Loop out;
    out.variable = Symbol(word());
    if (!accept_word("in")) return fail("'in'");
    const std::size_t start = position_;
    while (position_ < text_.size() && text_[position_] != '{' && !at_loop_clause()) ++position_;
    TRIPTYCH_TRY(out.extent, ir::parse_sym_expr(text_.substr(start, position_ - start)));
    std::vector<bool> stated;
    while (!accept("{")) {
      TRIPTYCH_TRY(Unit read, loop_clause(out, stated));
      static_cast<void>(read);
    }
    TRIPTYCH_TRY(out.body, body());
    for (std::size_t i = 0; i < out.reductions.size(); ++i) {
      Reduction& reduction = out.reductions[i];
      if (!stated[i]) reduction.dtype = type(reduction.input);
      for (std::size_t j = 0; j < reduction.results.size(); ++j) {
        set_type(reduction.results[j], reduction_result_dtype(reduction.op, reduction.dtype, j));
      }
    }
    return Statement{std::move(out)};
  }

  bool at_loop_clause() const {
    if (position_ == 0 || is_word(text_[position_ - 1])) return false;
    for (const std::string_view clause : {"parallel", "vector", "unroll", "reduce"}) {
      const std::string_view rest = text_.substr(position_);
      if (rest.starts_with(clause) &&
          (rest.size() == clause.size() || !is_word(rest[clause.size()]))) {
        return true;
      }
    }
    return false;
  }

  Status loop_clause(Loop& out, std::vector<bool>& stated) {
    const std::string_view clause = word();
    if (clause == "parallel") {
      out.schedule = Schedule::kParallel;
    } else if (clause == "vector" || clause == "unroll") {
      TRIPTYCH_TRY(Unit open, expect("("));
      static_cast<void>(open);
      const std::string_view digits = word();
      int& field = clause == "vector" ? out.width : out.unroll;
      if (std::from_chars(digits.data(), digits.data() + digits.size(), field).ec != std::errc()) {
        return fail("a number");
      }
      if (clause == "vector" && out.schedule == Schedule::kSerial) out.schedule = Schedule::kVector;
      return expect(")");
    } else if (clause == "reduce") {
      return reductions(out, stated);
    } else {
      return fail("a loop clause or '{'");
    }
    return Unit{};
  }

  Status reductions(Loop& out, std::vector<bool>& stated) {
    TRIPTYCH_TRY(Unit open, expect("("));
    static_cast<void>(open);
    do {
      Reduction reduction;
      do {
        TRIPTYCH_TRY(ScalarId result, scalar());
        reduction.results.push_back(result);
      } while (accept(","));
      TRIPTYCH_TRY(Unit equals, expect("="));
      static_cast<void>(equals);
      const auto op = parse_reduce_op(word());
      if (!op) return fail("a reduction");
      reduction.op = *op;
      TRIPTYCH_TRY(reduction.input, scalar());
      stated.push_back(accept(":"));
      if (stated.back()) {
        TRIPTYCH_TRY(reduction.dtype, dtype());
      }
      out.reductions.push_back(std::move(reduction));
    } while (accept(";"));
    return expect(")");
  }

  Status place(BufferId& buffer, SymExpr& index) {
    TRIPTYCH_TRY(Unit percent, expect("%"));
    static_cast<void>(percent);
    const auto found = buffers_.find(word());
    if (found == buffers_.end()) return fail("a declared buffer");
    buffer = found->second;
    TRIPTYCH_TRY(index, bracketed_expr());
    return Unit{};
  }

  Result<ScalarId> scalar() {
    const std::size_t start = position_;
    const std::string_view name = word();
    const auto id = scalar_of_symbol(Symbol(name));
    if (!id || id->value > kMaxScalars) {
      position_ = start;
      return fail("a scalar 'v<N>'");
    }
    if (id->value >= types_.size()) types_.resize(id->value + 1, DType::kF32);
    return *id;
  }
  DType type(ScalarId id) const { return types_[id.value]; }
  void set_type(ScalarId id, DType dtype) { types_[id.value] = dtype; }

  std::string_view text_;
  std::size_t position_ = 0;
  Kernel kernel_;
  std::map<std::string, BufferId, std::less<>> buffers_;
  std::vector<DType> types_;
};

}  // namespace

Result<Kernel> parse_kernel(std::string_view text) { return Parser(text).run(); }

}  // namespace triptych::loops
