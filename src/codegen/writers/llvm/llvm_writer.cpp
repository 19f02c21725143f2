#include "codegen/writers/llvm/llvm_writer.h"

#include <utility>

#include "codegen/writers/llvm/ir_text.h"
#include "codegen/writers/llvm/kernel_text.h"

namespace triptych::writers {

Result<Module> LlvmWriter::write(const std::vector<loops::Kernel>& kernels,
                                 const mapping::Traits& traits) const {
  Module module{.language = language()};
  llvm::Code::Needs needs;
  for (const loops::Kernel& kernel : kernels) {
    TRIPTYCH_TRY(llvm::FunctionText function, llvm::write_function(kernel, traits));
    module.text += function.text + "\n";
    module.entries.push_back(kernel.name);
    needs.declarations.merge(function.needs.declarations);
    needs.helpers.merge(function.needs.helpers);
    needs.externals.merge(function.needs.externals);
  }
  for (const auto& [name, definition] : needs.helpers) module.text += definition + "\n";
  for (const auto& [name, declaration] : needs.declarations) {
    module.text += llvm::cat("declare ", declaration, "\n");
  }
  module.text += "\nattributes #0 = { nounwind }\n";
  module.externals.assign(needs.externals.begin(), needs.externals.end());
  return module;
}

}  // namespace triptych::writers
