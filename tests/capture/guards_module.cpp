// `_guards`: guard programs and captures put together by hand, for the tests of guards and regions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <map>

#include "capture/guards/guard_program.h"
#include "capture/guards/state_word.h"
#include "capture/guards/tensor_facts.h"
#include "region_builder.h"

namespace nb = nanobind;

namespace triptych::capture {
namespace {

const std::map<std::string, SourceKind> kSteps = {
    {"instance_dict", SourceKind::kInstanceDict},
    {"dict_item", SourceKind::kDictItem},
    {"list_item", SourceKind::kListItem},
    {"tuple_item", SourceKind::kTupleItem},
    {"member_slot", SourceKind::kMemberSlot},
    {"type", SourceKind::kType},
    {"class_attribute", SourceKind::kClassAttribute},
    {"cell_contents", SourceKind::kCellContents},
    {"closure_cell", SourceKind::kClosureCell},
    {"code", SourceKind::kFunctionCode},
    {"globals", SourceKind::kFunctionGlobals},
    {"builtins", SourceKind::kFunctionBuiltins},
    {"defaults", SourceKind::kFunctionDefaults},
    {"kwdefaults", SourceKind::kFunctionKwDefaults},
    {"method_self", SourceKind::kMethodSelf},
    {"method_function", SourceKind::kMethodFunction},
    {"partial_function", SourceKind::kPartialFunction},
    {"partial_arguments", SourceKind::kPartialArguments},
    {"partial_keywords", SourceKind::kPartialKeywords},
    {"property_getter", SourceKind::kPropertyGetter},
    {"wrapped_function", SourceKind::kWrappedFunction},
    {"grad", SourceKind::kTensorGrad},
};

const std::map<std::string, GuardKind> kGuards = {
    {"is", GuardKind::kIs},
    {"type", GuardKind::kType},
    {"equals", GuardKind::kEquals},
    {"length", GuardKind::kLength},
    {"keys", GuardKind::kKeys},
    {"has_key", GuardKind::kHasKey},
    {"lacks_key", GuardKind::kLacksKey},
    {"absent", GuardKind::kAbsent},
    {"tensor", GuardKind::kTensor},
    {"state", GuardKind::kState},
    {"same", GuardKind::kSame},
    {"distinct", GuardKind::kDistinct},
    {"disjoint", GuardKind::kDisjoint},
    {"abc_token", GuardKind::kAbcToken},
};

class Program {
 public:
  Program(std::unique_ptr<GuardProgram> program) : program_(std::move(program)) {}

  // The values of the exports, or why the call is refused.
  nb::object check(const nb::tuple& slots, nb::handle function, const nb::tuple& stack) {
    GuardContext context = made(slots, function, stack);
    std::vector<PyObject*> exported;
    if (!program_->check(context, exported)) return nb::cast(program_->explain(context).text);
    nb::list values;
    for (PyObject* value : exported) {
      values.append(value == nullptr ? nb::none() : nb::borrow(value));
    }
    return values;
  }

  std::set<std::pair<std::string, int>> changed(const nb::tuple& slots, nb::handle function) {
    GuardContext context = made(slots, function, nb::tuple());
    return program_->changed_numbers(context);
  }

  // Nanoseconds a check, reading the state included.
  double time(const nb::tuple& slots, nb::handle function, int times) {
    std::vector<PyObject*> exported;
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < times; ++k) {
      GuardContext context = made(slots, function, slots_);
      if (!program_->check(context, exported)) throw nb::value_error("the check fails");
    }
    const auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::nano>(end - begin).count() / times;
  }

  std::vector<std::string> texts() const { return program_->texts(); }
  std::size_t steps() const { return program_->steps().size(); }
  std::uint64_t shortcuts() const { return program_->shortcuts(); }

 private:
  static GuardContext made(const nb::tuple& slots, nb::handle function, const nb::tuple& stack) {
    GuardContext context;
    const auto items = [](const nb::tuple& tuple) { return &PyTuple_GET_ITEM(tuple.ptr(), 0); };
    context.slots = items(slots);
    context.slot_count = nb::len(slots);
    context.stack = items(stack);
    context.stack_count = nb::len(stack);
    context.function = function.ptr();
    context.state = read_state();
    return context;
  }

  std::unique_ptr<GuardProgram> program_;
  nb::tuple slots_;
};

class Builder {
 public:
  explicit Builder(nb::handle code)
      : sources_(std::make_shared<SourceArena>(
            SourceArena::of_code(reinterpret_cast<PyCodeObject*>(code.ptr())))) {}

  Builder(const Builder&) = delete;

