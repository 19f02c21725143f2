// Template bodies of argument.h.
#pragma once

#include "ir/argument.h"

namespace triptych::ir {

template <class F>
void for_each_value(const Argument& argument, const F& visit) {
  if (const auto* value = argument.get_if<ValueId>()) {
    visit(*value);
  } else if (const auto* list = argument.get_if<ArgumentList>()) {
    for (const Argument& item : list->items) for_each_value(item, visit);
  } else if (const auto* dict = argument.get_if<ArgumentDict>()) {
    for (const auto& [key, item] : dict->items) for_each_value(item, visit);
  } else if (const auto* slice = argument.get_if<Slice>()) {
    for (const Argument& item : slice->parts) for_each_value(item, visit);
  }
}

template <class F>
void for_each_sym_expr(const Argument& argument, const F& visit) {
  if (const auto* expr = argument.get_if<SymExpr>()) {
    visit(*expr);
  } else if (const auto* list = argument.get_if<ArgumentList>()) {
    for (const Argument& item : list->items) for_each_sym_expr(item, visit);
  } else if (const auto* dict = argument.get_if<ArgumentDict>()) {
    for (const auto& [key, item] : dict->items) for_each_sym_expr(item, visit);
  } else if (const auto* slice = argument.get_if<Slice>()) {
    for (const Argument& item : slice->parts) for_each_sym_expr(item, visit);
  }
}

template <class F>
Argument map_values(const Argument& argument, const F& map) {
  Argument copy = argument;
  const auto replace = [&](const auto& self, Argument& item) -> void {
    if (const auto* value = item.get_if<ValueId>()) {
      item.data = map(*value);
    } else if (auto* list = std::get_if<ArgumentList>(&item.data)) {
      for (Argument& inner : list->items) self(self, inner);
    } else if (auto* dict = std::get_if<ArgumentDict>(&item.data)) {
      for (auto& [key, inner] : dict->items) self(self, inner);
    } else if (auto* slice = std::get_if<Slice>(&item.data)) {
      for (Argument& inner : slice->parts) self(self, inner);
    }
  };
  replace(replace, copy);
  return copy;
}

}  // namespace triptych::ir
