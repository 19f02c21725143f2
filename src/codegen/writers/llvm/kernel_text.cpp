#include "codegen/writers/llvm/kernel_text.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "codegen/mapping/launch_info.h"
#include "codegen/writers/llvm/index_text.h"
#include "codegen/writers/llvm/kernel_writer.h"
#include "codegen/writers/llvm/memory_text.h"
#include "codegen/writers/llvm/scalar_text.h"

namespace triptych::writers::llvm {

namespace {

bool is_bf16_constant(const Instruction& constant) {
  const auto* value = std::get_if<double>(&constant.constant);
  if (constant.dtype != DType::kF32 || value == nullptr) return false;
  return (std::bit_cast<std::uint32_t>(static_cast<float>(*value)) & 0xffff) == 0;
}

// Whether the result is one of the operands, up to its sign, and those have a bf16's value.
bool stays_bf16(ScalarOp op, DType dtype, const std::vector<Operand>& args) {
  if (dtype != DType::kF32) return false;
  const auto all_from = [&](std::size_t first) {
    return std::all_of(args.begin() + static_cast<long>(first), args.end(),
                       [](const Operand& arg) { return arg.is_bf16; });
  };
  switch (op) {
    case ScalarOp::kCast:
      return args[0].dtype == DType::kBF16;
    case ScalarOp::kSelect:
      return all_from(1);
    case ScalarOp::kAbs:
    case ScalarOp::kNeg:
    case ScalarOp::kMin:
    case ScalarOp::kMax:
    case ScalarOp::kFmin:
    case ScalarOp::kFmax:
      return all_from(0);
    default:
      return false;
  }
}

}  // namespace

FunctionText KernelWriter::run() {
  enter();
  body(scope_.kernel.body);
  // Stores past the caches are ordered by a fence only.
  if (!scope_.streamed.empty()) code_.here() += "  fence seq_cst\n";
  code_.here() += "  ret void\n";
  for (int failure : failures_) {
    code_.here() += cat("fail", num(failure), ":\n  store i32 ", num(failure),
                        ", ptr %error, align 4\n  ret void\n");
  }
  std::string text = cat(
      "define void @", scope_.kernel.name, "(ptr %buffers, ptr %symbols, i64 %begin, i64 %end, ",
      "ptr %error, ptr %scratch) #0 {\nentry:\n", code_.close_region().body, "}\n");
  return FunctionText{std::move(text), code_.needs()};
}

void KernelWriter::enter() {
  const Kernel& kernel = scope_.kernel;
  for (std::size_t k = 0; k < kernel.symbols.size(); ++k) {
    std::string at = code_.define(
        0, cat("getelementptr i64, ptr %symbols, i64 ", num(static_cast<std::int64_t>(k))));
    Operand value{.text = code_.define(0, cat("load i64, ptr ", at, ", align 8"))};
    scope_.symbols[kernel.symbols[k]] = value;
    scope_.ranges.set(kernel.symbols[k], {0, ir::SymRange::kPositiveInfinity});
  }
  std::vector<SymExpr> offsets = mapping::local_offsets(kernel);
  std::size_t local = 0;
  std::int64_t parameter = 0;
  for (const loops::Buffer& buffer : kernel.buffers) {
    if (buffer.kind == loops::Buffer::Kind::kLocal) {
      Operand offset = scalar_index(scope_, offsets.at(local++));
      scope_.buffers.push_back(
          {.text = code_.define(0, cat("getelementptr i8, ptr %scratch, i64 ", offset.text))});
      continue;
    }
    std::string at =
        code_.define(0, cat("getelementptr ptr, ptr %buffers, i64 ", num(parameter++)));
    scope_.buffers.push_back({.text = code_.define(0, cat("load ptr, ptr ", at, ", align 8"))});
  }
}

void KernelWriter::body(const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    if (const auto* instruction_ = std::get_if<Instruction>(&statement.data)) {
      instruction(*instruction_);
    } else if (const auto* store_ = std::get_if<Store>(&statement.data)) {
      write(*store_);
    } else if (const auto* check_ = std::get_if<Check>(&statement.data)) {
      check(*check_);
    } else {
      loop(std::get<Loop>(statement.data));
    }
  }
}

