// Instructions that read or write variables, attributes and globals.
#include <utility>

#include "capture/interpreter/errors.h"
#include "capture/trace/handlers.h"

namespace triptych::capture {
Flow Tracer::load_fast(Activation& a, const Instruction& i) {
  if (any_pending_ && a.frame().get() == root_ && !take_pending(a, i.arg)) return Flow::kRaise;
  return semantics::run(a, i);
}

Flow Tracer::store_fast(Activation& a, const Instruction& i) {
  if (ends_with_finalizer(a.local(i.arg))) return Flow::kRaise;
  if (any_pending_ && a.frame().get() == root_) pending_[i.arg] = false;
  return semantics::run(a, i);
}

Flow Tracer::delete_fast(Activation& a, const Instruction& i) {
  if (ends_with_finalizer(a.local(i.arg))) return Flow::kRaise;
  return load_fast(a, i);
}

// A parameter that becomes a cell: what it is, is read now.
Flow Tracer::make_cell(Activation& a, const Instruction& i) { return load_fast(a, i); }

Flow Tracer::copy_free_vars(Activation& a, const Instruction& i) {
  const Flow flow = semantics::run(a, i);
  PyFunctionObject* function = a.frame().function();
  const SourceId source = source_of(reinterpret_cast<PyObject*>(function));
  if (!source || function->func_closure == nullptr) return flow;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(function->func_closure); ++k) {
    PyObject* cell = PyTuple_GET_ITEM(function->func_closure, k);
    if (!is_external(cell))
      remember(cell, result_.sources.item(SourceKind::kClosureCell, source, k));
  }
  return flow;
}

Flow Tracer::load_deref(Activation& a, const Instruction& i) {
  if (any_pending_ && a.frame().get() == root_ && !take_pending(a, i.arg)) return Flow::kRaise;
  PyObject* cell = a.local(i.arg);
  const SourceId source = cell == nullptr ? SourceId{} : source_of(cell);
  if (!source || journal_.written(cell)) return semantics::run(a, i);
  const SourceId contents = result_.sources.step(SourceKind::kCellContents, source);
  PyObject* found = PyCell_GET(cell);
  if (found == nullptr) {
    guards_.absent(contents);
    return semantics::run(a, i);
  }
  Owned value = read(found, contents);
  if (!value) return Flow::kRaise;
  a.push(std::move(value));
  return Flow::kNext;
}

Flow Tracer::store_deref(Activation& a, const Instruction& i) {
  if (any_pending_ && a.frame().get() == root_ && !take_pending(a, i.arg)) return Flow::kRaise;
  PyObject* cell = a.local(i.arg);
  if (cell != nullptr && is_external(cell) && !before_write(cell)) return Flow::kRaise;
  return semantics::run(a, i);
}

Flow Tracer::load_global(Activation& a, const Instruction& i) {
  PyObject* name = a.name(i.arg);
  PyObject* globals = a.frame().globals();
  if (!is_external(globals))
    return stop_flow("break.globals", "a function whose globals are made while tracing");
  Owned value;
  if (!PyDict_CheckExact(globals) || !look_up(globals, name, value)) {
    if (PyErr_Occurred()) return Flow::kRaise;
    return stop_flow("break.globals", "globals that are no plain dict");
  }
  if (!value) {
    PyObject* builtins = a.frame().builtins();
    if (!is_external(builtins) || !PyDict_CheckExact(builtins))
      return stop_flow("break.globals", "builtins that are no plain dict");
    if (!look_up(builtins, name, value)) return Flow::kRaise;
  }
  if (!value) return raise_name_error(name);
  if (i.flags && PY_VERSION_HEX < 0x030d0000) a.push({});
  a.push(std::move(value));
  if (i.flags && PY_VERSION_HEX >= 0x030d0000) a.push({});
  return Flow::kNext;
}

Flow Tracer::store_global(Activation& a, const Instruction& i) {
  PyObject* globals = a.frame().globals();
  if (i.op == Op::kDeleteGlobal) {
    Owned found;
    if (!look_up(globals, a.name(i.arg), found)) return Flow::kRaise;
  }
  if (!before_dict_write(globals, a.name(i.arg), i.op == Op::kDeleteGlobal)) return Flow::kRaise;
  return semantics::run(a, i);
}

Flow Tracer::load_attr(Activation& a, const Instruction& i) {
  Owned value, self;
  if (!load_attribute(a.peek(), a.name(i.arg), i.flags != 0, value, self)) return Flow::kRaise;
  const Owned owner = a.pop();
  if (i.flags) {
    push_callable(a, std::move(value), std::move(self));
  } else {
    a.push(std::move(value));
  }
  return Flow::kNext;
}

