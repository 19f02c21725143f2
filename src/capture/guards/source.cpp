#include "capture/guards/source.h"

#include <cctype>
#include <functional>

#include "capture/guards/plain_value.h"

namespace triptych::capture {
namespace {

bool is_identifier(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (const char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

bool is_number(const std::string& text) {
  for (const char c : text) {
    if (!std::isdigit(static_cast<unsigned char>(c))) return false;
  }
  return !text.empty();
}

std::string key_name(const Owned& key) {
  return PyUnicode_Check(key.get()) ? utf8(key.borrow()) : std::string();
}

bool is_step(const Source& node, SourceKind kind) { return node.kind == kind; }

// What a module keeps its parts in, by name.
bool holds_parts(const std::string& name) {
  return name == "_modules" || name == "_parameters" || name == "_buffers";
}

const char* step_suffix(SourceKind kind) {
  switch (kind) {
    case SourceKind::kInstanceDict:
      return ".__dict__";
    case SourceKind::kCellContents:
      return ".cell_contents";
    case SourceKind::kFunctionCode:
      return ".__code__";
    case SourceKind::kFunctionGlobals:
      return ".__globals__";
    case SourceKind::kFunctionBuiltins:
      return ".__builtins__";
    case SourceKind::kFunctionDefaults:
      return ".__defaults__";
    case SourceKind::kFunctionKwDefaults:
      return ".__kwdefaults__";
    case SourceKind::kMethodSelf:
      return ".__self__";
    case SourceKind::kMethodFunction:
      return ".__func__";
    case SourceKind::kPartialFunction:
      return ".func";
    case SourceKind::kPartialArguments:
      return ".args";
    case SourceKind::kPartialKeywords:
      return ".keywords";
    case SourceKind::kPropertyGetter:
      return ".fget";
    case SourceKind::kWrappedFunction:
      return ".__func__";
    case SourceKind::kTensorGrad:
      return ".grad";
    case SourceKind::kSlot:
    case SourceKind::kStack:
    case SourceKind::kFunction:
    case SourceKind::kConstant:
    case SourceKind::kDictItem:
    case SourceKind::kListItem:
    case SourceKind::kTupleItem:
    case SourceKind::kMemberSlot:
    case SourceKind::kType:
    case SourceKind::kClassAttribute:
    case SourceKind::kClosureCell:
      return "";
  }
  return "";
}

// Objects that stand for themselves as keys of the arena: values are told apart by type and value.
bool same_object(const Owned& a, const Owned& b) {
  if (a.get() == b.get()) return true;
  if (!a || !b || Py_TYPE(a.get()) != Py_TYPE(b.get())) return false;
  return plain_equal(a.borrow(), b.borrow());
}

}  // namespace

bool is_plain_key(PyObject* key) {
  if (is_plain_value(key)) return true;
  // Equal only to itself, or compared as a string or number: no comparison runs a user's code, and
  // the hash is taken once.
  const richcmpfunc compare = Py_TYPE(key)->tp_richcompare;
  return compare == nullptr || compare == PyBaseObject_Type.tp_richcompare ||
         compare == PyUnicode_Type.tp_richcompare || compare == PyLong_Type.tp_richcompare;
}

SourceArena::SourceArena(std::vector<std::string> slot_names)
    : slot_names_(std::move(slot_names)), first_free_(slot_names_.size()) {}

SourceArena SourceArena::of_code(PyCodeObject* code) {
  std::vector<std::string> names;
  PyObject* const all = code->co_localsplusnames;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(all); ++k) {
    names.push_back(utf8(PyTuple_GET_ITEM(all, k)));
  }
  SourceArena arena(std::move(names));
  arena.first_free_ -= static_cast<std::size_t>(code->co_nfreevars);
  return arena;
}

SourceId SourceArena::find_or_add(Source source) {
  std::size_t hash = static_cast<std::size_t>(source.kind) * 1000003 + source.parent.index;
  hash = hash * 1000003 + static_cast<std::size_t>(source.number);
  hash = hash * 1000003 + static_cast<std::size_t>(source.key_hash);
  const auto [first, last] = index_.equal_range(hash);
  for (auto found = first; found != last; ++found) {
    const Source& node = nodes_[found->second];
    if (node.kind == source.kind && node.parent == source.parent && node.number == source.number &&
        same_object(node.object, source.object)) {
      return {found->second};
    }
  }
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(std::move(source));
  index_.emplace(hash, index);
  return {index};
}

SourceId SourceArena::slot(int number) { return find_or_add({SourceKind::kSlot, {}, number}); }
SourceId SourceArena::stack(int number) { return find_or_add({SourceKind::kStack, {}, number}); }
SourceId SourceArena::function() { return find_or_add({SourceKind::kFunction, {}}); }

SourceId SourceArena::constant(Borrowed object) {
  Source source{SourceKind::kConstant, {}};
  source.object = Owned::copy(object);
  source.key_hash = static_cast<Py_hash_t>(std::hash<const void*>()(object.get()));
  return find_or_add(std::move(source));
}

SourceId SourceArena::step(SourceKind kind, SourceId parent) { return find_or_add({kind, parent}); }

SourceId SourceArena::item(SourceKind kind, SourceId parent, std::int64_t number) {
  return find_or_add({kind, parent, number});
}

SourceId SourceArena::keyed(SourceKind kind, SourceId parent, Borrowed key) {
  Source source{kind, parent};
  source.key_hash = PyObject_Hash(key);
  if (source.key_hash == -1) return {};
  source.object = Owned::copy(key);
  return find_or_add(std::move(source));
}

std::string SourceArena::slot_text(std::size_t number) const {
  const std::string name =
      number < slot_names_.size() ? slot_names_[number] : std::to_string(number);
  return "L['" + name + "']";
}

std::string SourceArena::item_text(const Source& node) const {
  const Source& parent = (*this)[node.parent];
  const std::string name = key_name(node.object);
  if (is_step(parent, SourceKind::kInstanceDict) && is_identifier(name)) {
    return text(parent.parent) + "." + name;
  }
  const bool part = is_step(parent, SourceKind::kDictItem) &&
                    is_step((*this)[parent.parent], SourceKind::kInstanceDict) &&
                    holds_parts(key_name(parent.object));
  if (part) {
    const std::string owner = text((*this)[parent.parent].parent);
    if (is_number(name)) return owner + "[" + name + "]";
    if (is_identifier(name)) return owner + "." + name;
  }
  return text(node.parent) + "[" + plain_text(node.object.borrow()) + "]";
}

std::string SourceArena::root_text(const Source& node) const {
  if (node.kind == SourceKind::kSlot) return slot_text(static_cast<std::size_t>(node.number));
  if (node.kind == SourceKind::kStack) return "S[" + std::to_string(node.number) + "]";
  if (node.kind == SourceKind::kFunction) return "F";
  return plain_text(node.object.borrow());
}

std::string SourceArena::cell_text(const Source& node) const {
  const Source& cell = (*this)[node.parent];
  if (cell.kind == SourceKind::kSlot) return text(node.parent);
  const bool closure = cell.kind == SourceKind::kClosureCell;
  if (closure && (*this)[cell.parent].kind == SourceKind::kFunction) {
    return slot_text(first_free_ + static_cast<std::size_t>(cell.number));
  }
  return text(node.parent) + step_suffix(node.kind);
}

std::string SourceArena::text(SourceId id) const {
  const Source& node = (*this)[id];
  if (!node.parent) return root_text(node);
  if (node.kind == SourceKind::kDictItem) return item_text(node);
  if (node.kind == SourceKind::kCellContents) return cell_text(node);
  const std::string parent = text(node.parent);
  const std::string number = "[" + std::to_string(node.number) + "]";
  if (node.kind == SourceKind::kListItem || node.kind == SourceKind::kTupleItem) {
    return parent + number;
  }
  if (node.kind == SourceKind::kClosureCell) return parent + ".__closure__" + number;
  if (node.kind == SourceKind::kType) return "type(" + parent + ")";
  if (node.kind == SourceKind::kClassAttribute) return parent + "." + key_name(node.object);
  if (node.kind == SourceKind::kMemberSlot) {
    return parent + "." + utf8(reinterpret_cast<PyDescrObject*>(node.object.get())->d_name);
  }
  const bool own = (*this)[node.parent].kind == SourceKind::kFunction;
  if (own && node.kind == SourceKind::kFunctionGlobals) return "G";
  if (own && node.kind == SourceKind::kFunctionBuiltins) return "B";
  return parent + step_suffix(node.kind);
}

}  // namespace triptych::capture