void KernelWriter::write(const Store& store_) {
  bool varies = scope_.varies(store_.index);
  for (int u = 0; u < (varies ? groups() : 1); ++u) {
    store(scope_, store_.buffer, store_.index, scope_.get(store_.value, u), u);
  }
}

void KernelWriter::instruction(const Instruction& instruction) {
  std::vector<Operand>& result = scope_.scalars[instruction.result];
  std::vector<Operand> values;
  switch (instruction.op) {
    case ScalarOp::kConstant:
      values.push_back({.text = literal(instruction.dtype, instruction.constant),
                        .dtype = instruction.dtype,
                        .is_bf16 = is_bf16_constant(instruction)});
      break;
    case ScalarOp::kIndex:
      if (!scope_.varies(instruction.index)) {
        values.push_back(scalar_index(scope_, instruction.index));
      } else {
        for (int u = 0; u < groups(); ++u)
          values.push_back(vector_index(scope_, instruction.index, u));
      }
      break;
    case ScalarOp::kLoad:
      for (int u = 0; u < (scope_.varies(instruction.index) ? groups() : 1); ++u) {
        values.push_back(load(scope_, instruction.buffer, instruction.index, u));
      }
      break;
    default:
      values = computed(instruction);
  }
  result = std::move(values);
}

std::vector<Operand> KernelWriter::computed(const Instruction& instruction) {
  bool varies = false;
  for (loops::ScalarId arg : instruction.args) varies |= scope_.get(arg, 0).lanes > 1;
  int lanes = varies ? scope_.vector.lanes : 1;
  std::vector<Operand> values;
  for (int u = 0; u < (varies ? groups() : 1); ++u) {
    std::vector<Operand> args;
    int level = 0;
    for (loops::ScalarId arg : instruction.args) {
      args.push_back(varies ? scope_.lanes_of(arg, u) : scope_.get(arg, u));
      level = std::max(level, args.back().level);
    }
    Operand value{.dtype = instruction.dtype,
                  .lanes = lanes,
                  .level = level,
                  .is_bf16 = stays_bf16(instruction.op, instruction.dtype, args)};
    value.text =
        scalar_op(code_, scope_.traits, instruction.op, instruction.dtype, args, lanes, level);
    values.push_back(value);
  }
  return values;
}

void KernelWriter::check(const Check& check) {
  int failure = static_cast<int>(check.code);
  failures_.insert(failure);
  const std::vector<Operand>& conditions = scope_.scalars.at(check.condition);
  std::string holds;
  for (const Operand& condition : conditions) {
    Ops bools(code_, DType::kBool, condition.lanes, code_.level());
    std::string value = condition.text;
    if (condition.lanes > 1) {
      if (!scope_.vector.mask.empty()) {
        std::string off = bools.binary("xor", scope_.vector.mask,
                                       splat_literal(DType::kBool, "true", condition.lanes));
        value = bools.binary("or", value, off);
      }
      std::string bits = cat("i", num(condition.lanes));
      std::string packed =
          code_.define(code_.level(), cat("bitcast ", bools.type(), " ", value, " to ", bits));
      value = code_.define(code_.level(), cat("icmp eq ", bits, " ", packed, ", -1"));
    }
    holds = holds.empty() ? value : code_.define(code_.level(), cat("and i1 ", holds, ", ", value));
  }
  std::string go_on = label("checked");
  code_.here() += cat("  br i1 ", holds, ", label %", go_on, ", label %fail", num(failure), "\n");
  code_.start_block(go_on);
}

namespace {

bool has_form(DType dtype) {
  switch (dtype) {
    case DType::kC32:
    case DType::kC64:
    case DType::kC128:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0FNU:
      return false;
    default:
      return true;
  }
}

}  // namespace

Result<FunctionText> write_function(const Kernel& kernel, const mapping::Traits& traits) {
  for (const loops::Buffer& buffer : kernel.buffers) {
    if (has_form(buffer.dtype)) continue;
    return unsupported("writers.dtype",
                       cat("kernel ", kernel.name, ": buffer %", buffer.name, " has dtype ",
                           ir::dtype_name(buffer.dtype), ", which LLVM code has no form for"));
  }
  return KernelWriter(kernel, traits).run();
}

}  // namespace triptych::writers::llvm
