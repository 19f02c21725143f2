// Steps of a guard program that check a register.
#pragma once

#include <deque>

#include "capture/guards/guard_step.h"
#include "capture/guards/size_relations.h"

namespace triptych::capture {

// Of a tuple, list, dict, set or frozenset, without a method of a subclass; -1 for anything else.
Py_ssize_t length_of(PyObject* container);

// What checks refer to; their addresses stay.
struct StepData {
  std::deque<Expected> objects;
  std::deque<std::vector<Expected>> keys;
  std::deque<RegisterList> registers;
  std::deque<SizeRelations> relations;
};

// The step that checks the guard; `from` is set by the caller. `others` are the registers of the
// guard's other sources. The guard must outlive the step; its object is replaced by a weak
// reference where it is not to be kept alive.
GuardStep make_check(Guard& guard, RegisterList others, StepData& data);

// The value of a symbol: sets `context.symbols[number]`.
GuardStep make_symbol(const InputSymbol& symbol, std::uint32_t number, bool is_first);
// The relations between the symbols.
GuardStep make_relations(SizeRelations relations, StepData& data);

}  // namespace triptych::capture