  std::uint32_t slot(int number) { return sources_->slot(number).index; }
  std::uint32_t stack(int number) { return sources_->stack(number).index; }
  std::uint32_t function() { return sources_->function().index; }
  std::uint32_t constant(nb::handle object) { return sources_->constant(object.ptr()).index; }
  std::uint32_t step(const std::string& kind, std::uint32_t parent) {
    return sources_->step(kSteps.at(kind), {parent}).index;
  }
  std::uint32_t item(const std::string& kind, std::uint32_t parent, std::int64_t number) {
    return sources_->item(kSteps.at(kind), {parent}, number).index;
  }
  std::uint32_t keyed(const std::string& kind, std::uint32_t parent, nb::handle key) {
    return sources_->keyed(kSteps.at(kind), {parent}, key.ptr()).index;
  }
  std::string text(std::uint32_t source) const { return sources_->text({source}); }

  void guard(const std::string& kind, std::uint32_t source, nb::object object, std::int64_t number,
             const std::vector<std::uint32_t>& others) {
    Guard guard{kGuards.at(kind), {source}};
    if (guard.kind != GuardKind::kTensor) guard.object = Owned::copy(object.ptr());
    guard.number = number;
    for (const std::uint32_t other : others) guard.others.push_back({other});
    if (guard.kind == GuardKind::kTensor) {
      guard.tensor = std::make_unique<TensorFacts>(read_tensor_facts(object.ptr()));
    }
    guard.state = read_state();
    guards_.guards.push_back(std::move(guard));
  }

  // Of the last guard, on a tensor.
  void symbolic(int dimension) {
    TensorFacts& facts = *guards_.guards.back().tensor;
    facts.symbolic.resize(facts.sizes.size());
    facts.symbolic[static_cast<std::size_t>(dimension)] = true;
  }

  void offset(std::int64_t offset) { guards_.guards.back().tensor->storage_offset = offset; }

  void symbol(const std::string& name, std::uint32_t source, int dimension, std::int64_t low,
              std::int64_t high) {
    guards_.symbols.push_back({name, {source}, dimension, low, high});
  }

  void relation(const std::string& left, const std::string& sign, const std::string& right) {
    using Kind = ir::SymGuard::Kind;
    const std::map<std::string, Kind> kinds = {
        {"==", Kind::kEq}, {"!=", Kind::kNe}, {"<", Kind::kLt}, {"<=", Kind::kLe}};
    guards_.relations.push_back(
        {kinds.at(sign), ir::parse_sym_expr(left).value(), ir::parse_sym_expr(right).value(), ""});
  }

  Program compile(const std::vector<std::uint32_t>& exports) {
    std::vector<SourceId> sources;
    for (const std::uint32_t source : exports) sources.push_back({source});
    auto program = GuardProgram::compile(sources_, std::move(guards_), sources);
    if (!program.ok()) throw nb::value_error(program.error().message.c_str());
    program.value()->set_strict(true);
    return Program(std::move(program).value());
  }

 private:
  std::shared_ptr<SourceArena> sources_;
  GuardSet guards_;
};

}  // namespace
}  // namespace triptych::capture

NB_MODULE(_guards, module) {
  using namespace triptych::capture;
  bind_regions(module);
  nb::class_<Program>(module, "Program")
      .def("check", &Program::check, nb::arg("slots"), nb::arg("function") = nb::none(),
           nb::arg("stack") = nb::tuple())
      .def("changed", &Program::changed, nb::arg("slots"), nb::arg("function") = nb::none())
      .def("time", &Program::time, nb::arg("slots"), nb::arg("function"), nb::arg("times"))
      .def("texts", &Program::texts)
      .def_prop_ro("steps", &Program::steps)
      .def_prop_ro("shortcuts", &Program::shortcuts);
  nb::class_<Builder>(module, "Builder")
      .def(nb::init<nb::handle>())
      .def("slot", &Builder::slot)
      .def("stack", &Builder::stack)
      .def("function", &Builder::function)
      .def("constant", &Builder::constant)
      .def("step", &Builder::step)
      .def("item", &Builder::item)
      .def("keyed", &Builder::keyed)
      .def("text", &Builder::text)
      .def("guard", &Builder::guard, nb::arg("kind"), nb::arg("source") = SourceId::kNone,
           nb::arg("object").none() = nb::none(), nb::arg("number") = 0,
           nb::arg("others") = std::vector<std::uint32_t>())
      .def("symbolic", &Builder::symbolic)
      .def("offset", &Builder::offset)
      .def("symbol", &Builder::symbol)
      .def("relation", &Builder::relation)
      .def("compile", &Builder::compile, nb::arg("exports") = std::vector<std::uint32_t>());
}
