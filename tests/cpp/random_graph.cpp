#include "random_graph.h"

#include <algorithm>
#include <random>

namespace triptych::testing {
namespace {

class Maker {
 public:
  Maker(std::uint32_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {}

  SmallGraph run() {
    if (options_.symbols) {
      four_ = g_.symbol("s0", 4);
      six_ = g_.symbol("s1", 6);
    }
    const int inputs = 1 + pick(3);
    for (int i = 0; i < inputs; ++i) add_input();
    for (int i = 0; i < options_.ops; ++i) add_op();
    g_.output(values_.back());
    for (std::size_t i = 0; i + 1 < values_.size(); ++i) {
      if (pick(6) == 0 && g_.graph.value(values_[i]).producer.valid()) g_.output(values_[i]);
    }
    return std::move(g_);
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  ValueId any() {
    return values_[values_.size() - 1 -
                   static_cast<std::size_t>(
                       pick(std::min<int>(5, static_cast<int>(values_.size()))))];
  }
  Ints sizes(ValueId x) const { return g_.known_sizes(x); }
  std::int64_t count(const Ints& sizes) const {
    std::int64_t product = 1;
    for (std::int64_t size : sizes) product *= size;
    return product;
  }
  void add(ValueId x) {
    if (count(sizes(x)) <= 4096) values_.push_back(x);
  }

  void add_input() {
    const Sizes shapes[] = {{four_, six_}, {2, 3, 8},        {16},
                            {3, four_, 5}, {2, 2, 3, four_}, {2 * six_, 8}};
    const Sizes& shape = shapes[pick(6)];
    Sizes strides;
    if (pick(4) == 0 && shape.size() == 2) strides = {1, shape[0]};      // transposed memory
    if (pick(6) == 0 && shape.size() == 2) strides = {shape[1] + 3, 1};  // padded rows
    values_.push_back(g_.input(shape, DType::kF32, strides));
  }

  void add_op() {
    const ValueId x = any();
    switch (pick(13)) {
      case 0:
      case 1:
        return add(unary(x));
      case 2:
      case 3:
        return add(binary(x, partner(x)));
      case 4:
        return reduce(x);
      case 5:
        return row(x);
      case 6:
        return reshape(x);
      case 7:
        return permute(x);
      case 8:
        return slice(x);
      case 9:
        return expand(x);
      case 10:
        return add(g_.clone(x));
      case 11:
        return join(x);
      default:
        return other(x);
    }
  }

  ValueId unary(ValueId x) {
    static const char* ops[] = {"aten.neg.default",     "aten.tanh.default", "aten.exp.default",
                                "aten.sigmoid.default", "aten.relu.default", "aten.gelu.default"};
    const ValueId bounded = pick(2) == 0 ? x : g_.unary("aten.sigmoid.default", x);
    return g_.unary(ops[pick(6)], bounded);
  }

  // A value that broadcasts with x: x itself, one of its shape, a reduction of it, or a new input.
  ValueId partner(ValueId x) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const ValueId y = values_[static_cast<std::size_t>(pick(static_cast<int>(values_.size())))];
      if (broadcasts(g_.sizes(x), g_.sizes(y)) &&
          g_.graph.tensor(y).dtype == g_.graph.tensor(x).dtype)
        return y;
    }
    if (pick(2) == 0 || sizes(x).empty()) return x;
    return g_.cast(g_.input({g_.sizes(x).back()}), g_.graph.tensor(x).dtype);
  }

  static bool broadcasts(const Sizes& a, const Sizes& b) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      const ir::SymExpr& p = a[a.size() - 1 - i];
      const ir::SymExpr& q = b[b.size() - 1 - i];
      if (p != q && p != ir::SymExpr(1) && q != ir::SymExpr(1)) return false;
    }
    return true;
  }

  ValueId binary(ValueId x, ValueId y) {
    static const char* ops[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                "aten.maximum.default"};
    return g_.binary(ops[pick(4)], x, y);
  }

