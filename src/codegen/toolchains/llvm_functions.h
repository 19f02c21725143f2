// The functions of llvmlite's LLVM library that compiling needs, found by name in the library file.
// Called directly: llvmlite's Python layer takes 50 ms to import and one lock for every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "support/result.h"

namespace triptych::toolchains {

struct LlvmFunctions {
  // What LLVMPY_LLJIT_Link takes: a unit of a library, and a name with an address.
  struct LinkElement {
    std::uint8_t kind;  // 2: object file; 3: another library, "" for this process
    const char* value;
    std::size_t length;
  };
  struct SymbolAddress {
    const char* name;
    std::uint64_t address;
  };
  using Out = const char**;  // strings made by the library

  int (*initialize_target)();
  int (*initialize_printer)();
  void (*host_cpu)(Out);
  int (*host_features)(Out);
  void (*default_triple)(Out);
  void (*dispose_string)(const char*);
  void* (*target_from_triple)(const char* triple, Out error);
  void* (*create_machine)(void* target, const char* triple, const char* cpu, const char* features,
                          int level, const char* relocation, const char* code_model, int print,
                          int jit, const char* abi);
  void (*dispose_machine)(void*);
  void* (*create_context)();
  void (*dispose_context)(void*);
  void* (*parse)(void* context, const char* text, Out error);
  void (*dispose_module)(void*);
  void* (*emit)(void* machine, void* module, int object, Out error);
  const void* (*buffer_start)(void*);
  std::size_t (*buffer_size)(void*);
  void (*dispose_buffer)(void*);
  void* (*create_jit)(void* machine, bool suppress_errors, bool jit_link, Out error);
  void* (*link)(void* jit, const char* name, LinkElement* elements, std::size_t num_elements,
                SymbolAddress* imports, std::size_t num_imports, SymbolAddress* exports,
                std::size_t num_exports, Out error);
  bool (*dispose_library)(void* tracker, Out error);
};

// Opens the library at `path`. It stays loaded for the life of the process.
Result<LlvmFunctions> load_llvm_functions(const std::string& path);

}  // namespace triptych::toolchains
