#include "normalize/signature.h"

#include <algorithm>
#include <string_view>
#include <typeinfo>

#include <ATen/FunctionalStorageImpl.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/empty_strided.h>

#include "normalize/input_strides.h"
#include "normalize/tracer/trace_key.h"
#include "normalize/unsupported.h"

namespace triptych::normalize {

namespace functional = at::functionalization::impl;

namespace {

at::FunctionalTensorWrapper* wrapper_of(const at::Tensor& tensor) {
  return tensor.defined() && functional::isFunctionalTensor(tensor)
             ? functional::unsafeGetFunctionalWrapper(tensor)
             : nullptr;
}

// Functionalization names the classes of its views after the ops; `x.data` is no view to it, but
// another object.
bool is_detached(const at::Tensor& wrapper) {
  const auto& steps = wrapper_of(wrapper)->view_metas();
  return steps.empty() || std::any_of(steps.begin(), steps.end(), [](const auto& step) {
           return std::string_view(typeid(*step).name()).find("detach") != std::string_view::npos;
         });
}

at::functionalization::FunctionalStorageImpl* memory_of(const at::Tensor& wrapper) {
  return static_cast<at::functionalization::FunctionalStorageImpl*>(
      wrapper.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
}

// One element stands for the whole dimension.
bool is_repeated(const at::Tensor& tensor, std::int64_t dim) {
  const ir::SymExpr stride = SymbolicShapes::expr(tensor.sym_stride(dim));
  return stride == ir::SymExpr(0) && SymbolicShapes::expr(tensor.sym_size(dim)) != ir::SymExpr(1);
}

bool same_strides(const at::Tensor& a, const at::Tensor& b) {
  for (std::int64_t d = 0; d < a.dim(); ++d) {
    if (SymbolicShapes::expr(a.sym_size(d)) == ir::SymExpr(1)) continue;
    if (SymbolicShapes::expr(a.sym_stride(d)) != SymbolicShapes::expr(b.sym_stride(d)))
      return false;
  }
  return true;
}

at::Tensor wrap(const at::Tensor& fake) {
  c10::impl::ExcludeDispatchKeyGuard below(keys_above_tracing());
  at::AutoDispatchBelowAutograd no_autograd;
  return functional::to_functional_tensor(fake);
}

// The first and one past the last byte that a real strided tensor reaches.
std::pair<const char*, const char*> extent(const at::Tensor& real) {
  const auto* start = static_cast<const char*>(real.const_data_ptr());
  std::int64_t last = 0;
  for (std::int64_t d = 0; d < real.dim(); ++d) {
    if (real.size(d) == 0) return {start, start};
    last += (real.size(d) - 1) * real.stride(d);
  }
  return {start, start + (last + 1) * static_cast<std::int64_t>(real.element_size())};
}

}  // namespace

Signature::Signature(Trace& trace, const std::vector<ProgramInput>& inputs) : trace_(trace) {
  for (const ProgramInput& input : inputs) {
    if (input.example.isTensor()) {
      add_tensor(input);
    } else {
      add_integer(input);
    }
  }
}

void Signature::add_tensor(const ProgramInput& input) {
  const at::Tensor real = input.example.toTensor();
  if (real.layout() != c10::kStrided || real.is_nested())
    throw Unsupported(
        unsupported("normalize.layout", "input " + input.name + " is not a strided tensor"));
  if (real.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::Python))
    throw Unsupported(
        unsupported("normalize.subclass", "input " + input.name + " is of a tensor subclass"));
  if (real.is_conj() || real.is_neg())
    throw Unsupported(unsupported("normalize.lazy_bit",
                                  "input " + input.name + " is a lazy conjugate or negative"));
  ResultMeta meta = symbolic_metadata(real, input.symbols, *trace_.shapes());
  TracedInput traced;
  traced.real = real;
  traced.fake = make_fake(meta, trace_.shapes());
  as_fake(traced.fake)->value =
      trace_.graph().add_input(input.kind, input.name, Trace::type_of(meta));
  traced.wrapper = wrap(traced.fake);
  trace_.know(real, traced.fake);
  input_memory_[memory_of(traced.wrapper)] = inputs_.size();
  traced_.emplace_back(traced.wrapper);
  inputs_.push_back(std::move(traced));
}

void Signature::add_integer(const ProgramInput& input) {
  const std::int64_t hint = input.example.toInt();
  c10::SymInt value = hint;
  if (!input.symbols.empty() && hint >= 2)
    value = trace_.shapes()->symbol(input.symbols[0].second, hint);
  ir::ScalarValueType type;
  type.expr = SymbolicShapes::expr(value);
  trace_.graph().add_input(input.kind, input.name, type);
  traced_.emplace_back(value);
  inputs_.emplace_back();
}

void Signature::finish(const std::vector<c10::IValue>& outputs) {
  for (const c10::IValue& output : outputs) {
    if (output.isTensor() && wrapper_of(output.toTensor()) != nullptr)
      functional::sync(output.toTensor());
  }
  write_mutations();
  count_sharers(outputs);
  for (const c10::IValue& output : outputs) {
    ir::Output made = make_output(output);
    trace_.graph().outputs().push_back(std::move(made));
    output_tensors_.push_back(output.isTensor() ? output.toTensor() : at::Tensor());
  }
  add_hidden_bases();
}

void Signature::write_mutations() {
  std::vector<ir::Mutation> found;
  std::vector<at::Tensor> contents;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    TracedInput& input = inputs_[i];
    if (!input.wrapper.defined()) continue;
    functional::sync(input.wrapper);
    auto* wrapper = wrapper_of(input.wrapper);
    if (wrapper->was_storage_changed())
      throw Unsupported(
          unsupported("normalize.set_", "an input is given other memory by set_ or resize_"));
    ir::Mutation mutation;
    mutation.input = static_cast<std::uint32_t>(i);
    const at::Tensor base = memory_of(input.wrapper)->base();
    // Functionalization follows `out=` into a tensor of another size, the input's memory cannot.
    if (base.sym_sizes() != input.fake.sym_sizes())
      throw Unsupported(unsupported("normalize.resized_input", "an input is resized by out="));
    if (as_fake(base)->value != as_fake(input.fake)->value) {
      input.data_mutated = true;
      mutation.value = as_fake(base)->value;
      found.push_back(mutation);
      contents.push_back(base);
    }
    if (wrapper->has_metadata_mutation()) {
      mutation.kind = ir::Mutation::Kind::kMetadata;
      mutation.value = ir::ValueId{};
      mutation.metadata = view_type(input.wrapper, input.fake);
      found.push_back(mutation);
      contents.emplace_back();
    }
  }
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (found[k].value.valid()) {
      check_overlap(found[k].input);
      // Contents that are read from memory which is itself written at the end must be saved first.
      const auto source = input_of(root_of(found[k].value));
      if (source && inputs_[*source].data_mutated) found[k].value = clone_of(contents[k]);
    }
    trace_.graph().mutations().push_back(found[k]);
  }
}

