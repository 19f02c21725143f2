// Reads text token by token; its errors say line, column, what was found and what was expected. All
// text forms are parsed with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace triptych {

class Scanner {
 public:
  // `code` is the reason code of the scanner's errors, e.g. "graph.parse".
  Scanner(std::string_view text, std::string_view code) : text_(text), code_(code) {}

  // All of these skip blanks and line ends first, except where they say otherwise.
  bool at_end();
  char peek();                           // '\0' at the end
  bool next_is(std::string_view token);  // a word must not go on behind the token
  bool accept(std::string_view token);
  Status expect(std::string_view token);
  std::string_view word();          // [A-Za-z_][A-Za-z0-9_]*, or empty
  std::string_view dotted_word();   // words joined by dots (and "::"), or empty
  Result<std::int64_t> integer();   // an optional minus, decimal digits
  Result<double> number();          // a float, "inf", "-inf", "nan"
  Result<std::string> quoted();     // "text" with \n \t \\ \" \xNN escapes
  std::string_view rest_of_line();  // up to the line's end, without the blanks around
  void skip_comments();             // whole lines that start with '#'
  bool line_ended();                // only blanks up to the line's end (or the end of text)
  bool adjacent() const;            // no blank before the next character

  std::size_t position() const { return position_; }
  void rewind(std::size_t position) { position_ = position; }
  std::string_view text() const { return text_; }

  // "line 3, column 7: found 'x', expected <expected>".
  Error error(std::string_view expected);
  // Same place, with a message of one's own.
  Error error_at(std::size_t position, std::string_view message) const;

 private:
  void skip_blanks();
  std::string_view text_;
  std::string_view code_;
  std::size_t position_ = 0;
};

std::string quote(std::string_view text);  // Scanner::quoted's notation
// The shortest text that reads back to the same bits: "1.0", "1e-05", "nan", "-inf", "-0.0"; NaNs
// other than the default one as "nan:0x7ff8000000000001".
std::string format_double(double value);

}  // namespace triptych