  void reduce(ValueId x) {
    const Ints shape = sizes(x);
    if (shape.empty()) return;
    Ints dims;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (pick(2) == 0) dims.push_back(static_cast<std::int64_t>(i));
    }
    if (dims.empty()) dims.push_back(pick(static_cast<int>(shape.size())));
    const bool keep = pick(3) != 0;
    add(g_.reduce(pick(2) == 0 ? "aten.amax.default" : "aten.sum.dim_IntList", x, dims, keep));
  }

  void row(ValueId x) {
    const Ints shape = sizes(x);
    if (shape.empty() || g_.graph.tensor(x).dtype != DType::kF32) return;
    if (pick(2) == 0) return add(g_.softmax(x, pick(static_cast<int>(shape.size()))));
    if (shape.back() < 2) return;
    const ir::SymExpr size = g_.sizes(x).back();
    const ValueId weight = g_.input({size});
    add(g_.layer_norm(x, weight, g_.input({size})));
  }

  void reshape(ValueId x) {
    if (!g_.contiguous(x)) return;
    Sizes shape = g_.sizes(x);
    if (pick(2) == 0 && shape.size() >= 2) {  // join two neighbours
      const auto at = static_cast<std::size_t>(pick(static_cast<int>(shape.size()) - 1));
      shape[at] *= shape[at + 1];
      shape.erase(shape.begin() + static_cast<long>(at) + 1);
    } else {
      for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto size = shape[i].as_constant();
        if (!size || *size % 2 != 0 || *size == 0) continue;
        shape[i] = ir::SymExpr(*size / 2);
        shape.insert(shape.begin() + static_cast<long>(i), 2);
        break;
      }
    }
    add(g_.view(x, shape));
  }

  void permute(ValueId x) {
    Ints dims;
    for (std::size_t i = 0; i < sizes(x).size(); ++i) dims.push_back(static_cast<std::int64_t>(i));
    if (dims.size() < 2) return;
    std::shuffle(dims.begin(), dims.end(), random_);
    add(g_.permute(x, dims));
  }

  void slice(ValueId x) {
    const Ints shape = sizes(x);
    if (shape.empty()) return;
    const int dim = pick(static_cast<int>(shape.size()));
    const std::int64_t size = shape[static_cast<std::size_t>(dim)];
    if (size < 2) return;
    const std::int64_t start = pick(static_cast<int>(size));
    const std::int64_t end = start + 1 + pick(static_cast<int>(size - start));
    add(g_.slice(x, dim, start, end));
  }

  void expand(ValueId x) {
    Sizes shape = g_.sizes(x);
    for (ir::SymExpr& size : shape) size = size == ir::SymExpr(1) ? ir::SymExpr(3) : size;
    if (pick(2) == 0 && shape.size() < 4) shape.insert(shape.begin(), 2);
    add(g_.expand(x, shape));
  }

  void join(ValueId x) {
    if (sizes(x).empty()) return;
    add(g_.cat({x, unary(x)}, pick(static_cast<int>(sizes(x).size()))));
  }

  void other(ValueId x) {
    if (options_.calls && sizes(x).size() == 2 && g_.graph.tensor(x).dtype == DType::kF32) {
      return add(g_.mm(x, g_.input({g_.sizes(x)[1], 6})));
    }
    if (!options_.casts) return;
    const DType to = g_.graph.tensor(x).dtype == DType::kF32 ? DType::kBF16 : DType::kF32;
    add(g_.cast(x, to));
  }

  SmallGraph g_;
  ir::SymExpr four_ = 4, six_ = 6;
  std::mt19937 random_;
  RandomGraphOptions options_;
  std::vector<ValueId> values_;
};

}  // namespace

SmallGraph random_graph(std::uint32_t seed, const RandomGraphOptions& options) {
  return Maker(seed, options).run();
}

}  // namespace triptych::testing
