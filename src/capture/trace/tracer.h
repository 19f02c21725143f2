// The observer that captures: runs a function's frames with real objects and fake tensors, guards
// what they read from outside, logs torch calls, holds back writes.
//
// Every object that came from outside and has an identity is in the object map with its source; a
// read is an instruction with such an operand. Values without identity are guarded when they are
// read and are constants from then on. Methods that return an Owned give null with a Python
// exception set, which is either the program's own or the end of the trace (`stopped()`).
#pragma once

#include <Python.h>

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/interpreter/call_site.h"
#include "capture/interpreter/observer.h"
#include "capture/region/capture_result.h"
#include "capture/trace/dynamo_marks.h"
#include "capture/trace/guard_book.h"
#include "capture/trace/journal.h"
#include "capture/trace/library.h"
#include "capture/trace/recorder.h"
#include "capture/trace/tensor_trace.h"

namespace triptych::capture {

// The arguments of a call as vectorcall has them; `self` counts.
struct Arguments {
  PyObject* const* values = nullptr;
  Py_ssize_t count = 0;       // positional
  PyObject* names = nullptr;  // a tuple, or null; their values follow the positional ones
  Py_ssize_t keywords() const { return names == nullptr ? 0 : PyTuple_GET_SIZE(names); }
  Py_ssize_t total() const { return count + keywords(); }
};

struct TracerLimits {
  std::size_t instructions = 3'000'000;
  std::int64_t stop_at = -1;  // boundary of the root frame, counted; -1: run to the end
  // From this one on it is tried whether the function could be left there. What is captured then
  // serves nothing else.
  std::int64_t try_from = kNever;
  static constexpr std::int64_t kNever = INT64_MAX;
  // What is to be symbolic: (text of a tensor's source, dimension), or every size.
  const std::set<std::pair<std::string, int>>* symbolic = nullptr;
  bool all_sizes_symbolic = false;
};

class Tracer final : public Observer {
 public:
  Tracer(CaptureResult& result, TensorTrace& tensors, const Library& known, TracerLimits limits);
  ~Tracer() override;

  bool enter(const Frame& frame) override;
  bool refuses_native() override;
  void declined_left() override { --native_depth_; }
  Flow execute(Activation& activation, const Instruction& instruction) override;

  bool stopped() const { return stopping_; }
  const Error& reason() const { return reason_; }
  bool break_raises() const { return break_raises_; }  // error_on_graph_break, where it stopped
  std::int64_t root_boundaries() const { return root_boundaries_; }
  bool reached_stop() const { return reached_stop_; }
  std::int64_t last_exit() const { return last_exit_; }  // the last such boundary; -1: none
  // After the function has returned: its result as a recipe, and what was written. False: stopped.
  bool finish(PyObject* result);
  void roll_back() { journal_.roll_back(); }
  // Drops every object that the trace kept. Frames that are entered meanwhile end at once.
  void let_go();

  // ---- for the parts of the tracer
  // Ends the trace before this instruction; null.
  Owned stop(const char* code, std::string message, std::string hint = {});
  Flow stop_flow(const char* code, std::string message, std::string hint = {});

  Kind kind(PyObject* object);
  bool is_fake(PyObject* object) const { return Py_TYPE(object) == known_.tensor; }
  // A number that depends on symbolic sizes: a value of the graph, as tensors are.
  bool is_symbolic(PyObject* object) const {
    return triptych::capture::is_symbolic(known_, object);
  }
  // Such a number as it is now, which is guarded; anything else as it is.
  Owned concrete(PyObject* object);
  // A source it was first reached by, when it came from outside.
  SourceId source_of(PyObject* object) const;
  PyObject* object_of(SourceId source) const;  // the reverse
  bool is_external(PyObject* object) const { return static_cast<bool>(source_of(object)); }
  // A value from outside that the program gets: guarded by its kind, a tensor replaced by its fake.
  Owned read(PyObject* value, SourceId source);
  void remember(PyObject* object, SourceId source);
  // An object's identity matters here: of a function that was guarded by its code it is guarded.
  void pin(PyObject* object);
  // The program has been given what is there: a guard says what it was.
  bool was_read(SourceId source) const { return read_sources_.contains(source.index); }
  SourceId type_source(PyTypeObject* type);

  // Of a fresh copy that stands for a container from outside; none for others.
  SourceId origin_of(PyObject* copy) const;
  // A number that only says which object something is must not live on.
  void note_identity(PyObject* object, PyObject* number);
  bool is_identity_number(PyObject* number) const { return identity_numbers_.contains(number); }