// The graph reads all inputs before it writes back, which is wrong when a written input shares
// memory with another.
void Signature::check_overlap(std::size_t mutated) const {
  const at::Tensor& written = inputs_[mutated].real;
  const auto [begin, end] = extent(written);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (i == mutated || !inputs_[i].real.defined() || written.is_meta()) continue;
    if (!inputs_[i].real.is_alias_of(written)) continue;
    const auto [other_begin, other_end] = extent(inputs_[i].real);
    if (begin < other_end && other_begin < end)
      throw Unsupported(unsupported("normalize.overlapping_inputs",
                                    "an input that is written shares memory with another input"));
  }
  for (std::int64_t d = 0; d < written.dim(); ++d) {
    if (written.size(d) > 1 && written.stride(d) == 0)
      throw Unsupported(
          unsupported("normalize.self_overlap", "an input that is written overlaps itself"));
  }
}

void Signature::count_sharers(const std::vector<c10::IValue>& outputs) {
  for (const c10::IValue& output : outputs) {
    if (!output.isTensor() || wrapper_of(output.toTensor()) == nullptr) continue;
    const c10::TensorImpl* impl = output.toTensor().unsafeGetTensorImpl();
    auto& sharers = sharers_[memory_of(output.toTensor())];
    if (std::find(sharers.begin(), sharers.end(), impl) == sharers.end()) sharers.push_back(impl);
  }
}

ir::Output Signature::make_output(const c10::IValue& output) {
  ir::Output made;
  made.kind = ir::Output::Kind::kLiteral;
  if (output.isTensor() && output.toTensor().defined()) {
    return wrapper_of(output.toTensor()) == nullptr ? make_plain(output.toTensor())
                                                    : make_view(output.toTensor());
  }
  if (output.isSymInt()) {
    made.literal = SymbolicShapes::expr(output.toSymInt());
  } else if (output.isInt()) {
    made.literal = output.toInt();
  } else if (output.isDouble()) {
    made.literal = output.toDouble();
  } else if (output.isBool()) {
    made.literal = output.toBool();
  } else if (output.isString()) {
    made.literal = output.toStringRef();
  } else if (output.isComplexDouble()) {
    made.literal = std::complex<double>(output.toComplexDouble());
  } else if (!output.isNone() && !output.isTensor()) {
    throw Unsupported(unsupported("normalize.output", "an output of type " + output.tagKind()));
  }
  return made;
}

// A tensor that is not under functionalization: real, or made of real tensors only.
ir::Output Signature::make_plain(const at::Tensor& output) {
  ir::Output made;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].real.is_same(output)) {
      made.kind = ir::Output::Kind::kInput;
      made.index = static_cast<std::uint32_t>(i);
      made.value = as_fake(inputs_[i].fake)->value;
      return made;
    }
  }
  if (as_fake(output) == nullptr)
    throw Unsupported(unsupported("normalize.returns_constant",
                                  "the program returns a tensor that it did not make"));
  made.value = owned(output);
  return made;
}

