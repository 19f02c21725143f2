// Guards and their failures in words.
#include "capture/guards/guard_program.h"
#include "capture/guards/plain_value.h"
#include "capture/guards/state_word.h"
#include "capture/guards/tensor_facts.h"

namespace triptych::capture {
namespace {

// What the guard expects; null when it died.
PyObject* expected_object(const Guard& guard) {
  if (!guard.weak) return guard.object.get();
  PyObject* const target = weak_target(reinterpret_cast<PyWeakReference*>(guard.object.get()));
  return target == Py_None ? nullptr : target;
}

std::string expected_text(const Guard& guard) {
  PyObject* const object = expected_object(guard);
  if (object == nullptr) return guard.weak ? "an object that is gone" : "";
  if (guard.kind == GuardKind::kType) return reinterpret_cast<PyTypeObject*>(object)->tp_name;
  return plain_text(object);
}

std::string length_text(PyObject* object) {
  const Py_ssize_t length = length_of(object);
  return length < 0 ? "none" : std::to_string(length);
}

std::string sources_text(const Guard& guard, const SourceArena& sources) {
  std::string text = sources.text(guard.source);
  for (const SourceId other : guard.others) text += ", " + sources.text(other);
  return text;
}

}  // namespace

std::string guard_text(const Guard& guard, const SourceArena& sources) {
  const std::string source = guard.source ? sources.text(guard.source) : std::string();
  const std::string object = expected_text(guard);
  switch (guard.kind) {
    case GuardKind::kIs:
      return source + " is " + object;
    case GuardKind::kType:
      return "type(" + source + ") is " + object;
    case GuardKind::kEquals:
      return source + " == " + object;
    case GuardKind::kLength:
      return "len(" + source + ") == " + std::to_string(guard.number);
    case GuardKind::kKeys:
      return "list(" + source + ") == list(" + object + ")";
    case GuardKind::kHasKey:
      return object + " in " + source;
    case GuardKind::kLacksKey:
      return object + " not in " + source;
    case GuardKind::kAbsent:
      return "no " + source;
    case GuardKind::kTensor:
      return source + ": " + tensor_text(*guard.tensor);
    case GuardKind::kState:
      return "the thread's modes are as they were";
    case GuardKind::kSame:
      return "same object: " + sources_text(guard, sources);
    case GuardKind::kDistinct:
      return "different objects: " + sources_text(guard, sources);
    case GuardKind::kDisjoint:
      return "no common memory: " + sources_text(guard, sources);
    case GuardKind::kAbcToken:
      return "no class was registered with an abstract one";
  }
  return source;
}

std::string GuardProgram::check_failure_text(const Guard& guard,
                                             const GuardContext& context) const {
  if (guard.kind == GuardKind::kAbcToken) return "a class was registered with an abstract one";
  if (guard.kind == GuardKind::kState) return state_change(guard.state, context.state);
  const std::string source = sources_->text(guard.source);
  PyObject* const value = context.registers[register_of_source_[guard.source.index]];
  if (guard.kind == GuardKind::kAbsent) return source + " is there now: " + plain_text(value);
  if (value == nullptr) return source + " is gone";
  switch (guard.kind) {
    case GuardKind::kType:
      return "type(" + source + ") changed: " + expected_text(guard) + " -> " +
             Py_TYPE(value)->tp_name;
    case GuardKind::kIs:
    case GuardKind::kEquals:
      return source + " changed: " + expected_text(guard) + " -> " + plain_text(value);
    case GuardKind::kLength:
      return "len(" + source + ") changed: " + std::to_string(guard.number) + " -> " +
             length_text(value);
    case GuardKind::kTensor:
      return source + tensor_change(*guard.tensor, value);
    case GuardKind::kKeys:
      return "the keys of " + source + " changed";
    case GuardKind::kHasKey:
    case GuardKind::kLacksKey:
    case GuardKind::kSame:
    case GuardKind::kDistinct:
    case GuardKind::kDisjoint:
    case GuardKind::kAbsent:
    case GuardKind::kState:
    case GuardKind::kAbcToken:
      break;
  }
  return "no longer: " + guard_text(guard, *sources_);
}

std::string GuardProgram::failure_text(const GuardStep& step, const GuardContext& context) const {
  if (step.is_load) return sources_->text(register_sources_[step.to]) + " is gone";
  if (step.guard < guards_.guards.size()) {
    return check_failure_text(guards_.guards[step.guard], context);
  }
  for (const InputSymbol& symbol : guards_.symbols) {
    if (step.b.data == &symbol) {
      return "size " + symbol.name + " (" + sources_->text(symbol.source) + ") is out of range";
    }
  }
  const SizeRelations& relations = data_.relations.front();
  const int broken = relations.first_broken(context.symbols);
  return "no longer: " + (broken < 0 ? std::string("a relation") : relations.text(broken));
}

std::vector<std::string> GuardProgram::texts() const {
  std::vector<std::string> lines;
  for (const Guard& guard : guards_.guards) lines.push_back(guard_text(guard, *sources_));
  for (const SizeRelations& relations : data_.relations) {
    for (std::size_t k = 0; k < relations.size(); ++k) {
      lines.push_back(relations.text(static_cast<int>(k)));
    }
  }
  return lines;
}

}  // namespace triptych::capture
