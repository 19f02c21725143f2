// Typed small indices: IR objects are named by these, never by raw pointers or plain integers.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

namespace triptych {

template <class Tag>
struct Index {
  static constexpr std::uint32_t kInvalid = 0xffffffffU;
  std::uint32_t value = kInvalid;

  constexpr bool valid() const { return value != kInvalid; }
  friend constexpr auto operator<=>(Index, Index) = default;
};

// A vector indexed by one kind of Index.
template <class I, class T>
class IndexVector {
 public:
  T& operator[](I index) { return items_.at(index.value); }
  const T& operator[](I index) const { return items_.at(index.value); }
  I push_back(T item) {
    items_.push_back(std::move(item));
    return I{static_cast<std::uint32_t>(items_.size() - 1)};
  }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::vector<T>& items() { return items_; }
  const std::vector<T>& items() const { return items_; }
  void resize(std::size_t n) { items_.resize(n); }

 private:
  std::vector<T> items_;
};

}  // namespace triptych

template <class Tag>
struct std::hash<triptych::Index<Tag>> {
  std::size_t operator()(triptych::Index<Tag> index) const noexcept { return index.value; }
};
