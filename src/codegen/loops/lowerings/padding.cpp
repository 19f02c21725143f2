// Padding of the last dims. `pad` lists (before, after) from the last dim backwards; negative
// numbers crop.
#include "codegen/loops/lowerings/families.h"

namespace triptych::loops {
namespace {

struct Pad {
  SymExpr before, after;
};

// Per dim of the result, in order.
std::vector<Pad> pads_of(LoweringContext& context, std::string_view name) {
  const std::size_t rank = context.result_type().sizes.size();
  const std::vector<SymExpr> list = context.sizes(name);
  std::vector<Pad> pads(rank);
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    pads[rank - 1 - i / 2] = {list[i], list[i + 1]};
  }
  return pads;
}

bool is_positive(const SymExpr& e) {
  const auto constant = e.as_constant();
  return constant && *constant > 0;
}

class ConstantPad {
 public:
  ConstantPad(LoweringContext& context, ValueId self, std::vector<Pad> pads)
      : context_(context), builder_(context.builder), self_(self), pads_(std::move(pads)) {}

  Result<Unit> run() {
    const ir::Argument& value = context_.arg("value");
    const DType dtype = context_.result_type().dtype;
    if (!value.is<bool>() && !value.is<std::int64_t>() && !value.is<double>()) {
      return not_lowered("a padding value that is no real number");
    }
    const double number = context_.number("value");
    if (ir::is_integral(dtype, false) && !(number >= -0x1p53 && number <= 0x1p53)) {
      return not_lowered("a padding value that does not fit");
    }
    number_ = number;
    dims(0);
    return Unit{};
  }

 private:
  const SymExpr& size(std::size_t d) const { return context_.result_type().sizes[d]; }

  // Everything from dim d on, at the index so far.
  void dims(std::size_t d) {
    if (d == pads_.size()) {
      builder_.store(context_.result(), index_, builder_.load(self_, source_));
      return;
    }
    const Pad& pad = pads_[d];
    if (is_positive(pad.before)) fill(d, 0, pad.before);
    const SymExpr first = is_positive(pad.before) ? pad.before : SymExpr(0);
    const SymExpr after = is_positive(pad.after) ? pad.after : SymExpr(0);
    const SymExpr length = size(d) - first - after;
    const int open = builder_.open_count();
    const SymExpr position = builder_.open_loop(length);
    index_.push_back(first + position);
    source_.push_back(first + position - pad.before);
    dims(d + 1);
    index_.pop_back();
    source_.pop_back();
    builder_.close_loops(builder_.open_count() - open);
    if (is_positive(after)) fill(d, size(d) - after, after);
  }

  // The padding value at [begin, begin + length) of dim d and everywhere in the dims after.
  void fill(std::size_t d, const SymExpr& begin, const SymExpr& length) {
    const int open = builder_.open_count();
    std::vector<SymExpr> index = index_;
    index.push_back(begin + builder_.open_loop(length));
    for (std::size_t e = d + 1; e < pads_.size(); ++e) index.push_back(builder_.open_loop(size(e)));
    builder_.store(context_.result(), index,
                   builder_.constant(context_.result_type().dtype, number_));
    builder_.close_loops(builder_.open_count() - open);
  }

  LoweringContext& context_;
  Builder& builder_;
  ValueId self_;
  std::vector<Pad> pads_;
  std::vector<SymExpr> index_, source_;
  double number_ = 0;
};

// max(0, min(size - 1, i))
SymExpr clamped(const SymExpr& i, const SymExpr& size) {
  return max(SymExpr(0), min(size - SymExpr(1), i));
}
SymExpr absolute(const SymExpr& e) { return max(e, -e); }

template <class Source>
Status pad_by_index(LoweringContext& context, const Source& source_of) {
  const ValueId self = context.tensor_arg("self");
  const std::vector<Pad> pads = pads_of(context, "padding");
  Builder& builder = context.builder;
  const std::vector<SymExpr> index = builder.open_loops(context.result_type().sizes);
  std::vector<SymExpr> source = index;
  for (std::size_t d = 0; d < source.size(); ++d) {
    const bool padded = pads[d].before.as_constant() != 0 || pads[d].after.as_constant() != 0;
    if (padded) source[d] = source_of(index[d] - pads[d].before, context.type(self).sizes[d]);
  }
  builder.store(context.result(), index, builder.load(self, source));
  return Unit{};
}

}  // namespace

Status lower_constant_pad(LoweringContext& context) {
  std::vector<Pad> pads = pads_of(context, "pad");
  for (const Pad& pad : pads) {
    if (!pad.before.is_constant() || !pad.after.is_constant())
      return not_lowered("symbolic padding");
  }
  return ConstantPad(context, context.tensor_arg("self"), std::move(pads)).run();
}

Status lower_replication_pad(LoweringContext& context) { return pad_by_index(context, clamped); }

// Mirrored at the first and the last element: (n - 1) - | (n - 1) - |i| |
Status lower_reflection_pad(LoweringContext& context) {
  return pad_by_index(context, [](const SymExpr& i, const SymExpr& size) {
    const SymExpr last = size - SymExpr(1);
    return last - absolute(last - absolute(i));
  });
}

}  // namespace triptych::loops
