// A code object as the interpreter reads it. Decoded once, from CPython's clean copy of the
// bytecode: the live one is specialized and instrumented in place. Kept with the code object and
// freed with it.
#pragma once

#include <Python.h>

#include <span>
#include <vector>

#include "capture/interpreter/exception_table.h"
#include "capture/interpreter/instruction.h"
#include "capture/interpreter/location_table.h"
#include "capture/interpreter/reference.h"

namespace triptych::capture {

class CodeInfo {
 public:
  // Null with an exception set when memory is short. The code object owns the result.
  static const CodeInfo* of(PyCodeObject* code);
  explicit CodeInfo(PyCodeObject* code, Borrowed bytes);

  const Instruction& operator[](std::int32_t index) const { return instructions_[index]; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  // Index of the instruction that starts at this unit; -1 where none does.
  std::int32_t index_at(std::int32_t unit) const;
  const Handler* handler(std::int32_t unit) const { return exceptions_.find(unit); }
  const ExceptionTable& exceptions() const { return exceptions_; }
  Location location(std::int32_t unit) const { return locations_.at(unit); }

 private:
  void decode(std::span<const unsigned char> bytes);
  void resolve_jumps(std::span<const std::int32_t> target_units);

  std::vector<Instruction> instructions_;
  std::vector<std::int32_t> index_of_unit_;
  ExceptionTable exceptions_;
  LocationTable locations_;
};

}  // namespace triptych::capture