  // A container from outside, as a fresh one whose items were read; anything else as it is.
  Owned localized(PyObject* object);
  // The same for containers in containers.
  Owned localized_deep(PyObject* object);
  Owned read_list_item(PyObject* list, Py_ssize_t index);
  Owned read_tuple_item(PyObject* tuple, Py_ssize_t index);
  // dict.__getitem__ without its error: `found` stays null where there is no such key.
  bool look_up(PyObject* dict, PyObject* key, Owned& found);

  // Attributes as the interpreter finds them. With `method` a function of the type comes with its
  // `self` apart.
  bool load_attribute(PyObject* owner, PyObject* name, bool method, Owned& value, Owned& self);
  Owned get_attribute(PyObject* owner, PyObject* name);
  bool store_attribute(PyObject* owner, PyObject* name, PyObject* value);  // null value: delete
  // object.__getattribute__ and object.__setattr__.
  bool load_generic(PyObject* owner, PyObject* name, bool method, Owned& value, Owned& self);
  bool store_generic(PyObject* owner, PyObject* name, PyObject* value);
  // What a type and its bases have under a name, guarded; null without exception: nothing.
  PyObject* class_attribute(PyTypeObject* type, PyObject* name, SourceId* source = nullptr);
  Owned instance_dict(PyObject* owner);

  Owned call(PyObject* callable, const Arguments& arguments);
  Owned call_one(PyObject* callable, PyObject* argument);
  // A torch function or method as one node.
  Owned call_torch(CapturedNode::Kind kind, PyObject* callable, PyObject* target,
                   const Arguments& arguments);
  // C code that only looks at what it is given, containers from outside replaced by fresh ones.
  Owned call_pure(PyObject* callable, const Arguments& arguments);
  // Runs without interpreting what it enters.
  Owned call_natively(PyObject* callable, const Arguments& arguments);
  Owned unbind(PyObject* tensor);
  // A torch function that sets a mode of the thread.
  Owned call_mode(PyObject* callable, const Arguments& arguments);
  std::optional<bool> truth(PyObject* object);  // nullopt: an exception is set
  std::optional<bool> contains(PyObject* container, PyObject* item);
  Owned binary(int operation, PyObject* left, PyObject* right);
  Owned plain_example(PyObject* symbolic) const;
  // Ends the trace before an object is made whose `__del__` the trace would run. True: it did.
  bool refuses_finalizer(PyTypeObject* type);
  Owned is_instance(PyObject* object, PyObject* types, bool subclass);
  // ABCMeta's own answer. nullopt: an exception is set.
  std::optional<bool> check_abstract(PyObject* object, PyObject* type, bool subclass);
  bool identical(PyObject* left, PyObject* right);
  // The same for numbers, one of which is symbolic. nullopt: an exception is set.
  std::optional<bool> is_same_number(PyObject* left, PyObject* right);

  // Guards what a container's own length is, as the base class has it.
  void read_length(PyObject* container);
  // Guards what a class says of truth or length (`methods`, by order). True: in code of Python, or
  // the trace has stopped.
  bool has_own_answer(PyObject* object, std::initializer_list<const char*> methods);
  bool has_own_method(PyObject* object, const char* name);
  bool has_method_of(PyObject* object, const char* name, PyTypeObject* type);
  bool writes_as_dict(PyObject* container, const char* method);
  // A container from outside whose class iterates in a way of its own.
  bool has_own_iterator(PyObject* object);
  bool before_write(PyObject* container);   // a dict, list, set or cell; false: stopped
  bool ends_with_finalizer(PyObject* old);  // true: stopped
  bool before_dict_write(PyObject* dict, PyObject* key, bool deletes = false);
  bool before_whole_write(PyObject* dict);
  void guard_written_apart();
  const Library& known() const { return known_; }
  CaptureResult& result() { return result_; }
  GuardBook& guards() { return guards_; }
  Journal& journal() { return journal_; }
  Recorder& recorder() { return recorder_; }
  TensorTrace& tensors() { return tensors_; }
  PyObject* real_of(PyObject* fake) const;
  bool is_fresh_function(PyObject* function) const { return fresh_functions_.contains(function); }
  PyObject* keep(Owned object);

 private:
  using Handler = Flow (Tracer::*)(Activation&, const Instruction&);
  struct Handlers;
  struct Mark;
  friend struct Handlers;

