// What the tracer hands to the region runtime: the graph of torch calls, the guards under which it
// stands for the program, how the results are built, which writes are done again, and where the
// region ends.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/guards/guard.h"
#include "capture/guards/source.h"
#include "capture/interpreter/frame_entry.h"
#include "capture/interpreter/reference.h"

namespace triptych::capture {

// An argument of a node. Containers nest.
struct NodeArgument {
  enum class Kind : std::uint8_t {
    kNode,      // index: the value of an earlier node
    kInput,     // index: a graph input
    kConstant,  // object: what a graph may hold: numbers, strings, dtypes, devices, None, ...
    kTuple,     // items
    kList,      // items
    kDict,      // items, with keys in `object` (a tuple)
    kSlice,     // three items
  };
  Kind kind = Kind::kConstant;
  std::uint32_t index = 0;
  Owned object;
  std::vector<NodeArgument> items;
};

// One call of PyTorch's API.
struct CapturedNode {
  enum class Kind : std::uint8_t {
    kFunction,  // target: the callable
    kMethod,    // target: the name (a str); the first argument is `self`
  };
  Kind kind = Kind::kFunction;
  Owned target;
  std::vector<NodeArgument> arguments;
  std::vector<std::pair<std::string, NodeArgument>> keywords;
  std::string file;
  int line = 0;
  std::string module_path;  // "layers.0.attention", when inside a module's forward
  Owned example;            // the value on fakes: carries metadata
};

struct GraphInput {
  SourceId source;  // of a tensor; or of an int that is an InputSymbol
  std::string name;
  bool is_parameter = false;
  bool is_buffer = false;
  std::int64_t writes = 0;  // in place, by the graph
  Owned example;            // the fake
};

// How an object is made after the graph has run. A DAG: recipes name earlier ones by index, and
// one recipe makes one object, however often it is named. Containers whose contents name later
// recipes (cycles, self references) are filled by replayed effects.
struct Recipe {
  enum class Kind : std::uint8_t {
    kGraphOutput,   // index: into graph outputs
    kSource,        // source: loaded before the graph runs; the caller's own object
    kInstanceDict,  // one item, whose own `__dict__` it is: made if the object has none yet
    kConstant,      // object: immutable
    kTuple,         // items
    kList,          // items
    kDict,          // items: key, value, key, value, ...
    kSet,           // items
    kFrozenSet,     // items
    kSlice,         // three items
    kCell,          // one item, or none when empty
    kMethod,        // items: function, self
    kCall,          // items: callable, positional arguments; object: names of keywords (a tuple),
                    // whose values end the items. For types whose constructor is pure: partial,
                    // torch.Size, namedtuples (by tuple.__new__), range, ...
    kNewObject,     // items: the type, then arguments of `object.__new__`-like `base.__new__`;
                    // object: the base type whose __new__ makes it. Attributes come by effects.
    kFunction,      // items: a cell each of the closure, then defaults (tuple or None), kwdefaults
                    // (dict or None), then globals; object: the code
  };
  Kind kind = Kind::kConstant;
  std::uint32_t index = 0;
  SourceId source;
  Owned object;
  std::vector<std::uint32_t> items;
};

// A write, done for real after the graph has run, in order. `target`, `key`, `value` and `items`
// name recipes.
struct Effect {
  enum class Kind : std::uint8_t {
    kSetAttribute,  // object.__setattr__(target, key, value); for types: type.__setattr__
    kDeleteAttribute,
    kSetDictItem,  // dict.__setitem__ of the base class; also an instance dict by kSource
    kDeleteDictItem,
    kClearDict,
    kSetList,  // target[:] = items
    kSetSet,   // the set's whole contents: items
    kSetCell,  // cell contents = value; without value: emptied
    kSetGrad,  // tensor.grad = value
    kCall,     // target(*items): a mode of PyTorch that the region leaves changed
  };
  Kind kind = Kind::kSetAttribute;
  std::uint32_t target = kNone;
  std::uint32_t key = kNone;
  std::uint32_t value = kNone;
  std::vector<std::uint32_t> items;
  static constexpr std::uint32_t kNone = UINT32_MAX;
};

// Why and where a region ends before its function returns. The frame goes on at `unit`, with the
// instruction there, on variables and operands made by recipes.
// Reason code of a capture that ends where the program asks for an error instead of a break.
constexpr const char* kBreakThatRaises = "break.forbidden";

struct Break {
  int unit = 0;
  std::string code;      // reason code: "break.item", "break.call", ...
  std::string message;   // what was met
  std::string location;  // "file:line" of the innermost frame
  std::string hint;
  std::vector<std::uint32_t> slots;  // a recipe each; Effect::kNone: unbound
  std::vector<std::uint32_t> stack;  // a recipe each; Effect::kNone: a null of CPython's
};

struct CaptureResult {
  SourceArena sources;
  GuardSet guards;
  std::vector<GraphInput> inputs;
  std::vector<CapturedNode> nodes;
  std::vector<NodeArgument> outputs;  // of the graph, kNode or kInput
  std::vector<Recipe> recipes;
  std::vector<Effect> effects;
  std::uint32_t result = Effect::kNone;  // the recipe of the returned value, when it returns
  std::optional<Break> stop;             // otherwise
  bool hides_writes = false;             // it uses `.data`, writes to which are not counted
  bool needs_gradients = false;          // grad mode is on and an input requires grad
  bool draws = false;                    // random numbers
};

// What is to be captured: a frame of a function about to run at a boundary. For a whole call the
// unit is 0, and slots hold the bound arguments as CPython places them.
struct CaptureRequest {
  FrameState state;  // copied by the tracer: the caller's stays as it is
  // What the caller wants symbolic: the text of a source, and a dimension (or
  // InputSymbol::kInteger).
  std::set<std::pair<std::string, int>> symbolic;
  bool all_sizes_symbolic = false;     // dynamic=True
  std::size_t instruction_budget = 0;  // 0: the tracer's own
};

}  // namespace triptych::capture
