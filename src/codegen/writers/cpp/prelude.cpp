#include "codegen/writers/cpp/prelude.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "support/check.h"

namespace triptych::writers::cpp {

namespace {

struct Entry {
  std::string_view name;
  std::string_view text;
  std::array<std::string_view, 3> uses = {};
};

// In an order in which what is used stands first.
constexpr Entry kEntries[] = {
    {"floordiv", R"(// Index arithmetic, as Python's.
static inline std::int64_t floordiv(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
)"},
    {"mod",
     "static inline std::int64_t mod(std::int64_t a, std::int64_t b) { return a - floordiv(a, b) "
     "* b; }\n",
     {"floordiv"}},
    {"min",
     "static inline std::int64_t min(std::int64_t a, std::int64_t b) { return a < b ? a : b; "
     "}\n"},
    {"max",
     "static inline std::int64_t max(std::int64_t a, std::int64_t b) { return a > b ? a : b; "
     "}\n"},
    {"lowest_of", R"(template <class T>
static inline T lowest_of(T a, T b) {  // a NaN wins, of equals the first
  if (b != b) return b;
  return b < a ? b : a;
}
)"},
    {"highest_of", R"(template <class T>
static inline T highest_of(T a, T b) {  // a NaN wins, of equals the first
  if (b != b) return b;
  return b > a ? b : a;
}
)"},
    {"lowest_number", R"(template <class T>
static inline T lowest_number(T a, T b) {  // a NaN loses, of equals the first
  return a != a || b < a ? b : a;
}
)"},
    {"highest_number", R"(template <class T>
static inline T highest_number(T a, T b) {  // a NaN loses, of equals the first
  return a != a || b > a ? b : a;
}
)"},
    {"beats", R"(template <class T>
static inline bool beats(bool better, T challenger, T champion) {  // strictly, or as the first NaN
  return better || (challenger != challenger && champion == champion);
}
)"},
    {"sign",
     "template <class T>\nstatic inline T sign(T x) { return static_cast<T>((T(0) < x) - (x < "
     "T(0))); }\n"},
    {"to_integer", R"(// Out of range and NaN: the lowest integer of Through.
template <class To, class Through, class From>
static inline To to_integer(From value) {
  From truncated = std::trunc(value);
  From limit = -static_cast<From>(std::numeric_limits<Through>::min());
  bool fits = truncated >= -limit && truncated < limit;
  return static_cast<To>(fits ? static_cast<Through>(truncated) : std::numeric_limits<Through>::min());
}
)"},
    {"trunc_div",
     R"(// Integer division: by zero 0 (a check reports it); by -1 the negative, wrapping.
template <class T>
static inline T trunc_div(T a, T b) {
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - a);
  return static_cast<T>(a / b);
}
)"},
    {"integer_fmod", R"(template <class T>
static inline T integer_fmod(T a, T b) {
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  return static_cast<T>(a % b);
}
)"},
    {"integer_remainder",
     R"(template <class T>
static inline T integer_remainder(T a, T b) {
  T rest = integer_fmod(a, b);
  return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}
)",
     {"integer_fmod"}},
    {"integer_floor_div",
     R"(template <class T>
static inline T integer_floor_div(T a, T b) {
  T rest = integer_fmod(a, b);
  return static_cast<T>(trunc_div(a, b) - (rest != 0 && (rest < 0) != (b < 0)));
}
)",
     {"integer_fmod", "trunc_div"}},
    {"float_remainder", R"(template <class T>
static inline T float_remainder(T a, T b) {
  T rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
)"},
    {"float_floor_div", R"(template <class T>
static inline T float_floor_div(T a, T b) {
  if (b == 0) return a / b;
  T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  T floored = std::floor(quotient);
  return quotient - floored > T(0.5) ? floored + 1 : floored;
}
)"},
    {"integer_pow", R"(template <class T>
static inline T integer_pow(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == static_cast<T>(-1)) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
  for (std::uint64_t left = static_cast<std::uint64_t>(exponent); left != 0; left >>= 1, square *= square) {
    if (left & 1) result *= square;
  }
  return static_cast<T>(result);
}
)"},
    {"shift_left", R"(// Shifts by the width or more, or by a negative count: 0, or the sign.
template <class T>
static inline T shift_left(T a, T b) {
  using Bits = std::make_unsigned_t<T>;
  return static_cast<Bits>(b) >= 8 * sizeof(T) ? T(0) : static_cast<T>(static_cast<std::uint64_t>(a) << b);
}
)"},
    {"shift_right", R"(template <class T>
static inline T shift_right(T a, T b) {
  using Bits = std::make_unsigned_t<T>;
  if (static_cast<Bits>(b) >= 8 * sizeof(T)) return static_cast<T>(a < 0 ? -1 : 0);
  return static_cast<T>(a >> b);
}
)"},
    {"sigmoid",
     "template <class T>\nstatic inline T sigmoid(T x) { return 1 / (1 + std::exp(-x)); }\n"},
    {"float16", ""},
    {"special_functions", ""},
};

// Without the lines that make it a file of ours.
std::string bare(std::string_view source) {
  std::string text;
  std::size_t at = 0;
  while (at < source.size()) {
    std::size_t end = std::min(source.find('\n', at), source.size() - 1);
    std::string_view line = source.substr(at, end + 1 - at);
    if (!line.starts_with("#")) text += line;
    at = end + 1;
  }
  return text;
}

void close_over(std::set<std::string>& names) {
  for (auto entry = std::rbegin(kEntries); entry != std::rend(kEntries); ++entry) {
    if (!names.contains(std::string(entry->name))) continue;
    for (std::string_view used : entry->uses) {
      if (!used.empty()) names.insert(std::string(used));
    }
  }
}

}  // namespace

std::string prelude(const std::set<std::string>& names) {
  std::set<std::string> all = names;
  close_over(all);
  std::string text =
      "// Compile with -std=c++20 -O2 -march=native -fwrapv -fno-strict-aliasing -fPIC -shared\n"
      "#include <bit>\n#include <cmath>\n#include <cstdint>\n#include <limits>\n#include "
      "<numbers>\n"
      "#include <type_traits>\n\n";
  std::size_t found = 0;
  for (const Entry& entry : kEntries) {
    if (!all.contains(std::string(entry.name))) continue;
    ++found;
    if (entry.name == "float16") {
      text += bare(kFloat16Source);
    } else if (entry.name == "special_functions") {
      text += bare(kSpecialFunctionsSource);
    } else {
      text += entry.text;
    }
    text += "\n";
  }
  TRIPTYCH_CHECK(found == all.size(),
                 "generated code uses a function that the prelude does not have");
  return text;
}

}  // namespace triptych::writers::cpp
