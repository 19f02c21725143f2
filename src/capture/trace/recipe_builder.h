// How the objects that live on after a captured region are made again at each call: the result,
// variables at a break, what was written into objects from outside. One object, one recipe.
#pragma once

#include <Python.h>

#include <unordered_map>
#include <vector>

#include "capture/region/capture_result.h"
#include "capture/trace/journal.h"

namespace triptych::capture {

class Tracer;

class RecipeBuilder {
 public:
  explicit RecipeBuilder(Tracer& tracer) : tracer_(tracer) {}

  // False: the trace has been stopped, because no recipe makes such an object.
  bool build(PyObject* object, std::uint32_t& recipe);
  std::uint32_t load(SourceId source);
  // The writes that the trace holds back, once everything else is built.
  bool effects();

 private:
  struct Fresh {  // an object whose attributes or content come by effects
    PyObject* object;
    std::uint32_t recipe;
  };

  std::uint32_t add(Recipe recipe);
  bool build_new(PyObject* object, std::uint32_t& recipe);
  bool build_tensor(PyObject* fake, std::uint32_t& recipe);
  bool build_sequence(PyObject* object, Recipe::Kind kind, std::uint32_t& recipe);
  bool build_items(PyObject* const* items, Py_ssize_t count, std::vector<std::uint32_t>& built);
  bool build_dict(PyObject* object, std::uint32_t& recipe);
  bool build_defaultdict(PyObject* object, std::uint32_t& recipe);
  bool can_be_key(PyObject* key);
  bool can_be_keys(PyObject* sequence);  // a list or tuple
  bool build_set(PyObject* object, std::uint32_t& recipe);
  bool build_cell(PyObject* object, std::uint32_t& recipe);
  bool build_function(PyObject* object, std::uint32_t& recipe);
  bool build_method(PyObject* object, std::uint32_t& recipe);
  bool build_partial(PyObject* object, std::uint32_t& recipe);
  bool build_size(PyObject* object, std::uint32_t& recipe);
  bool build_deque(PyObject* object, std::uint32_t& recipe);
  bool build_iterator(PyObject* object, std::uint32_t& recipe);
  bool build_object(PyObject* object, std::uint32_t& recipe);
  bool refuse(PyObject* object);
  bool fill(const Fresh& fresh);
  bool set_items(PyObject* dict, std::uint32_t target, Effect::Kind kind);
  bool slot_effect(const Journal::Entry& entry);
  bool dict_effects(PyObject* dict, PyObject* before, PyObject* keys, SourceId outside,
                    std::uint32_t target);
  void add_effect(Effect effect);

  Tracer& tracer_;
  std::unordered_map<PyObject*, std::uint32_t> built_;
  std::unordered_map<std::uint32_t, std::uint32_t> loads_;  // by source
  std::vector<Effect> states_;                              // of iterators
  std::vector<Fresh> fresh_;                                // not filled yet
};

}  // namespace triptych::capture
