// IR arguments as the boxed arguments of a dispatcher op.
#pragma once

#include <functional>

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "ir/argument.h"

namespace triptych::runtime {

struct ArgumentSource {
  std::function<c10::IValue(ir::ValueId)> value;            // a tensor, or an integer
  std::function<std::int64_t(const ir::SymExpr&)> integer;  // of a symbolic expression
};

// `type` is the schema's (real) type. Throws ProgramError for arguments that the type cannot take.
c10::IValue to_ivalue(const ir::Argument& argument, const c10::Type& type,
                      const ArgumentSource& source);

}  // namespace triptych::runtime