  // instructions_*.cpp
  Flow load_fast(Activation&, const Instruction&);
  Flow store_fast(Activation&, const Instruction&);
  Flow delete_fast(Activation&, const Instruction&);
  Flow make_cell(Activation&, const Instruction&);
  Flow copy_free_vars(Activation&, const Instruction&);
  Flow load_deref(Activation&, const Instruction&);
  Flow store_deref(Activation&, const Instruction&);
  Flow load_global(Activation&, const Instruction&);
  Flow store_global(Activation&, const Instruction&);
  Flow load_attr(Activation&, const Instruction&);
  Flow load_super_attr(Activation&, const Instruction&);
  Flow store_attr(Activation&, const Instruction&);
  Flow delete_attr(Activation&, const Instruction&);
  Flow import_name(Activation&, const Instruction&);
  Flow import_from(Activation&, const Instruction&);
  Flow binary_op(Activation&, const Instruction&);
  Flow unary_op(Activation&, const Instruction&);
  Flow unary_not(Activation&, const Instruction&);
  Flow compare_op(Activation&, const Instruction&);
  Flow is_op(Activation&, const Instruction&);
  Flow contains_op(Activation&, const Instruction&);
  Flow binary_subscr(Activation&, const Instruction&);
  Flow store_subscr(Activation&, const Instruction&);
  Flow delete_subscr(Activation&, const Instruction&);
  Flow slice_op(Activation&, const Instruction&);
  Flow grow(Activation&, const Instruction&);
  Flow local_top(Activation&, const Instruction&);  // its top operand is looked into by C code
  Flow format(Activation&, const Instruction&);
  Flow jump_on_truth(Activation&, const Instruction&);
  Flow get_iter(Activation&, const Instruction&);
  Flow for_iter(Activation&, const Instruction&);
  Flow unpack(Activation&, const Instruction&);
  Flow call_op(Activation&, const Instruction&);
  Flow call_function_ex(Activation&, const Instruction&);
  Flow make_function(Activation&, const Instruction&);
  Flow before_with(Activation&, const Instruction&);
  Flow raise(Activation&, const Instruction&);
  Flow return_generator(Activation&, const Instruction&);
  Flow unsupported_op(Activation&, const Instruction&);

  Flow abort(Activation& activation);
  bool decline();
  bool read_self(Activation& activation);
  Owned torch_call_failed();
  Owned require_grad(const Arguments& arguments);
  Owned lazy_bit_is_asked();
  bool asks_how_held(PyObject* function);  // true: stopped
  std::optional<Owned> call_without_node(PyObject* name, const Arguments& arguments);
  void enter_root(const Frame& frame);
  void prepare_function(PyFunctionObject* function);
  bool introduce(const Frame& frame);
  bool introduce_from_class(PyTypeObject* type, PyObject* function, PyObject* name);
  void describe_break(Activation& activation, const Instruction& instruction);
  bool describe_slots(Activation& activation);
  void try_exit(Activation& activation, const Instruction& instruction);
  bool describe_modes();
  bool take_pending(Activation& activation, int slot);
  std::string here() const;
  const Mark* user_mark();
  void locate(CapturedNode& node);
  void locate(Guard& guard);

  Owned substitute(PyObject* tensor, SourceId source);
  bool is_made_anew(PyObject* object, SourceId source) const;
  Owned read_function(PyFunctionObject* function, SourceId source);
  Owned symbolic_integer(PyObject* value, SourceId source);
  TensorTrace::Symbols choose_symbols(PyObject* tensor, SourceId source, TensorFacts& facts);
  Owned localized_dict(PyObject* dict);
  Owned local_copy(PyObject* container);
  Owned missing_item(PyObject* dict, PyObject* key);
  bool write_slot(PyObject* owner, PyObject* name, PyObject* slot);
  bool load_tensor_attribute(PyObject* owner, PyObject* name, bool method, Owned& value,
                             Owned& self);
  bool load_type_attribute(PyObject* owner, PyObject* name, Owned& value);
  bool load_as_type(PyObject* owner, PyObject* name, bool own_meta, Owned& value);
  bool load_from_class(PyObject* found, SourceId source, PyObject* owner, PyObject* name,
                       Owned& value);
  bool load_from_metaclass(PyObject* found, SourceId source, PyObject* owner, PyObject* name,
                           Owned& value);
  bool load_enum_member(PyObject* owner, PyObject* name, bool method, Owned& value, Owned& self);
  bool load_natively(PyObject* owner, PyObject* name, Owned& value);
  bool is_enum_member(PyObject* object) const {
    return PyType_IsSubtype(Py_TYPE(Py_TYPE(object)), known_.enum_type) != 0;
  }
  Owned call_enum(PyObject* type, const Arguments& arguments);
  Owned item_of_singleton(PyObject* container, PyObject* key);
  bool has_own_metaclass(PyObject* type);
  bool is_of_library(PyObject* function) const;
  Owned outside_of(PyObject* object) const;
  std::optional<bool> check_class(PyObject* object, PyObject* types, bool subclass);
  std::optional<bool> check_natively(PyObject* object, PyObject* types, bool subclass);
  bool follow_subclass_hook(PyObject* type, PyObject* candidate);
  void note_refusal(PyObject* type, PyObject* object, bool subclass);
  bool settle_refusals();
  bool load_function_attribute(PyObject* owner, PyObject* name, Owned& value);
  bool load_module_attribute(PyObject* owner, PyObject* name, Owned& value);
  bool load_super_attribute(PyObject* owner, PyObject* name, bool method, Owned& value,
                            Owned& self);
  bool load_from_descriptor(PyObject* descriptor, SourceId source, PyObject* owner, PyObject* name,
                            bool method, Owned& value, Owned& self);
  bool load_from_c_descriptor(PyObject* descriptor, PyObject* owner, PyObject* name, Owned& value);
  bool load_partial_attribute(PyObject* owner, PyObject* name, Owned& value);
  bool load_object_attribute(PyObject* owner, PyObject* name, bool method, Owned& value,
                             Owned& self);
  bool load_nn_module_attribute(PyObject* owner, PyObject* dict, PyObject* name, Owned& value);
  bool missing_attribute(PyObject* owner, PyObject* name, Owned& value);

