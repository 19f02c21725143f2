#include "capture/interpreter/code_info.h"

#include <new>

#include "capture/interpreter/cpython.h"
#include "capture/interpreter/opcode_facts.h"

namespace triptych::capture {
namespace {

std::string_view text_of(PyObject* bytes) {
  return {PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes))};
}

#if PY_VERSION_HEX < 0x030c0000
constexpr auto kRequestIndex = _PyEval_RequestCodeExtraIndex;
constexpr auto kGetExtra = _PyCode_GetExtra;
constexpr auto kSetExtra = _PyCode_SetExtra;
#else
constexpr auto kRequestIndex = PyUnstable_Eval_RequestCodeExtraIndex;
constexpr auto kGetExtra = PyUnstable_Code_GetExtra;
constexpr auto kSetExtra = PyUnstable_Code_SetExtra;
#endif

Py_ssize_t extra_index() {
  static const Py_ssize_t index =
      kRequestIndex([](void* info) { delete static_cast<CodeInfo*>(info); });
  return index;
}

Op intrinsic(int raw, int number) {
  if (raw == kRawCallIntrinsic1) {
    return number < kCallIntrinsic1Count ? kCallIntrinsic1[number] : Op::kUnknown;
  }
  return number < kCallIntrinsic2Count ? kCallIntrinsic2[number] : Op::kUnknown;
}

}  // namespace

const CodeInfo* CodeInfo::of(PyCodeObject* code) {
  const Py_ssize_t index = extra_index();
  if (index < 0) {
    PyErr_SetString(PyExc_RuntimeError, "all slots for data on code objects are taken");
    return nullptr;
  }
  void* known = nullptr;
  auto* object = reinterpret_cast<PyObject*>(code);
  if (kGetExtra(object, index, &known) < 0) return nullptr;
  if (known != nullptr) return static_cast<CodeInfo*>(known);
  const Owned bytes = Owned::steal(PyCode_GetCode(code));
  if (!bytes) return nullptr;
  auto* info = new (std::nothrow) CodeInfo(code, bytes.borrow());
  if (info == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  if (kSetExtra(object, index, info) < 0) {
    delete info;
    return nullptr;
  }
  return info;
}

CodeInfo::CodeInfo(PyCodeObject* code, Borrowed bytes)
    : exceptions_(text_of(code->co_exceptiontable)),
      locations_(text_of(code->co_linetable), code->co_firstlineno) {
  const std::string_view text = text_of(bytes);
  decode({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
}

std::int32_t CodeInfo::index_at(std::int32_t unit) const {
  const bool inside = unit >= 0 && unit < static_cast<std::int32_t>(index_of_unit_.size());
  return inside ? index_of_unit_[unit] : -1;
}

void CodeInfo::decode(std::span<const unsigned char> bytes) {
  const auto units = static_cast<std::int32_t>(bytes.size() / 2);
  index_of_unit_.assign(units, -1);
  std::vector<std::int32_t> target_units;
  std::int32_t kwnames = -1;  // set by KW_NAMES for the CALL that follows
  for (std::int32_t unit = 0; unit < units;) {
    Instruction decoded;
    decoded.start = unit;
    decoded.boundary = kwnames < 0;
    std::int32_t oparg = bytes[2 * unit + 1];
    while (bytes[2 * unit] == kRawExtendedArg && unit + 1 < units) {
      ++unit;
      oparg = (oparg << 8) | bytes[2 * unit + 1];
    }
    const int raw = bytes[2 * unit];
    const OpcodeFact& fact = kOpcodeFacts[raw];
    decoded.unit = unit;
    decoded.op = fact.op;
    decoded.arg = oparg >> fact.shift;
    decoded.flags = static_cast<std::uint8_t>((oparg & fact.flag_mask) | fact.flag_set);
    if (raw == kRawCallIntrinsic1 || raw == kRawCallIntrinsic2) decoded.op = intrinsic(raw, oparg);
    if (raw == kRawKwNames) kwnames = oparg;
    if (decoded.op == Op::kCall) decoded.kwnames = std::exchange(kwnames, -1);
    index_of_unit_[decoded.start] = static_cast<std::int32_t>(instructions_.size());
    unit += 1 + fact.caches;
    std::int32_t target = -1;
    if (fact.jump != 0) target = unit + fact.jump * oparg + fact.skip;
    if (fact.pair) decoded.arg = oparg >> 4;
    instructions_.push_back(decoded);
    target_units.push_back(target);
    if (fact.pair) {
      decoded.op = fact.second;
      decoded.arg = oparg & 15;
      decoded.boundary = false;
      instructions_.push_back(decoded);
      target_units.push_back(-1);
    }
  }
  resolve_jumps(target_units);
}

void CodeInfo::resolve_jumps(std::span<const std::int32_t> target_units) {
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    if (target_units[i] < 0) continue;
    instructions_[i].target = index_at(target_units[i]);
    // Nothing of ours may run into a place that is no instruction: CPython takes the frame before.
    if (instructions_[i].target < 0) instructions_[i].op = Op::kUnknown;
  }
}

}  // namespace triptych::capture
