// What a program says of its functions through torch.compiler and torch._dynamo: it stands in
// Dynamo's registries, which exist only where the program has used them.
#pragma once

#include <Python.h>

#include "capture/interpreter/reference.h"

namespace triptych::capture {

class DynamoMarks {
 public:
  DynamoMarks();
  // `allow_in_graph`, `nonstrict_trace`: a call of it is one node.
  bool in_graph(PyObject* function) const;
  // `substitute_in_graph`: a Python function that stands for one in C; borrowed, or null.
  PyObject* substitute_of(PyObject* function) const;
  // `error_on_graph_break`, as it is now.
  static bool breaks_raise();

 private:
  Owned allowed_, nonstrict_;  // sets of ids, or null
  Owned substitutes_;          // a dict, or null
};

}  // namespace triptych::capture
