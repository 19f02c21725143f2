#include "support/scanner.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace triptych {
namespace {

bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_part(char c) { return is_word_start(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr auto kDefaultNan = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());

}  // namespace

void Scanner::skip_blanks() {
  while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
}

bool Scanner::at_end() {
  skip_blanks();
  return position_ == text_.size();
}

char Scanner::peek() { return at_end() ? '\0' : text_[position_]; }

bool Scanner::next_is(std::string_view token) {
  skip_blanks();
  if (!text_.substr(position_).starts_with(token)) return false;
  const std::size_t end = position_ + token.size();
  const bool is_word = !token.empty() && is_word_part(token.back());
  return !(is_word && end < text_.size() && is_word_part(text_[end]));
}

bool Scanner::accept(std::string_view token) {
  if (!next_is(token)) return false;
  position_ += token.size();
  return true;
}

Status Scanner::expect(std::string_view token) {
  if (accept(token)) return Unit{};
  return error("'" + std::string(token) + "'");
}

std::string_view Scanner::word() {
  skip_blanks();
  const std::size_t begin = position_;
  if (begin == text_.size() || !is_word_start(text_[begin])) return {};
  while (position_ < text_.size() && is_word_part(text_[position_])) ++position_;
  return text_.substr(begin, position_ - begin);
}

std::string_view Scanner::dotted_word() {
  skip_blanks();
  const std::size_t begin = position_;
  if (word().empty()) return {};
  while (position_ + 1 < text_.size()) {
    const std::size_t before = position_;
    if (text_[position_] == '.') {
      ++position_;
    } else if (text_.substr(position_).starts_with("::")) {
      position_ += 2;
    } else {
      break;
    }
    if (position_ == text_.size() || !is_word_start(text_[position_]) || word().empty()) {
      position_ = before;
      break;
    }
  }
  return text_.substr(begin, position_ - begin);
}

Result<std::int64_t> Scanner::integer() {
  skip_blanks();
  std::int64_t value = 0;
  const char* begin = text_.data() + position_;
  const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (failure == std::errc::result_out_of_range) return error("an integer of 64 bits");
  if (failure != std::errc()) return error("an integer");
  position_ += static_cast<std::size_t>(end - begin);
  return value;
}

Result<double> Scanner::number() {
  if (accept("nan")) {
    if (!text_.substr(position_).starts_with(":0x"))
      return std::numeric_limits<double>::quiet_NaN();
    position_ += 3;
    std::uint64_t bits = 0;
    const char* begin = text_.data() + position_;
    const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), bits, 16);
    if (failure != std::errc()) return error("the bits of a NaN");
    position_ += static_cast<std::size_t>(end - begin);
    return std::bit_cast<double>(bits);
  }
  if (accept("inf")) return std::numeric_limits<double>::infinity();
  if (accept("-inf")) return -std::numeric_limits<double>::infinity();
  skip_blanks();
  double value = 0;
  const char* begin = text_.data() + position_;
  const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (failure != std::errc()) return error("a number");
  position_ += static_cast<std::size_t>(end - begin);
  return value;
}

Result<std::string> Scanner::quoted() {
  skip_blanks();
  const std::size_t begin = position_;
  if (begin == text_.size() || text_[begin] != '"') return error("a quoted string");
  ++position_;
  std::string out;
  while (position_ < text_.size() && text_[position_] != '"') {
    const char c = text_[position_++];
    if (c != '\\') {
      out += c;
      continue;
    }
    if (position_ == text_.size()) break;
    const char escape = text_[position_++];
    if (escape == 'n') {
      out += '\n';
    } else if (escape == 't') {
      out += '\t';
    } else if (escape == 'x') {
      if (position_ + 2 > text_.size()) break;
      const int high = hex_digit(text_[position_]), low = hex_digit(text_[position_ + 1]);
      if (high < 0 || low < 0) return error("two hexadecimal digits");
      out += static_cast<char>(high * 16 + low);
      position_ += 2;
    } else if (escape == '"' || escape == '\\') {
      out += escape;
    } else {
      --position_;
      return error("one of the escapes \\n \\t \\x \\\" \\\\");
    }
  }
  if (position_ == text_.size()) return error_at(begin, "this string has no closing quote");
  ++position_;
  return out;
}

void Scanner::skip_comments() {
  while (peek() == '#') rest_of_line();
}

std::string_view Scanner::rest_of_line() {
  std::size_t end = text_.find('\n', position_);
  if (end == std::string_view::npos) end = text_.size();
  std::string_view line = text_.substr(position_, end - position_);
  position_ = end;
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line;
}

bool Scanner::line_ended() {
  while (position_ < text_.size() && text_[position_] != '\n' && is_blank(text_[position_]))
    ++position_;
  return position_ == text_.size() || text_[position_] == '\n';
}

bool Scanner::adjacent() const { return position_ < text_.size() && !is_blank(text_[position_]); }

Error Scanner::error(std::string_view expected) {
  skip_blanks();
  std::string found = "the end of the text";
  if (position_ < text_.size()) {
    std::size_t end = position_ + 1;
    if (is_word_part(text_[position_])) {
      while (end < text_.size() && is_word_part(text_[end])) ++end;
    }
    found = "'" + std::string(text_.substr(position_, end - position_)) + "'";
  }
  return error_at(position_, "found " + found + ", expected " + std::string(expected));
}

Error Scanner::error_at(std::size_t position, std::string_view message) const {
  std::size_t line = 1, line_begin = 0;
  for (std::size_t i = 0; i < position && i < text_.size(); ++i) {
    if (text_[i] == '\n') {
      ++line;
      line_begin = i + 1;
    }
  }
  return user_error(std::string(code_), "line " + std::to_string(line) + ", column " +
                                            std::to_string(position - line_begin + 1) + ": " +
                                            std::string(message));
}

std::string quote(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      ((out += "\\x") += kHex[byte >> 4]) += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string format_double(double value) {
  char buffer[64];
  if (std::isnan(value)) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    if (bits == kDefaultNan) return "nan";
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr;
    return "nan:0x" + std::string(buffer, end);
  }
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace triptych
