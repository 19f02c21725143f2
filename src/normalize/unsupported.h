// Thrown through torch's frames when a program cannot be normalized; becomes a Result at the border
// of the stage. Torch's Python bindings turn it into a RuntimeError on the way, so the reason is
// also kept aside.
#pragma once

#include <optional>
#include <stdexcept>

#include "support/result.h"

namespace triptych::normalize {

class Unsupported : public std::runtime_error {
 public:
  explicit Unsupported(Error error)
      : std::runtime_error(error.describe()), error_(std::move(error)) {
    pending() = error_;
  }
  const Error& error() const { return error_; }

  // The last reason given on this thread since it was reset.
  static std::optional<Error>& pending() {
    thread_local std::optional<Error> reason;
    return reason;
  }

 private:
  Error error_;
};

}  // namespace triptych::normalize
