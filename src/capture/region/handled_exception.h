// What the thread handles (`sys.exc_info()`) is after a call what it was before, wherever in an
// `except` block a frame was left.
#pragma once

#include <Python.h>

#include "capture/interpreter/thread_state.h"

namespace triptych::capture {

class HandledExceptionKept {
 public:
  HandledExceptionKept() : thread_(PyThreadState_Get()) {
    before_ = swap_handled_exception(thread_, Owned());
    swap_handled_exception(thread_, Owned::copy(before_.get()));
  }
  ~HandledExceptionKept() { swap_handled_exception(thread_, std::move(before_)); }
  HandledExceptionKept(const HandledExceptionKept&) = delete;
  HandledExceptionKept& operator=(const HandledExceptionKept&) = delete;

 private:
  PyThreadState* thread_;
  Owned before_;
};

}  // namespace triptych::capture
