// Passes by name, for the command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "contents.h"

namespace triptych::opt {

struct Pass {
  std::string_view name;
  std::string_view summary;  // one line
  // A user error for contents of a level that the pass does not run on.
  std::function<Result<Contents>(Contents)> run;
};

// A pass from one form to the same or another.
template <class From, class To>
Pass make_pass(std::string_view name, std::string_view summary,
               std::function<Result<To>(From)> function) {
  return {name, summary, [name, function](Contents contents) -> Result<Contents> {
            auto* from = std::get_if<From>(&contents);
            if (from == nullptr) {
              return user_error("opt.pass", std::string(name) + ": found " +
                                                std::string(level_name(contents)) + ", expected " +
                                                std::string(level_name(Contents(From()))));
            }
            TRIPTYCH_TRY(To made, function(std::move(*from)));
            return Contents(std::move(made));
          }};
}

// A pass that rewrites a graph in place.
Pass graph_pass(std::string_view name, std::string_view summary,
                const std::function<Status(ir::Graph&)>& function);

class PassRegistry {
 public:
  void add(Pass pass) { passes_.push_back(std::move(pass)); }
  const Pass* find(std::string_view name) const;
  const std::vector<Pass>& passes() const { return passes_; }

 private:
  std::vector<Pass> passes_;
};

PassRegistry built_in_passes();

}  // namespace triptych::opt