ir::Output Signature::make_view(const at::Tensor& output) {
  ir::Output made;
  const at::Tensor value = wrapper_of(output)->value();
  made.value = as_fake(value)->value;
  for (std::size_t k = 0; k < output_tensors_.size(); ++k) {
    if (output_tensors_[k].is_same(output)) {
      made.kind = ir::Output::Kind::kSameAs;
      made.index = static_cast<std::uint32_t>(k);
      made.value = {};
      return made;
    }
  }
  const auto input = input_memory_.find(memory_of(output));
  if (input != input_memory_.end()) {
    made.index = static_cast<std::uint32_t>(input->second);
    made.kind = ir::Output::Kind::kInput;
    if (!inputs_[input->second].wrapper.is_same(output)) {
      made.kind = ir::Output::Kind::kViewOfInput;
      made.view = view_type(output, inputs_[input->second].fake);
      made.detached = is_detached(output);
    }
    return made;
  }
  const Memory memory = memory_of(output);
  if (sharers_[memory].size() < 2) {
    made.value = owned(value);
    return made;
  }
  const bool is_base = wrapper_of(output)->view_metas().empty();
  if (is_base && !owners_.contains(memory)) {
    owners_[memory] = output_tensors_.size();
    made.value = owned(value);
    return made;
  }
  made.kind = ir::Output::Kind::kViewOfOutput;
  made.view = view_type(output, memory_of(output)->base());
  pending_.emplace_back(output_tensors_.size(), output);
  return made;
}

// Outputs that are views of one memory which is no output itself: the memory becomes a hidden
// output.
void Signature::add_hidden_bases() {
  auto& outputs = trace_.graph().outputs();
  for (const auto& [index, tensor] : pending_) {
    const Memory memory = memory_of(tensor);
    if (!owners_.contains(memory)) {
      ir::Output base;
      base.hidden = true;
      base.value = owned(memory_of(tensor)->base());
      owners_[memory] = outputs.size();
      outputs.push_back(std::move(base));
    }
    outputs[index].index = static_cast<std::uint32_t>(owners_[memory]);
  }
}

// What eager's strides and offset are: the views replayed on the memory as it was laid out at
// first. (The value of the view may be laid out otherwise after an update.)
ir::TensorType Signature::view_type(const at::Tensor& wrapper, const at::Tensor& base) {
  trace_.set_recording(false);
  const at::Tensor view =
      functional::apply_view_meta_sequence(base, wrapper_of(wrapper)->view_metas());
  trace_.set_recording(true);
  // Strides say nothing of a lazy conjugate or negative: its fake has memory of its own.
  if (view.storage().unsafeGetStorageImpl() != base.storage().unsafeGetStorageImpl())
    throw Unsupported(unsupported("normalize.lazy_bit",
                                  "an output is a lazy conjugate or negative of other memory"));
  return trace_.type_of(view);
}

ir::ValueId Signature::root_of(ir::ValueId value) const {
  const ir::Graph& graph = trace_.graph();
  while (graph.value(value).producer.valid()) {
    const ir::Node& node = graph.node(graph.value(value).producer);
    const ir::Schema* schema = node.target->schema.get();
    if (schema == nullptr || schema->returns.empty() || schema->returns[0].alias.empty()) break;
    std::optional<ir::ValueId> source;
    for (const ir::Argument& argument : node.args) {
      if (!source && argument.is<ir::ValueId>()) source = argument.get<ir::ValueId>();
    }
    if (!source) break;
    value = *source;
  }
  return value;
}

std::optional<std::size_t> Signature::input_of(ir::ValueId value) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].fake.defined() && as_fake(inputs_[i].fake)->value == value) return i;
  }
  return std::nullopt;
}

namespace {

// A copy laid out as the tensor is, gaps and repeated elements too: eager's would be a view.
at::Tensor copy_in_layout(const at::Tensor& fake) {
  for (std::int64_t d = 0; d < fake.dim(); ++d) {
    if (!is_repeated(fake, d)) continue;
    return copy_in_layout(fake.narrow_symint(d, 0, 1)).expand_symint(fake.sym_sizes());
  }
  const at::Tensor copy = at::clone(fake);
  if (same_strides(copy, fake)) return copy;
  return at::copy(at::empty_strided_symint(fake.sym_sizes(), fake.sym_strides(), fake.options()),
                  fake);
}

}  // namespace

ir::ValueId Signature::clone_of(const at::Tensor& fake) {
  c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKeySet(c10::DispatchKey::Functionalize));
  return as_fake(copy_in_layout(fake))->value;
}

ir::ValueId Signature::owned(const at::Tensor& fake) {
  const ir::ValueId root = root_of(as_fake(fake)->value);
  if (!trace_.graph().value(root).producer.valid() || !owned_roots_.insert(root).second)
    return clone_of(fake);
  return as_fake(fake)->value;
}

}  // namespace triptych::normalize
