// Where a value comes from that a captured region reads from outside: a path that can be walked
// again at each call, and printed: `L['self'].layers[0].weight`, `G['torch']`.
//
// A source is a root (a variable of the frame, an operand, the region's function, a fixed object)
// or one step from another source. Equal sources are one node, so that a guard program loads each
// at most once. A step that finds nothing (no such key, no instance dict) gives null, which only
// the guard `kAbsent` accepts.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/interpreter/reference.h"

namespace triptych::capture {

enum class SourceKind : std::uint8_t {
  // Roots.
  kSlot,      // number: a variable of the frame, as the frame holds it (a cell is a cell)
  kStack,     // number: an operand, from the bottom of the stack
  kFunction,  // the region's own function
  kConstant,  // object: the same at every call; held strongly, so no user's module, tensor, ...
  // Steps from a parent.
  kInstanceDict,        // the object's own `__dict__`, without looking at its type
  kDictItem,            // key: of a dict or a subclass, as `dict.__getitem__` finds it
  kListItem,            // number, from the front
  kTupleItem,           // number, from the front
  kMemberSlot,          // object: the member descriptor of a slot of the type
  kType,                // the type of the object
  kClassAttribute,      // key: what the type (the parent) and its bases have under that name
  kCellContents,        // of a cell
  kClosureCell,         // number: a cell of a Python function's closure
  kFunctionCode,        // of a Python function, as the following
  kFunctionGlobals,     //
  kFunctionBuiltins,    // the dict
  kFunctionDefaults,    // the tuple, or null
  kFunctionKwDefaults,  // the dict, or null
  kMethodSelf,          // of a bound method
  kMethodFunction,      //
  kPartialFunction,     // of a functools.partial, as the following
  kPartialArguments,    // the tuple
  kPartialKeywords,     // the dict
  kPropertyGetter,      // of a property: its `fget`, or null
  kWrappedFunction,     // of a staticmethod or classmethod: its `__func__`
  kTensorGrad,          // the gradient of a tensor, or null
};

// Names a node of one arena.
struct SourceId {
  std::uint32_t index = kNone;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  explicit operator bool() const { return index != kNone; }
  friend bool operator==(SourceId, SourceId) = default;
};

struct Source {
  SourceKind kind;
  SourceId parent;          // none for roots
  std::int64_t number = 0;  // slot, place, item
  Owned object;             // the key, the descriptor, the constant
  Py_hash_t key_hash = 0;   // of a dict item's key
};

// Keys that a dict finds without running user code: strings, numbers, tuples of such, and objects
// that are equal only to themselves (types, functions, enum members, ...). A trace must not make
// a source or guard with another key.
bool is_plain_key(PyObject* key);

class SourceArena {
 public:
  // The names of the frame's slots, for printing.
  explicit SourceArena(std::vector<std::string> slot_names = {});
  static SourceArena of_code(PyCodeObject* code);

  SourceId slot(int number);
  SourceId stack(int number);
  SourceId function();
  SourceId constant(Borrowed object);
  // A step without a number or key.
  SourceId step(SourceKind kind, SourceId parent);
  SourceId item(SourceKind kind, SourceId parent, std::int64_t number);  // list, tuple, closure
  // kDictItem, kClassAttribute, kMemberSlot. Null with a Python exception set if a key cannot be
  // hashed.
  SourceId keyed(SourceKind kind, SourceId parent, Borrowed key);

  const Source& operator[](SourceId id) const { return nodes_[id.index]; }
  std::size_t size() const { return nodes_.size(); }

  // In terms of the user's program.
  std::string text(SourceId id) const;

 private:
  SourceId find_or_add(Source source);
  std::string slot_text(std::size_t number) const;
  std::string root_text(const Source& node) const;
  std::string item_text(const Source& node) const;
  std::string cell_text(const Source& node) const;

  std::vector<Source> nodes_;
  std::unordered_multimap<std::size_t, std::uint32_t> index_;
  std::vector<std::string> slot_names_;
  std::size_t first_free_ = 0;  // of the names, the first that is a variable of the closure
};

}  // namespace triptych::capture
