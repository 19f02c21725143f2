// Errors while a program runs. Thrown, since they end at the Python border anyway and the fast path
// must stay free of result types; the binding maps the kind to a Python exception.
#pragma once

#include <stdexcept>

#include "support/result.h"

namespace triptych::runtime {

class ProgramError : public std::runtime_error {
 public:
  explicit ProgramError(Error error)
      : std::runtime_error(error.describe()), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

[[noreturn]] inline void fail(Error error) { throw ProgramError(std::move(error)); }

}  // namespace triptych::runtime
