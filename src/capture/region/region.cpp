#include "capture/region/region.h"

#include <algorithm>
#include <chrono>

#include "capture/guards/state_word.h"
#include "capture/region/call_buffers.h"
#include "capture/region/module_call.h"
#include "capture/region/stance.h"

namespace triptych::capture {
namespace {

FrameState start_of(PyObject* function, const std::vector<PyObject*>& slots) {
  FrameState state;
  state.function = Owned::copy(function);
  for (PyObject* value : slots) state.slots.push_back(Owned::copy(value));
  return state;
}

GuardContext start_context(PyObject* function, const std::vector<PyObject*>& slots) {
  GuardContext context;
  context.slots = slots.data();
  context.slot_count = slots.size();
  context.function = function;
  context.state = read_state();
  return context;
}

}  // namespace

Region::Region(Owned function, Owned self, RegionOptions options, std::unique_ptr<RegionHost> host)
    : function_(std::move(function)),
      self_(std::move(self)),
      host_(std::move(host)),
      options_(options) {}

PyObject* Region::call(PyObject* const* arguments, Py_ssize_t positional, PyObject* keyword_names) {
  if (!self_) return call_bound(arguments, positional, keyword_names);
  const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  constexpr Py_ssize_t kFew = 12;
  if (positional + keywords <= kFew) {
    PyObject* with_self[kFew + 1];
    with_self[0] = self_.get();
    std::copy_n(arguments, positional + keywords, with_self + 1);
    return call_bound(with_self, positional + 1, keyword_names);
  }
  std::vector<PyObject*> with_self{self_.get()};
  with_self.insert(with_self.end(), arguments, arguments + positional + keywords);
  return call_bound(with_self.data(), positional + 1, keyword_names);
}

PyObject* Region::call_bound(PyObject* const* arguments, Py_ssize_t positional,
                             PyObject* keyword_names) {
  if (is_capturing() || current_stance() == Stance::kForceEager)
    return call_eagerly(arguments, positional, keyword_names);
  BufferLease buffers;
  auto* const function = reinterpret_cast<PyFunctionObject*>(function_.get());
  if (!buffers->bound.bind(function, arguments, positional, keyword_names)) {
    PyErr_Clear();
    return call_eagerly(arguments, positional, keyword_names);
  }
  const std::vector<PyObject*>& slots = buffers->bound.slots();
  GuardContext context = start_context(function_.get(), slots);
  std::shared_ptr<const Entry> entry = entries_.find(context, buffers->values);
  if (entry == nullptr) {
    if (options_.is_module && hooked_call_ && !calls_forward_only(self_.get(), function_.get())) {
      return PyObject_Vectorcall(hooked_call_.get(), arguments + 1,
                                 static_cast<std::size_t>(positional - 1), keyword_names);
    }
    entry =
        entries_.add(context, start_of(function_.get(), slots), options_, *host_, buffers->values);
    if (entry == nullptr) {
      if (PyErr_Occurred() != nullptr) return nullptr;
      return call_eagerly(arguments, positional, keyword_names);
    }
  }
  RegionEnd end = entry->run(buffers->values, function_.get(), *host_);
  if (end.program_runs) return call_eagerly(arguments, positional, keyword_names);
  return finish(std::move(end));
}

double Region::time_dispatch(PyObject* const* arguments, Py_ssize_t positional, int times) {
  auto* const function = reinterpret_cast<PyFunctionObject*>(function_.get());
  std::vector<PyObject*> all(arguments, arguments + positional);
  if (self_) all.insert(all.begin(), self_.get());
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < times; ++k) {
    BufferLease buffers;
    if (!buffers->bound.bind(function, all.data(), static_cast<Py_ssize_t>(all.size()), nullptr)) {
      PyErr_Clear();
      return -1;
    }
    GuardContext context = start_context(function_.get(), buffers->bound.slots());
    if (entries_.find(context, buffers->values) == nullptr) return -1;
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / times;
}

PyObject* Region::finish(RegionEnd end) {
  if (end.frame) {
    end.result = run_from_break(std::move(*end.frame), segments_, options_, *host_);
  }
  return end.result.release();
}

PyObject* Region::call_eagerly(PyObject* const* arguments, Py_ssize_t positional,
                               PyObject* keyword_names) {
  ++eager_calls_;
  if (options_.is_module) {
    return PyObject_Vectorcall(self_.get(), arguments + 1, static_cast<std::size_t>(positional - 1),
                               keyword_names);
  }
  return PyObject_Vectorcall(function_.get(), arguments, static_cast<std::size_t>(positional),
                             keyword_names);
}

void Region::reset() {
  entries_.reset();
  segments_.clear();
}

int Region::traverse(visitproc visit, void* arg) const {
  Py_VISIT(function_.get());
  Py_VISIT(self_.get());
  Py_VISIT(hooked_call_.get());
  if (const int result = host_->traverse(visit, arg); result != 0) return result;
  if (const int result = segments_.traverse(visit, arg); result != 0) return result;
  return entries_.traverse(visit, arg);
}

}  // namespace triptych::capture