// super().name, of 3.12: the object that CPython leaves out is made.
Flow Tracer::load_super_attr(Activation& a, const Instruction& i) {
  constexpr int kMethod = 1, kTwoArguments = 2;
  if (a.peek(3) != reinterpret_cast<PyObject*>(&PySuper_Type))
    return stop_flow("break.instruction", "super is another name here");
  PyObject* arguments[] = {a.peek(2), a.peek(1)};
  const Owned super = Owned::steal(
      PyObject_Vectorcall(a.peek(3), arguments, (i.flags & kTwoArguments) != 0 ? 2 : 0, nullptr));
  Owned value, self;
  const bool method = (i.flags & kMethod) != 0;
  if (!super || !load_attribute(super.get(), a.name(i.arg), method, value, self))
    return Flow::kRaise;
  a.drop(3);
  if (method) {
    push_callable(a, std::move(value), std::move(self));
  } else {
    a.push(std::move(value));
  }
  return Flow::kNext;
}

Flow Tracer::store_attr(Activation& a, const Instruction& i) {
  if (!store_attribute(a.peek(1), a.name(i.arg), a.peek(2))) return Flow::kRaise;
  a.drop(2);
  return Flow::kNext;
}

Flow Tracer::delete_attr(Activation& a, const Instruction& i) {
  if (!store_attribute(a.peek(), a.name(i.arg), nullptr)) return Flow::kRaise;
  a.drop(1);
  return Flow::kNext;
}

// A module that is loaded already, under its own name.
Flow Tracer::import_name(Activation& a, const Instruction& i) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* name = a.name(i.arg);
  PyObject* level = a.peek(2);
  if (PyLong_Check(level) && PyLong_AsLong(level) == 0 &&
      PyDict_GetItemWithError(modules, name) == nullptr)
    return stop_flow("break.import", std::string("an import of ") + PyUnicode_AsUTF8(name) +
                                         ", which is not loaded yet");
  ++native_depth_;
  const Flow flow = semantics::run(a, i);
  --native_depth_;
  if (flow != Flow::kNext) return flow;
  PyObject* module = a.peek();
  if (!PyModule_Check(module)) return stop_flow("break.import", "an import of what is no module");
  if (!is_external(module)) remember(module, result_.sources.constant(module));
  return flow;
}

Flow Tracer::import_from(Activation& a, const Instruction& i) {
  Owned value = get_attribute(a.peek(), a.name(i.arg));
  if (!value) {
    if (stopping_ || !PyErr_ExceptionMatches(PyExc_AttributeError)) return Flow::kRaise;
    PyErr_Clear();
    return stop_flow("break.import", "an import of a submodule that is not loaded yet");
  }
  a.push(std::move(value));
  return Flow::kNext;
}

Flow Tracer::make_function(Activation& a, const Instruction& i) {
  const Flow flow = semantics::run(a, i);
  if (flow != Flow::kNext) return flow;
  PyObject* function = a.peek();
  keep(Owned::copy(function));
  fresh_functions_.insert(function);
  return flow;
}

// An exception from outside would keep the traceback and context that raising it here gives it.
Flow Tracer::raise(Activation& a, const Instruction& i) {
  PyObject* exception = i.arg == 0 ? nullptr : a.peek(i.arg);
  if (exception != nullptr && PyExceptionInstance_Check(exception) && is_external(exception))
    return stop_flow("break.raise", std::string("an object of type ") +
                                        Py_TYPE(exception)->tp_name + " from outside is raised");
  return semantics::run(a, i);
}

// CPython warns of a coroutine that nobody awaited, and has hooks for asynchronous generators.
Flow Tracer::return_generator(Activation& a, const Instruction& i) {
  if (a.code()->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR))
    return stop_flow("break.call", std::string("a call of the asynchronous function ") +
                                       PyUnicode_AsUTF8(a.code()->co_qualname));
  return semantics::run(a, i);
}

Flow Tracer::unsupported_op(Activation&, const Instruction& i) {
  return stop_flow("break.instruction",
                   std::string("the instruction ") + kOpNames[static_cast<int>(i.op)]);
}

