// An interned string: equality is one pointer comparison; order is by text, so that sorted output
// is the same in every run. Interned text lives for the whole process; the table is thread-safe.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

namespace triptych {

class InternedString {
 public:
  InternedString();  // the empty string
  explicit InternedString(std::string_view text);

  const std::string& str() const { return *text_; }
  const char* c_str() const { return text_->c_str(); }
  bool empty() const { return text_->empty(); }
  const void* identity() const { return text_; }

  friend bool operator==(InternedString a, InternedString b) { return a.text_ == b.text_; }
  friend std::strong_ordering operator<=>(InternedString a, InternedString b) {
    return a.text_ == b.text_ ? std::strong_ordering::equal : a.text_->compare(*b.text_) <=> 0;
  }

 private:
  const std::string* text_;
};

}  // namespace triptych

template <>
struct std::hash<triptych::InternedString> {
  std::size_t operator()(triptych::InternedString s) const noexcept {
    return std::hash<const void*>()(s.identity());
  }
};
