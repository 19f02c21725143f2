#include "codegen/loops/fusion/index_map.h"

#include <algorithm>

namespace triptych::loops {
namespace {

struct HostTerm {
  Symbol variable;
  SymExpr coefficient;
  SymExpr extent;
};

IndexMap failed(std::string why) { return {.why = std::move(why)}; }

// Takes what belongs to the digit of `dim` from `terms` and `rest`.
IndexMap take_digit(const Dim& dim, std::vector<HostTerm>& terms, SymExpr& rest, SymExpr& digit) {
  SymExpr largest;
  std::optional<std::pair<HostTerm, SymExpr>> only;
  for (std::size_t i = 0; i < terms.size();) {
    const auto quotient = exact_quotient(terms[i].coefficient, dim.stride);
    if (!quotient || !surely_le(SymExpr(1), *quotient)) {
      ++i;
      continue;
    }
    digit += *quotient * SymExpr::symbol(terms[i].variable);
    largest += *quotient * (terms[i].extent - SymExpr(1));
    only = {terms[i], *quotient};
    // A variable that runs beyond this dim belongs to the next larger one too.
    if (!surely_le(*quotient * (terms[i].extent - SymExpr(1)), dim.extent - SymExpr(1))) {
      const auto inner = exact_quotient(dim.extent, *quotient);
      if (inner && exact_quotient(terms[i].extent, *inner)) {
        IndexMap result =
            failed("loop " + terms[i].variable.str() + " runs over several dimensions");
        result.split = {terms[i].variable, *inner};
        return result;
      }
      return failed("loop " + terms[i].variable.str() + " does not divide into the other's loops");
    }
    terms.erase(terms.begin() + static_cast<long>(i));
  }
  if (const auto constant = rest.as_constant();
      constant && *constant > 0 && dim.stride.is_constant()) {
    const std::int64_t whole = *constant / dim.stride.constant();
    digit += SymExpr(whole);
    largest += SymExpr(whole);
    rest = SymExpr(*constant - whole * dim.stride.constant());
  } else if (const auto quotient = exact_quotient(rest, dim.stride);
             quotient && rest != SymExpr(0)) {
    if (!surely_le(SymExpr(0), *quotient)) return failed("negative offset");
    digit += *quotient;
    largest += *quotient;
    rest = SymExpr(0);
  }
  if (!surely_le(largest, dim.extent - SymExpr(1)))
    return failed("index leaves the other's iterations");
  IndexMap result;
  result.ok = true;
  return result;
}

}  // namespace

std::optional<std::vector<Dim>> sorted_dims(std::vector<Dim> dims) {
  bool comparable = true;
  std::stable_sort(dims.begin(), dims.end(), [&](const Dim& a, const Dim& b) {
    if (a.stride.is_constant() && b.stride.is_constant())
      return a.stride.constant() > b.stride.constant();
    if (surely_le(b.stride, a.stride)) return a.stride != b.stride;
    if (!surely_le(a.stride, b.stride)) comparable = false;
    return false;
  });
  if (!comparable) return std::nullopt;
  return dims;
}

bool is_injective(const std::vector<Dim>& sorted) {
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    if (!surely_le(sorted[i + 1].stride * sorted[i + 1].extent, sorted[i].stride)) return false;
  }
  return sorted.empty() || surely_le(SymExpr(1), sorted.back().stride);
}

bool is_dense(const std::vector<Dim>& sorted) {
  SymExpr stride(1);
  for (std::size_t i = sorted.size(); i-- > 0;) {
    if (sorted[i].stride != stride) return false;
    stride *= sorted[i].extent;
  }
  return true;
}

SymExpr iterations(const std::vector<Dim>& dims) {
  SymExpr product(1);
  for (const Dim& dim : dims) product *= dim.extent;
  return product;
}

IndexMap solve_index(std::vector<Dim> guest, const SymExpr& offset, const SymExpr& target,
                     const std::vector<Dim>& host, bool in_bounds) {
  if (in_bounds && guest.size() == 1 && guest[0].stride == SymExpr(1)) {
    IndexMap direct;
    direct.ok = true;
    direct.values.emplace_back(guest[0].variable, target - offset);
    return direct;
  }
  auto sorted = sorted_dims(std::move(guest));
  if (!sorted || !is_injective(*sorted)) return failed("its own loops overlap");
  IndexMap result;
  std::vector<Symbol> variables;
  for (const Dim& dim : host) variables.push_back(dim.variable);
  const Affine affine = affine_in(target - offset, variables);
  if (!affine.linear) return failed("index is not linear");
  std::vector<HostTerm> terms;
  for (const Affine::Term& term : affine.terms) {
    const auto dim = std::find_if(host.begin(), host.end(),
                                  [&](const Dim& d) { return d.variable == term.variable; });
    terms.push_back({term.variable, term.coefficient, dim->extent});
  }
  SymExpr rest = affine.rest;
  for (const Dim& dim : *sorted) {
    SymExpr digit;
    IndexMap step = take_digit(dim, terms, rest, digit);
    if (!step.ok) return step;
    result.values.emplace_back(dim.variable, std::move(digit));
  }
  if (!terms.empty() || rest != SymExpr(0)) return failed("index does not fit the other's strides");
  result.ok = true;
  return result;
}

}  // namespace triptych::loops
