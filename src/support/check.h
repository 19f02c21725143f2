// The project's four macros. Checks guard invariants of our own code; user errors travel in Result.
#pragma once

#include <string_view>

namespace triptych {

// Throws InternalError (see result.h) with file, line and message.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view message);

}  // namespace triptych

#define TRIPTYCH_CHECK(condition, message)                                 \
  do {                                                                     \
    if (!(condition)) [[unlikely]]                                         \
      ::triptych::check_failed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)

#ifdef NDEBUG
#define TRIPTYCH_DCHECK(condition, message) static_cast<void>(0)
#else
#define TRIPTYCH_DCHECK(condition, message) TRIPTYCH_CHECK(condition, message)
#endif

#define TRIPTYCH_UNREACHABLE(message) \
  ::triptych::check_failed(__FILE__, __LINE__, "reached", (message))

// Evaluates a Result; returns its error from the enclosing function, else binds the value.
#define TRIPTYCH_TRY_CAT2(a, b) a##b
#define TRIPTYCH_TRY_CAT(a, b) TRIPTYCH_TRY_CAT2(a, b)
#define TRIPTYCH_TRY(declaration, expression) \
  TRIPTYCH_TRY_IMPL(TRIPTYCH_TRY_CAT(result_, __LINE__), declaration, expression)
#define TRIPTYCH_TRY_IMPL(temporary, declaration, expression) \
  auto temporary = (expression);                              \
  if (!temporary.ok()) [[unlikely]]                           \
    return std::move(temporary).error();                      \
  declaration = std::move(temporary).value()
