// One step of a guard program: a load into a register, or a check. Registers hold borrowed
// references: nothing that a step does can run a user's code.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "capture/guards/guard.h"

namespace triptych::capture {

// What one run of a program sees and fills.
struct GuardContext {
  PyObject* const* slots = nullptr;  // variables of the frame
  std::size_t slot_count = 0;
  PyObject* const* stack = nullptr;  // operands, from the bottom
  std::size_t stack_count = 0;
  PyObject* function = nullptr;
  StateWord state;
  PyObject** registers = nullptr;
  std::int64_t* symbols = nullptr;
};

struct GuardStep;
// False: the guard fails, or there is nothing to load from.
using RunStep = bool (*)(const GuardStep&, GuardContext&);

union StepPayload {
  std::int64_t number;
  std::uint64_t bits;
  PyObject* object;
  PyWeakReference* weak;
  const void* data;  // of the kind that the step function knows
};

struct GuardStep {
  RunStep run = nullptr;
  std::uint32_t to = 0;    // loads: the register that is set
  std::uint32_t from = 0;  // the register that is looked at
  std::uint32_t guard = 0;
  bool is_load = false;
  bool from_source = false;         // loads: `from` counts
  bool from_instance_dict = false;  // `from` may be null: the object has no dict yet
  bool repeated = false;            // symbols: it has a value already, which this must be
  StepPayload a{}, b{};
};

using RegisterList = std::vector<std::uint32_t>;

// An object to be recognised. Not kept alive where it can be referenced weakly.
class Expected {
 public:
  explicit Expected(PyObject* object);
  bool is_weak() const { return weak_; }
  // Null once the object died.
  PyObject* get() const;
  PyObject* holder() const { return holder_.get(); }  // the object, or its weak reference

 private:
  Owned holder_;
  bool weak_ = false;
};

// The object that a weak reference names; None once it died.
inline PyObject* weak_target(const PyWeakReference* weak) { return weak->wr_object; }

}  // namespace triptych::capture
