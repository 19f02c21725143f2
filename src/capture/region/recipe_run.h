// Makes the objects that must exist after a region has run, and does its writes again.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

#include "capture/interpreter/reference.h"
#include "capture/region/capture_result.h"

namespace triptych::capture {

class RecipeRun {
 public:
  // `outputs` are the graph's; `values` those of sources, and `source_of_recipe` says which of them
  // each recipe takes, if any.
  RecipeRun(const std::vector<Recipe>& recipes, std::span<PyObject* const> outputs,
            std::span<PyObject* const> values, std::span<const std::uint32_t> source_of_recipe);

  // False: an exception is set.
  bool make_all();
  bool apply(const std::vector<Effect>& effects);

  // A new reference to what a recipe made; null for Effect::kNone.
  Owned take(std::uint32_t recipe) const;

 private:
  Owned make(const Recipe& recipe, std::size_t index) const;
  Owned make_sequence(const Recipe& recipe) const;
  Owned make_dict(const Recipe& recipe) const;
  Owned make_call(const Recipe& recipe) const;
  Owned make_object(const Recipe& recipe) const;
  Owned make_function(const Recipe& recipe) const;
  Owned tuple_of(std::span<const std::uint32_t> items) const;
  bool apply_one(const Effect& effect) const;
  bool set_set(PyObject* target, const std::vector<std::uint32_t>& items) const;
  bool set_list(PyObject* target, const std::vector<std::uint32_t>& items) const;
  bool set_attribute(PyObject* target, PyObject* name, PyObject* value) const;
  PyObject* at(std::uint32_t recipe) const;

  const std::vector<Recipe>& recipes_;
  std::span<PyObject* const> outputs_;
  std::span<PyObject* const> values_;
  std::span<const std::uint32_t> source_of_recipe_;
  std::vector<Owned> made_;
};

}  // namespace triptych::capture
