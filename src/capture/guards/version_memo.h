// The short-cut past most of a guard program. Dictionaries and types carry
// version numbers that no two states share: while those of the dictionaries that a call reads are
// what they were when the whole program passed, the values in them are, too, and every check of an
// immutable value would pass again.
//
// A memo starts at roots (`self`, the function), which are held weakly and compared as objects.
// Each token is checked before what is reached through it, so that every address it looks at is
// alive. What no version covers (metadata of tensors, list items, the thread's modes) stays as
// steps of the program, or for the many parameters of a model as facts side by side, and is run
// each time.
#pragma once

#include <Python.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "capture/guards/compact_facts.h"
#include "capture/guards/guard_step.h"
#include "capture/guards/source.h"

namespace triptych::capture {

class GuardProgram;

class VersionMemo {
 public:
  // Of a run that has just passed, whose registers are filled. The items of a dictionary
  // in one of the `volatile_registers`, which changes often, are looked up one by one.
  VersionMemo(const GuardProgram& program, const GuardContext& context,
              const std::vector<bool>& volatile_registers);

  enum class Result : unsigned char {
    kOtherRoots,  // not for these objects
    kChanged,     // something that a token stands for is another
    kFails,       // a step that remains fails
    kPasses,      // the registers of the remaining steps and of the exports are filled
  };
  // With kChanged, the register of the dictionary, where it is one; else kNone.
  Result check(GuardContext& context, std::uint32_t& changed) const;

  bool worthwhile() const { return !roots_.empty() && !words_.empty(); }
  std::size_t token_count() const { return words_.size() + items_.size(); }
  std::size_t step_count() const { return steps_.size(); }
  static constexpr std::uint32_t kNone = UINT32_MAX;

 private:
  struct Root {
    Expected object;
    std::int64_t slot;  // -1: the function
  };
  // Eight bytes that must be what they were: a version, a pointer to a dict, the type of an object.
  struct Word {
    const void* address;
    std::uint64_t expected;
  };
  // An item of a dict that changes often, or without a key the version of a type. Checked when the
  // words before it are.
  struct Item {
    std::size_t words_before;
    PyObject* object;
    PyObject* key;
    std::int64_t number;  // the key's hash, the version
    PyObject* expected;
  };
  class Recorder;

  // The first word of [from, to) that is another; `to`: none.
  std::size_t first_changed(std::size_t from, std::size_t to) const;
  static bool holds(const Item& item);
  bool all_hold(std::uint32_t& changed) const;

  std::vector<Expected> held_;  // weak references, and immutable values
  std::vector<Root> roots_;
  std::vector<Word> words_;  // in an order in which each makes the next ones' addresses good
  std::vector<std::uint32_t> dicts_;  // of each word that is a version, the dict's register
  std::vector<Item> items_;
  std::vector<std::pair<PyObject*, CompactFacts>> tensors_;
  std::vector<GuardStep> steps_;
  std::vector<std::pair<std::uint32_t, PyObject*>> registers_;  // values that are implied
};

}  // namespace triptych::capture
