// What must hold at a call for a captured region to be valid: one condition on the value of a
// source, or on several. In the order in which the trace made them: a type is checked before what
// is read from the object.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/guards/source.h"
#include "capture/interpreter/reference.h"
#include "ir/graph.h"

namespace triptych::capture {

enum class GuardKind : std::uint8_t {
  kIs,      // object: this very object; weakly held where that is possible, and fails once it died
  kType,    // object: of exactly this type
  kEquals,  // object: same type and value. None, bool, int, float and complex (by their bits),
            // str, bytes, range, slice, torch.device, Ellipsis, and tuples, frozensets, torch.Size
            // of these
  kLength,  // number: of a tuple, list, dict, set or frozenset; of a subclass what its base holds
  kKeys,    // object: tuple of a dict's keys, in order
  kHasKey,  // object: a key of a dict, set or frozenset
  kLacksKey,  // object: the same; also holds for an instance dict that does not exist
  kAbsent,    // the step to the source finds nothing
  kTensor,    // tensor: metadata
  kState,     // state: the thread's modes (the source is none)
  kSame,      // others: the same object as each of these
  kDistinct,  // others: different objects than this one
  kDisjoint,  // others: tensors that share no memory with this one (which is written), nor it with
              // them
  kAbcToken,  // number: abc.get_cache_token(); another one after each `register` (no source)
};

// In the order of the kinds; and for conditions between sizes, which are no guards of one source.
inline constexpr std::array<const char*, 15> kGuardNames = {
    "is",     "type",  "equals", "length",   "keys",     "has_key",   "lacks_key", "absent",
    "tensor", "state", "same",   "distinct", "disjoint", "abc_token", "relations"};

// Metadata of a tensor that a region depends on. See tensor_facts.h for how it is read.
struct TensorFacts {
  Owned type;  // of the Python object
  std::uint64_t dispatch_keys = 0;
  std::int8_t dtype = 0;        // c10::ScalarType
  std::int8_t device_type = 0;  // c10::DeviceType
  std::int8_t device_index = -1;
  bool requires_grad = false;
  bool is_leaf_parameter = false;  // informs the tracer; not guarded
  bool neg = false, conj = false, inference = false;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t storage_offset = kAnyOffset;  // of a program that uses it (as_strided, set_, ...)
  static constexpr std::int64_t kAnyOffset = -1;
  // Dimensions that are symbols: any size from 2 on is accepted, and a stride that its size
  // determines. Same length as sizes, or empty: all are fixed.
  std::vector<bool> symbolic;
  // With symbolic sizes: the dimensions from the innermost outwards, and which strides are the
  // product of what lies inside. Set by `follow_sizes` (tensor_facts.h).
  std::vector<std::uint8_t> order;
  std::vector<bool> dense;
};

// The modes of PyTorch and Python that change what a program means, of the calling thread.
struct StateWord {
  std::array<std::uint64_t, 3> bits{};
  friend bool operator==(const StateWord&, const StateWord&) = default;
};

struct Guard {
  GuardKind kind;
  SourceId source;
  Owned object;
  bool weak = false;  // in a program: `object` is a weak reference to what is expected
  std::int64_t number = 0;
  std::unique_ptr<TensorFacts> tensor;
  StateWord state;
  std::vector<SourceId> others;
  Owned file;  // where the read is, when known
  int line = 0;
};

// A size of an input tensor, or an integer, that a region takes as a variable.
struct InputSymbol {
  std::string name;  // s0, s1, ...
  SourceId source;
  int dimension = 0;  // kInteger: the value is the int itself
  static constexpr int kInteger = -1;
  std::int64_t low = 2;
  std::int64_t high = INT64_MAX;
  std::int64_t hint = 0;
};

// Everything that a captured region's validity rests on.
struct GuardSet {
  std::vector<Guard> guards;
  std::vector<InputSymbol> symbols;
  std::vector<ir::SymGuard> relations;  // between the symbols
};

}  // namespace triptych::capture
