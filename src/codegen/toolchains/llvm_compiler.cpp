#include "codegen/toolchains/llvm_compiler.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "codegen/toolchains/llvm_functions.h"
#include "codegen/toolchains/module_parts.h"

namespace triptych::toolchains {

namespace {

// LLVM with this process' target set up.
struct Library {
  LlvmFunctions llvm;
  std::string triple, cpu, features;
  void* target = nullptr;
};

std::string taken(const LlvmFunctions& llvm, const char* text) {
  if (text == nullptr) return {};
  std::string copy(text);
  llvm.dispose_string(text);
  return copy;
}

Result<Library> open_library(const std::string& path) {
  auto functions = load_llvm_functions(path);
  if (!functions.ok()) return std::move(functions).error();
  Library library{.llvm = functions.value()};
  const LlvmFunctions& llvm = library.llvm;
  llvm.initialize_target();
  llvm.initialize_printer();
  const char* text = nullptr;
  llvm.default_triple(&text);
  library.triple = taken(llvm, std::exchange(text, nullptr));
  llvm.host_cpu(&text);
  library.cpu = taken(llvm, std::exchange(text, nullptr));
  llvm.host_features(&text);
  library.features = taken(llvm, std::exchange(text, nullptr));
  library.target = llvm.target_from_triple(library.triple.c_str(), &text);
  if (library.target == nullptr) {
    return user_error("toolchain.llvm_target",
                      "LLVM has no target " + library.triple + ": " + taken(llvm, text));
  }
  return library;
}

class Compiler;

class Code : public LlvmCode {
 public:
  Code(std::shared_ptr<Compiler> compiler, void* tracker)
      : compiler_(std::move(compiler)), tracker_(tracker) {}
  ~Code() override;

 private:
  std::shared_ptr<Compiler> compiler_;
  void* tracker_;
};

// An object file, or what went wrong.
struct Emitted {
  void* buffer = nullptr;
  std::string error;
};

class Compiler : public LlvmCompiler, public std::enable_shared_from_this<Compiler> {
 public:
  Compiler(const Library& library, LlvmTarget target)
      : library_(library), llvm_(library.llvm), target_(std::move(target)) {
    if (target_.cpu.empty()) target_.cpu = library.cpu;
    if (target_.features.empty()) target_.features = library.features;
  }

  Result<std::shared_ptr<LlvmCode>> compile(const std::string& text,
                                            const std::vector<std::string>& entries,
                                            const std::map<std::string, std::uint64_t>& imports,
                                            int threads) override {
    const std::vector<std::string> parts =
        module_parts(text, entries, static_cast<std::size_t>(std::max(1, threads)));
    std::vector<Emitted> objects(parts.size());
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      others.emplace_back([this, &parts, &objects, i] { objects[i] = emit(parts[i]); });
    }
    objects[0] = emit(parts[0]);
    for (std::thread& other : others) other.join();
    auto code = link(objects, entries, imports);
    for (const Emitted& object : objects) {
      if (object.buffer != nullptr) llvm_.dispose_buffer(object.buffer);
    }
    return code;
  }

  void unload(void* tracker) {
    const std::lock_guard lock(link_mutex_);
    const char* error = nullptr;
    llvm_.dispose_library(tracker, &error);
    taken(llvm_, error);  // a library that cannot be unloaded stays
  }

 private:
  void* take_machine() {
    {
      const std::lock_guard lock(machines_mutex_);
      if (!machines_.empty()) {
        void* machine = machines_.back();
        machines_.pop_back();
        return machine;
      }
    }
    return new_machine();
  }
  void* new_machine() {
    return llvm_.create_machine(library_.target, library_.triple.c_str(), target_.cpu.c_str(),
                                target_.features.c_str(), target_.level, "default", "jitdefault", 0,
                                1, "");
  }
  void give_machine(void* machine) {
    const std::lock_guard lock(machines_mutex_);
    machines_.push_back(machine);
  }

  // In a context of its own, so that several threads can do so at once.
  Emitted emit(const std::string& text) {
    void* machine = take_machine();
    if (machine == nullptr) return {nullptr, "no machine " + target_.cpu};
    Emitted result;
    const char* error = nullptr;
    void* context = llvm_.create_context();
    void* module = llvm_.parse(context, text.c_str(), &error);
    if (module != nullptr) {
      result.buffer = llvm_.emit(machine, module, 1, &error);
      llvm_.dispose_module(module);
    }
    if (result.buffer == nullptr) result.error = taken(llvm_, error);
    llvm_.dispose_context(context);
    give_machine(machine);
    return result;
  }

  Result<std::shared_ptr<LlvmCode>> link(const std::vector<Emitted>& objects,
                                         const std::vector<std::string>& entries,
                                         const std::map<std::string, std::uint64_t>& imports) {
    std::vector<LlvmFunctions::LinkElement> elements;
    for (const Emitted& object : objects) {
      if (object.buffer == nullptr) return user_error("toolchain.llvm", "LLVM: " + object.error);
      elements.push_back({2, static_cast<const char*>(llvm_.buffer_start(object.buffer)),
                          llvm_.buffer_size(object.buffer)});
    }
    elements.push_back({3, "", 0});
    std::vector<LlvmFunctions::SymbolAddress> given, wanted;
    for (const auto& [name, address] : imports) given.push_back({name.c_str(), address});
    for (const std::string& name : entries) wanted.push_back({name.c_str(), 0});
    const std::lock_guard lock(link_mutex_);
    const char* error = nullptr;
    if (jit_ == nullptr) {
      jit_ = llvm_.create_jit(new_machine(), false, false, &error);  // takes the machine
      if (jit_ == nullptr) return user_error("toolchain.llvm", "LLVM: " + taken(llvm_, error));
    }
    const std::string name = "triptych" + std::to_string(serial_++);
    void* tracker = llvm_.link(jit_, name.c_str(), elements.data(), elements.size(), given.data(),
                               given.size(), wanted.data(), wanted.size(), &error);
    if (tracker == nullptr) return user_error("toolchain.llvm", "LLVM: " + taken(llvm_, error));
    std::shared_ptr<LlvmCode> code = std::make_shared<Code>(shared_from_this(), tracker);
    for (const auto& entry : wanted) code->addresses.emplace(entry.name, entry.address);
    return code;
  }

  const Library& library_;
  const LlvmFunctions& llvm_;
  LlvmTarget target_;
  std::mutex machines_mutex_;
  std::vector<void*> machines_;  // idle ones: a machine serves one thread at a time
  std::mutex link_mutex_;
  void* jit_ = nullptr;  // lives as long as the process
  int serial_ = 0;       // under link_mutex_
};

Code::~Code() { compiler_->unload(tracker_); }

}  // namespace

Result<std::shared_ptr<LlvmCompiler>> llvm_compiler(const std::string& library,
                                                    const LlvmTarget& target) {
  static std::mutex mutex;
  static std::optional<Library> opened;
  // Never destroyed: code that is still loaded when the process ends refers to them.
  static auto& compilers =
      *new std::map<std::tuple<std::string, std::string, int>, std::shared_ptr<Compiler>>;
  const std::lock_guard lock(mutex);
  if (!opened) {
    auto made = open_library(library);
    if (!made.ok()) return std::move(made).error();
    opened = std::move(made).value();
  }
  std::shared_ptr<Compiler>& compiler = compilers[{target.cpu, target.features, target.level}];
  if (compiler == nullptr) compiler = std::make_shared<Compiler>(*opened, target);
  return std::static_pointer_cast<LlvmCompiler>(compiler);
}

}  // namespace triptych::toolchains
