#include "support/result.h"

namespace triptych {

std::string Error::describe() const {
  std::string text;
  if (!location.empty()) text += location + ": ";
  text += message;
  if (!code.empty()) text += " [" + code + "]";
  if (!hint.empty()) text += "\n  hint: " + hint;
  return text;
}

Error user_error(std::string code, std::string message, std::string location, std::string hint) {
  return {ErrorKind::kUser, std::move(code), std::move(message), std::move(location),
          std::move(hint)};
}

Error unsupported(std::string code, std::string message, std::string location, std::string hint) {
  return {ErrorKind::kUnsupported, std::move(code), std::move(message), std::move(location),
          std::move(hint)};
}

Error internal_error(std::string code, std::string message, std::string location,
                     std::string hint) {
  return {ErrorKind::kInternal, std::move(code), std::move(message), std::move(location),
          std::move(hint)};
}

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  std::string text =
      std::string(file) + ":" + std::to_string(line) + ": check failed: " + condition;
  if (!message.empty()) text += ": " + std::string(message);
  throw InternalError(text);
}

}  // namespace triptych
