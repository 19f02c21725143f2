#include "codegen/toolchains/llvm_functions.h"

#include <dlfcn.h>

namespace triptych::toolchains {

namespace {

class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}

  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace

Result<LlvmFunctions> load_llvm_functions(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return user_error("toolchain.llvm_library",
                      "LLVM could not be loaded: " + std::string(dlerror()));
  }
  Finder finder(library);
  LlvmFunctions f{};
  finder.find(f.initialize_target, "LLVMPY_InitializeNativeTarget");
  finder.find(f.initialize_printer, "LLVMPY_InitializeNativeAsmPrinter");
  finder.find(f.host_cpu, "LLVMPY_GetHostCPUName");
  finder.find(f.host_features, "LLVMPY_GetHostCPUFeatures");
  finder.find(f.default_triple, "LLVMPY_GetProcessTriple");
  finder.find(f.dispose_string, "LLVMPY_DisposeString");
  finder.find(f.target_from_triple, "LLVMPY_GetTargetFromTriple");
  finder.find(f.create_machine, "LLVMPY_CreateTargetMachine");
  finder.find(f.dispose_machine, "LLVMPY_DisposeTargetMachine");
  finder.find(f.create_context, "LLVMPY_ContextCreate");
  finder.find(f.dispose_context, "LLVMPY_ContextDispose");
  finder.find(f.parse, "LLVMPY_ParseAssembly");
  finder.find(f.dispose_module, "LLVMPY_DisposeModule");
  finder.find(f.emit, "LLVMPY_TargetMachineEmitToMemory");
  finder.find(f.buffer_start, "LLVMPY_GetBufferStart");
  finder.find(f.buffer_size, "LLVMPY_GetBufferSize");
  finder.find(f.dispose_buffer, "LLVMPY_DisposeMemoryBuffer");
  finder.find(f.create_jit, "LLVMPY_CreateLLJITCompiler");
  finder.find(f.link, "LLVMPY_LLJIT_Link");
  finder.find(f.dispose_library, "LLVMPY_LLJIT_Dylib_Tracker_Dispose");
  if (!finder.missing().empty()) {
    return user_error("toolchain.llvm_library", path + " has no function " + finder.missing() +
                                                    ": another version of llvmlite is needed");
  }
  return f;
}

}  // namespace triptych::toolchains
