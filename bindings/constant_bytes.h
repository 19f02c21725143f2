// Bytes of constants, from and to Python by name.
#pragma once

#include <cstring>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "ir/graph_text.h"
#include "runtime/constants.h"

namespace triptych::bindings {

// None stands for a constant that is a tensor: its bytes are not at hand.
using NamedBytes = std::map<std::string, std::optional<nanobind::bytes>>;

inline ir::ConstantBytes constant_bytes(const NamedBytes& constants) {
  ir::ConstantBytes bytes;
  for (const auto& [name, contents] : constants) {
    if (!contents) continue;
    auto copy = std::make_shared<std::vector<std::byte>>(contents->size());
    if (!copy->empty()) std::memcpy(copy->data(), contents->data(), copy->size());
    bytes.emplace(name, std::move(copy));
  }
  return bytes;
}

inline nanobind::dict named_bytes(std::vector<ir::Constant> constants) {
  runtime::add_constant_bytes(constants);
  nanobind::dict out;
  for (const ir::Constant& constant : constants) {
    out[nanobind::cast(constant.name)] =
        constant.bytes == nullptr
            ? nanobind::none()
            : nanobind::object(nanobind::bytes(constant.bytes->data(), constant.bytes->size()));
  }
  return out;
}

inline ir::Graph with_constant_bytes(ir::Graph graph) {
  runtime::add_constant_bytes(graph.constants());
  return graph;
}

}  // namespace triptych::bindings
