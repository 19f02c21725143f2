// Tiny code objects that CPython's own evaluator runs for us: one instruction of its own on
// operands of ours. They have no RESUME, so their frames count as incomplete: no traceback entry,
// not seen by sys._getframe or stack walks.
#pragma once

#include <Python.h>

#include <span>

#include "capture/interpreter/reference.h"

namespace triptych::capture {

// Runs the raw instruction with the operands on its stack, `globals` being the running frame's, and
// gives what it left there: the value, or a tuple of `results` values. Null: an exception is set.
Owned run_native_instruction(int raw_opcode, int oparg, std::span<const Borrowed> operands,
                             Borrowed globals, int results = 1, Borrowed name = {});

// Lets CPython's evaluator do all that it does between instructions. False: an exception is set.
bool run_interrupt_point();

// Code of ours, to be left to CPython's evaluator.
bool is_native_code(PyCodeObject* code);

}  // namespace triptych::capture
