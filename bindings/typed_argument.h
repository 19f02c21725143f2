// What a public method was given, as the type that it needs, with an error that speaks of the
// argument instead of the overloads tried.
#pragma once

#include <filesystem>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include "constant_bytes.h"

namespace triptych::bindings {

// `where` names method and argument, as "Graph.parse: text".
template <class T>
T typed_argument(nanobind::handle given, const char* where, const char* expected) {
  T value;
  if (nanobind::try_cast<T>(given, value)) return value;
  const auto found = nanobind::cast<std::string>(given.type().attr("__name__"));
  throw nanobind::type_error(
      (std::string(where) + ": expected " + expected + ", found " + found).c_str());
}

inline std::string text_argument(nanobind::handle given, const char* where) {
  return typed_argument<std::string>(given, where, "str");
}

inline std::string path_argument(nanobind::handle given, const char* where) {
  return typed_argument<std::filesystem::path>(given, where, "a path").string();
}

inline ir::ConstantBytes constants_argument(nanobind::handle given, const char* where) {
  return constant_bytes(
      typed_argument<NamedBytes>(given, where, "a mapping of names to bytes or None"));
}

}  // namespace triptych::bindings
