#include "codegen/writers/llvm/llvm_writer.h"

#include <map>
#include <utility>

#include "codegen/writers/llvm/ir_text.h"
#include "codegen/writers/llvm/kernel_text.h"

namespace triptych::writers {

Result<Module> LlvmWriter::write(const std::vector<loops::Kernel>& kernels, const mapping::Traits& traits) const {
  Module module{.language = language()};
  std::map<std::string, std::string> declarations;
  std::map<std::string, bool> externals;
  for (const loops::Kernel& kernel : kernels) {
    TRIPTYCH_TRY(llvm::FunctionText function, llvm::write_function(kernel, traits));
    module.text += function.text + "\n";
    module.entries.push_back(kernel.name);
    declarations.merge(function.declarations);
    externals.merge(function.externals);
  }
  for (const auto& [name, declaration] : declarations) module.text += llvm::cat("declare ", declaration, "\n");
  module.text += "\nattributes #0 = { nounwind }\n";
  for (const auto& [name, used] : externals) module.externals.push_back(name);
  return module;
}

}  // namespace triptych::writers
