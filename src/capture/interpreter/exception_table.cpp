// Each entry is four numbers: start, length, target, and depth * 2 + push_unit. A number is written
// in groups of six bits, the most significant first; bit 6 says that another group follows, bit 7
// marks the first byte of an entry.
#include "capture/interpreter/exception_table.h"

#include <algorithm>

namespace triptych::capture {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return next_ >= bytes_.size(); }
  std::int32_t number() {
    std::int32_t value = 0;
    while (!done()) {
      const auto byte = static_cast<unsigned char>(bytes_[next_++]);
      value = (value << 6) | (byte & 63);
      if (!(byte & 64)) break;
    }
    return value;
  }

 private:
  std::string_view bytes_;
  std::size_t next_ = 0;
};

}  // namespace

ExceptionTable::ExceptionTable(std::string_view bytes) {
  Reader reader(bytes);
  while (!reader.done()) {
    Handler handler{};
    handler.start = reader.number();
    handler.end = handler.start + reader.number();
    handler.target = reader.number();
    const std::int32_t depth_and_flag = reader.number();
    handler.depth = depth_and_flag >> 1;
    handler.push_unit = depth_and_flag & 1;
    handlers_.push_back(handler);
  }
}

const Handler* ExceptionTable::find(std::int32_t unit) const {
  auto after = std::upper_bound(handlers_.begin(), handlers_.end(), unit,
                                [](std::int32_t at, const Handler& h) { return at < h.start; });
  if (after == handlers_.begin()) return nullptr;
  const Handler& candidate = *--after;
  return unit < candidate.end ? &candidate : nullptr;
}

}  // namespace triptych::capture