  Owned call_original(PyObject* callable, const Arguments& arguments);
  Owned call_function(PyObject* function, const Arguments& arguments);
  Owned call_c_function(PyObject* function, const Arguments& arguments);
  Owned call_type(PyTypeObject* type, const Arguments& arguments);
  Owned call_nn_module(PyObject* module, const Arguments& arguments, bool& handled);
  Owned call_partial(PyObject* partial, const Arguments& arguments);
  Owned call_lru_cache(PyObject* wrapper, const Arguments& arguments);
  Owned call_weak_reference(PyObject* reference);
  Owned call_outside(PyObject* callable, const Arguments& arguments);
  Owned call_with_self(PyObject* callable, PyObject* self, const Arguments& arguments);
  bool to_argument(PyObject* value, NodeArgument& argument);

  CaptureResult& result_;
  TensorTrace& tensors_;
  const Library& known_;
  TracerLimits limits_;
  GuardBook guards_;
  Journal journal_;
  Recorder recorder_;

  std::unordered_map<PyObject*, SourceId> sources_;
  std::unordered_map<PyObject*, PyObject*> fakes_;  // of real tensors
  std::unordered_map<PyObject*, PyObject*> reals_;  // of fakes
  std::unordered_map<PyTypeObject*, Kind> kinds_;
  std::unordered_map<PyCodeObject*, bool> library_code_;
  std::unordered_map<PyTypeObject*, SourceId> type_sources_;
  std::unordered_set<PyObject*> fresh_functions_;
  std::unordered_set<PyObject*> prepared_functions_;
  std::vector<PyFunctionObject*> functions_by_code_;  // from outside
  struct Refusal {  // the object, or class, is none of the abstract class
    PyObject* type;
    PyObject* object;
    bool subclass;
  };
  std::vector<Refusal> refused_;
  std::int64_t refused_at_ = 0;  // abc_token()
  std::unordered_set<PyObject*> identity_numbers_;
  std::unordered_set<std::uint32_t> read_sources_;
  std::unordered_map<std::uint32_t, PyObject*> integers_;  // symbolic ones, by source
  std::vector<PyObject*> identified_;  // objects from outside whose ids were compared
  std::vector<Owned> kept_;
  std::vector<Owned> local_copies_;  // of containers from outside, with what they were made of
  std::vector<SourceId> modules_;    // whose forward runs, the innermost last

  _PyInterpreterFrame* root_ = nullptr;
  std::vector<bool> pending_;  // variables of the root frame that have not been read yet
  bool any_pending_ = false;
  Mark* mark_ = nullptr;  // the innermost frame that is interpreted
  std::int64_t root_boundaries_ = 0;
  std::int64_t last_exit_ = -1;
  Owned handled_;  // exception, at the start
  std::size_t instructions_ = 0;
  std::uint64_t ops_seen_ = 0;
  int native_depth_ = 0;
  bool stopping_ = false;
  bool reached_stop_ = false;
  bool break_raises_ = false;
  Error reason_;
  const DynamoMarks marks_;
};

}  // namespace triptych::capture