void Tracer::Handlers::add_variables(Table& table) {
  const auto set = [&](Op op, Handler handler) { table[static_cast<int>(op)] = handler; };
  set(Op::kLoadFast, &Tracer::load_fast);
  set(Op::kLoadFastAndClear, &Tracer::load_fast);
  set(Op::kLoadClosure, &Tracer::load_fast);
  set(Op::kStoreFast, &Tracer::store_fast);
  set(Op::kDeleteFast, &Tracer::delete_fast);
  set(Op::kMakeCell, &Tracer::make_cell);
  set(Op::kCopyFreeVars, &Tracer::copy_free_vars);
  set(Op::kLoadDeref, &Tracer::load_deref);
  set(Op::kStoreDeref, &Tracer::store_deref);
  set(Op::kDeleteDeref, &Tracer::store_deref);
  set(Op::kLoadGlobal, &Tracer::load_global);
  set(Op::kStoreGlobal, &Tracer::store_global);
  set(Op::kDeleteGlobal, &Tracer::store_global);
  set(Op::kLoadAttr, &Tracer::load_attr);
  set(Op::kLoadSuperAttr, &Tracer::load_super_attr);
  set(Op::kStoreAttr, &Tracer::store_attr);
  set(Op::kDeleteAttr, &Tracer::delete_attr);
  set(Op::kImportName, &Tracer::import_name);
  set(Op::kImportFrom, &Tracer::import_from);
}

void Tracer::Handlers::add_values(Table& table) {
  const auto set = [&](Op op, Handler handler) { table[static_cast<int>(op)] = handler; };
  set(Op::kBinaryOp, &Tracer::binary_op);
  for (Op op : {Op::kUnaryPositive, Op::kUnaryNegative, Op::kUnaryInvert})
    set(op, &Tracer::unary_op);
  set(Op::kUnaryNot, &Tracer::unary_not);
  set(Op::kToBool, &Tracer::unary_not);
  set(Op::kCompareOp, &Tracer::compare_op);
  set(Op::kIsOp, &Tracer::is_op);
  set(Op::kContainsOp, &Tracer::contains_op);
  set(Op::kBinarySubscr, &Tracer::binary_subscr);
  set(Op::kStoreSubscr, &Tracer::store_subscr);
  set(Op::kDeleteSubscr, &Tracer::delete_subscr);
  set(Op::kBinarySlice, &Tracer::slice_op);
  set(Op::kStoreSlice, &Tracer::slice_op);
  for (Op op : {Op::kListAppend, Op::kSetAdd, Op::kMapAdd, Op::kListExtend, Op::kSetUpdate,
                Op::kDictUpdate, Op::kDictMerge})
    set(op, &Tracer::grow);
  set(Op::kGetLen, &Tracer::local_top);
  for (Op op : {Op::kFormatValue, Op::kConvertValue, Op::kFormatSimple, Op::kFormatWithSpec})
    set(op, &Tracer::format);
  for (Op op :
       {Op::kPopJumpIfFalse, Op::kPopJumpIfTrue, Op::kJumpIfFalseOrPop, Op::kJumpIfTrueOrPop})
    set(op, &Tracer::jump_on_truth);
  set(Op::kGetIter, &Tracer::get_iter);
  set(Op::kGetYieldFromIter, &Tracer::get_iter);
  set(Op::kForIter, &Tracer::for_iter);
  set(Op::kUnpackSequence, &Tracer::unpack);
  set(Op::kUnpackEx, &Tracer::unpack);
  set(Op::kCall, &Tracer::call_op);
  set(Op::kCallKw, &Tracer::call_op);
  set(Op::kCallFunctionEx, &Tracer::call_function_ex);
  set(Op::kMakeFunction, &Tracer::make_function);
  set(Op::kBeforeWith, &Tracer::before_with);
  set(Op::kRaiseVarargs, &Tracer::raise);
  set(Op::kReturnGenerator, &Tracer::return_generator);
}

void Tracer::Handlers::add_unsupported(Table& table) {
  const auto set = [&](Op op, Handler handler) { table[static_cast<int>(op)] = handler; };
  for (Op op : {Op::kLoadName,
                Op::kStoreName,
                Op::kDeleteName,
                Op::kLoadClassderef,
                Op::kLoadLocals,
                Op::kLoadFromDictOrGlobals,
                Op::kLoadFromDictOrDeref,
                Op::kLoadBuildClass,
                Op::kSetupAnnotations,

                Op::kImportStar,
                Op::kPrintExpr,
                Op::kGetAwaitable,
                Op::kGetAiter,
                Op::kGetAnext,
                Op::kBeforeAsyncWith,
                Op::kEndAsyncFor,
                Op::kMatchClass,
                Op::kMatchKeys,
                Op::kCheckEgMatch,
                Op::kPrepReraiseStar})
    set(op, &Tracer::unsupported_op);
}

const Tracer::Handlers::Table& Tracer::Handlers::table() {
  static const Table handlers = [] {
    Table table{};
    add_variables(table);
    add_values(table);
    add_unsupported(table);
    return table;
  }();
  return handlers;
}

}  // namespace triptych::capture
