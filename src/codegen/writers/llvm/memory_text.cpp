#include "codegen/writers/llvm/memory_text.h"

#include <algorithm>

#include "codegen/loops/scalar_types.h"
#include "support/check.h"

namespace triptych::writers::llvm {

namespace {

// Register form of what lies in memory.
std::string from_memory(Scope& scope, DType dtype, int lanes, int level, const std::string& raw) {
  std::string memory = memory_type(dtype, lanes);
  if (dtype == DType::kBool) {
    return scope.code.define(
        level, cat("icmp ne ", memory, " ", raw, ", ", lanes == 1 ? "0" : "zeroinitializer"));
  }
  if (loops::is_half(dtype)) {
    return scope.code.define(
        level, cat("bitcast ", memory, " ", raw, " to ", register_type(dtype, lanes)));
  }
  return raw;
}

std::string to_memory(Scope& scope, const Operand& value) {
  std::string memory = memory_type(value.dtype, value.lanes);
  int level = scope.code.level();
  if (value.dtype == DType::kBool)
    return scope.code.define(level, cat("zext ", value.typed(), " to ", memory));
  if (loops::is_half(value.dtype)) {
    return scope.code.define(level, cat("bitcast ", value.typed(), " to ", memory));
  }
  return value.text;
}

std::string pointers(Scope& scope, const Access& access, const std::string& element, int lanes) {
  std::string offsets = access.kind == Access::Kind::kStrided
                            ? iota_literal("i64", lanes, 0, access.stride)
                            : access.offsets.text;
  return scope.code.define(scope.code.level(),
                           cat("getelementptr ", element, ", ptr ", access.pointer.text, ", ",
                               vector_type("i64", lanes), " ", offsets));
}

std::string all_lanes(int lanes) { return lanes == 1 ? "true" : "splat (i1 true)"; }

// The hardware gathers 4 and 8 byte elements; others are loaded one by one. Lanes that do not run
// read what the first lane reads: it always runs.
std::string gather_singly(Scope& scope, const Access& access, const std::string& element,
                          int lanes) {
  int level = scope.code.level();
  const std::string& mask = scope.vector.mask;
  std::string vector = vector_type(element, lanes);
  bool constant_steps = access.kind == Access::Kind::kStrided && mask.empty();
  std::string offsets = access.offsets.text;
  if (!constant_steps) {
    std::string type = vector_type("i64", lanes);
    if (access.kind == Access::Kind::kStrided)
      offsets = iota_literal("i64", lanes, 0, access.stride);
    if (!mask.empty()) {
      std::string first =
          scope.code.define(level, cat("shufflevector ", type, " ", offsets, ", ", type,
                                       " poison, ", vector_type("i32", lanes), " zeroinitializer"));
      offsets = scope.code.define(level, cat("select ", vector_type("i1", lanes), " ", mask, ", ",
                                             type, " ", offsets, ", ", type, " ", first));
    }
  }
  std::string result = "poison";
  for (int lane = 0; lane < lanes; ++lane) {
    std::string offset = num(lane * access.stride);
    if (!constant_steps) {
      offset = scope.code.define(level, cat("extractelement ", vector_type("i64", lanes), " ",
                                            offsets, ", i64 ", num(lane)));
    }
    std::string pointer = scope.code.define(
        level, cat("getelementptr ", element, ", ptr ", access.pointer.text, ", i64 ", offset));
    std::string value = scope.code.define(level, cat("load ", element, ", ptr ", pointer));
    result = scope.code.define(level, cat("insertelement ", vector, " ", result, ", ", element, " ",
                                          value, ", i64 ", num(lane)));
  }
  return result;
}

std::string load_raw(Scope& scope, DType dtype, const Access& access, int level) {
  int lanes = access.kind == Access::Kind::kUniform ? 1 : scope.vector.lanes;
  std::string type = memory_type(dtype, lanes);
  std::string element = memory_type(dtype, 1);
  std::string align = num(ir::dtype_bytes(dtype));
  const std::string& mask = scope.vector.mask;
  std::string mask_type = vector_type("i1", lanes);
  switch (access.kind) {
    case Access::Kind::kUniform:
      return scope.code.define(
          level, cat("load ", type, ", ptr ", access.pointer.text, ", align ", align));
    case Access::Kind::kContiguous: {
      if (mask.empty()) {
        return scope.code.define(
            level, cat("load ", type, ", ptr ", access.pointer.text, ", align ", align));
      }
      std::string name = cat("llvm.masked.load.", mangled_memory(dtype, lanes), ".p0");
      scope.code.declare(name, cat(type, " @", name, "(ptr, ", mask_type, ", ", type, ")"));
      return scope.code.define(
          level, cat("call ", type, " @", name, "(ptr align ", align, " ", access.pointer.text,
                     ", ", mask_type, " ", mask, ", ", type, " zeroinitializer)"));
    }
    case Access::Kind::kStrided:
    case Access::Kind::kGather:
      break;
  }
  if (ir::dtype_bytes(dtype) < 4) return gather_singly(scope, access, element, lanes);
  std::string where = pointers(scope, access, element, lanes);
  std::string pointer_type = vector_type("ptr", lanes);
  std::string name =
      cat("llvm.masked.gather.", mangled_memory(dtype, lanes), ".v", num(lanes), "p0");
  scope.code.declare(name,
                     cat(type, " @", name, "(", pointer_type, ", ", mask_type, ", ", type, ")"));
  return scope.code.define(
      level,
      cat("call ", type, " @", name, "(", pointer_type, " align ", align, " ", where, ", ",
          mask_type, " ", mask.empty() ? all_lanes(lanes) : mask, ", ", type, " zeroinitializer)"));
}

void scatter(Scope& scope, DType dtype, const Access& access, const std::string& value) {
  int lanes = scope.vector.lanes;
  std::string type = memory_type(dtype, lanes);
  std::string mask_type = vector_type("i1", lanes);
  std::string pointer_type = vector_type("ptr", lanes);
  std::string where = pointers(scope, access, memory_type(dtype, 1), lanes);
  std::string name =
      cat("llvm.masked.scatter.", mangled_memory(dtype, lanes), ".v", num(lanes), "p0");
  scope.code.declare(name,
                     cat("void @", name, "(", type, ", ", pointer_type, ", ", mask_type, ")"));
  const std::string& mask = scope.vector.mask;
  scope.code.here() += cat("  call void @", name, "(", type, " ", value, ", ", pointer_type,
                           " align ", num(ir::dtype_bytes(dtype)), " ", where, ", ", mask_type, " ",
                           mask.empty() ? all_lanes(lanes) : mask, ")\n");
}

}  // namespace

Operand load(Scope& scope, BufferId buffer, const SymExpr& index, int u) {
  const loops::Buffer& from = scope.kernel.buffers[buffer];
  Access where = access(scope, buffer, index, u);
  bool uniform = where.kind == Access::Kind::kUniform;
  // Inputs hold the same all the time, so their loads may move out of loops; what a check guards
  // stays. (An output may share an input's memory, but is written after all loads of the element.)
  bool movable = from.kind == loops::Buffer::Kind::kInput && !scope.indirect(index) &&
                 (uniform || where.kind == Access::Kind::kContiguous);
  int level = movable ? where.pointer.level : scope.code.level();
  if (!uniform && !scope.vector.mask.empty()) level = std::max(level, scope.vector.level);
  Operand value{.dtype = from.dtype, .lanes = uniform ? 1 : scope.vector.lanes, .level = level};
  value.text =
      from_memory(scope, from.dtype, value.lanes, level, load_raw(scope, from.dtype, where, level));
  return value;
}

void store(Scope& scope, BufferId buffer, const SymExpr& index, const Operand& value, int u) {
  DType dtype = scope.kernel.buffers[buffer].dtype;
  TRIPTYCH_CHECK(dtype == value.dtype, "a store's value has another dtype than its buffer");
  Access where = access(scope, buffer, index, u);
  std::string align = num(ir::dtype_bytes(dtype));
  if (where.kind == Access::Kind::kUniform) {
    TRIPTYCH_CHECK(value.lanes == 1, "all lanes of a vector are stored to one element");
    std::string raw = to_memory(scope, value);
    scope.code.here() += cat("  store ", memory_type(dtype, 1), " ", raw, ", ptr ",
                             where.pointer.text, ", align ", align, "\n");
    return;
  }
  Operand wide = scope.broadcast(value);
  std::string raw = to_memory(scope, wide);
  if (where.kind != Access::Kind::kContiguous) {
    scatter(scope, dtype, where, raw);
    return;
  }
  std::string type = memory_type(dtype, wide.lanes);
  const std::string& mask = scope.vector.mask;
  if (mask.empty()) {
    bool streamed = scope.streaming && scope.streamed.contains(buffer);
    if (streamed) align = num(scope.traits.vector_bytes);
    scope.code.here() += cat("  store ", type, " ", raw, ", ptr ", where.pointer.text, ", align ",
                             align, streamed ? ", !nontemporal !0" : "", "\n");
    return;
  }
  std::string name = cat("llvm.masked.store.", mangled_memory(dtype, wide.lanes), ".p0");
  std::string mask_type = vector_type("i1", wide.lanes);
  scope.code.declare(name, cat("void @", name, "(", type, ", ptr, ", mask_type, ")"));
  scope.code.here() += cat("  call void @", name, "(", type, " ", raw, ", ptr align ", align, " ",
                           where.pointer.text, ", ", mask_type, " ", mask, ")\n");
}

}  // namespace triptych::writers::llvm
