// An entry starts with a byte that has bit 7 set, then a four-bit form and the number of code units
// less one. Its lines are relative to the line of the entry before. Numbers are groups of six bits,
// the least significant first, bit 6 says that another follows; signed ones keep the sign in the
// lowest bit.
#include "capture/interpreter/location_table.h"

#include <algorithm>

namespace triptych::capture {
namespace {

// Forms 0 to 9 are one line with columns below 80 in one more byte.
constexpr int kOneLineFirst = 10;  // to 12: the line moves by form - 10, two bytes with the columns
constexpr int kNoColumns = 13;
constexpr int kLong = 14;
constexpr int kNone = 15;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return next_ >= bytes_.size(); }
  std::int32_t byte() { return done() ? 0 : static_cast<unsigned char>(bytes_[next_++]); }
  std::int32_t number() {
    std::int32_t value = 0;
    for (int shift = 0; !done(); shift += 6) {
      const std::int32_t part = byte();
      value |= (part & 63) << shift;
      if (!(part & 64)) break;
    }
    return value;
  }
  std::int32_t signed_number() {
    const std::int32_t value = number();
    return value & 1 ? -(value >> 1) : value >> 1;
  }

 private:
  std::string_view bytes_;
  std::size_t next_ = 0;
};

Location read_location(Reader& reader, int form, std::int32_t& line) {
  Location location;
  if (form == kNone) return location;
  if (form == kLong) {
    line += reader.signed_number();
    location.end_line = line + reader.number();
    location.column = reader.number() - 1;
    location.end_column = reader.number() - 1;
  } else if (form == kNoColumns) {
    line += reader.signed_number();
    location.end_line = line;
  } else if (form >= kOneLineFirst) {
    line += form - kOneLineFirst;
    location.end_line = line;
    location.column = reader.byte();
    location.end_column = reader.byte();
  } else {
    const std::int32_t columns = reader.byte();
    location.end_line = line;
    location.column = (form << 3) | (columns >> 4);
    location.end_column = location.column + (columns & 15);
  }
  location.line = line;
  return location;
}

}  // namespace

LocationTable::LocationTable(std::string_view bytes, std::int32_t first_line) {
  Reader reader(bytes);
  std::int32_t line = first_line;
  std::int32_t end = 0;
  while (!reader.done()) {
    const std::int32_t head = reader.byte();
    end += (head & 7) + 1;
    runs_.push_back({end, read_location(reader, (head >> 3) & 15, line)});
  }
}

Location LocationTable::at(std::int32_t unit) const {
  auto run = std::upper_bound(runs_.begin(), runs_.end(), unit,
                              [](std::int32_t at, const Run& r) { return at < r.end; });
  return run == runs_.end() || unit < 0 ? Location{} : run->location;
}

}  // namespace triptych::capture
