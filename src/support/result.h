// Result<T>: a value or an Error. Inside the compiler nothing is thrown for what a user or an
// unsupported program can cause; exceptions exist at the Python border and for broken invariants.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "support/check.h"

namespace triptych {

enum class ErrorKind : unsigned char {
  kUser,         // the user's mistake: raised in the user's terms
  kUnsupported,  // fall back one level, counted by reason code
  kInternal,     // a bug of ours: warned about (raised under `strict`)
};

// Message style: op or pass name, what was found, what was expected; lower-case start, no final
// period.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string code;  // short stable reason code, e.g. "lower.unknown_op"
  std::string message;
  std::string location;  // the user's "file:line", when known
  std::string hint;

  std::string describe() const;  // one or two lines for people
};

Error user_error(std::string code, std::string message, std::string location = {},
                 std::string hint = {});
Error unsupported(std::string code, std::string message, std::string location = {},
                  std::string hint = {});
Error internal_error(std::string code, std::string message, std::string location = {},
                     std::string hint = {});

// What TRIPTYCH_CHECK throws.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T value() && { return std::move(checked()); }
  const Error& error() const& { return std::get<1>(state_); }
  Error error() && { return std::get<1>(std::move(state_)); }

 private:
  T& checked() {
    if (!ok()) check_failed(__FILE__, __LINE__, "ok()", error().describe());
    return std::get<0>(state_);
  }
  std::variant<T, Error> state_;
};

struct Unit {};
using Status = Result<Unit>;

}  // namespace triptych
