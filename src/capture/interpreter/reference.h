// The two ways in which C++ holds a Python object: Owned has a reference and gives it back,
// Borrowed relies on somebody else's. Both may be null: a null Owned from a function means that an
// exception is set.
#pragma once

#include <Python.h>

#include <utility>

namespace triptych::capture {

class Borrowed {
 public:
  Borrowed() = default;
  Borrowed(PyObject* object) : object_(object) {}  // NOLINT: implicit
  PyObject* get() const { return object_; }
  operator PyObject*() const { return object_; }  // NOLINT: implicit
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    Owned old(std::move(*this));
    object_ = std::exchange(other.object_, nullptr);
    return *this;
  }
  ~Owned() { Py_XDECREF(object_); }

  // Takes over a reference that the caller owns, such as the result of most API functions.
  static Owned steal(PyObject* object) { return Owned(object); }
  static Owned copy(PyObject* object) {
    Py_XINCREF(object);
    return Owned(object);
  }

  Borrowed borrow() const { return object_; }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Owned(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

}  // namespace triptych::capture
