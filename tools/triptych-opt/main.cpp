// triptych-opt: parses a text file, runs passes by name, verifies, prints.
#include <iostream>
#include <string>

#include "passes.h"

namespace {

constexpr std::string_view kUsage =
    "usage: triptych-opt [--pass NAME[,NAME...]] [--verify] FILE | --list\n"
    "  FILE       a graph, kernels, a loop program or a program in text form; \"-\" is standard "
    "input\n"
    "  --pass     passes to run, in order\n"
    "  --verify   check the contract before and after each pass\n"
    "  --list     print the passes\n";

struct Arguments {
  std::vector<std::string> passes;
  bool verify = false, list = false, bad = false;
  std::string file;
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--verify") {
      out.verify = true;
    } else if (argument == "--list") {
      out.list = true;
    } else if (argument == "--pass" && i + 1 < argc) {
      std::string names = argv[++i];
      for (std::size_t begin = 0, end = 0; begin <= names.size(); begin = end + 1) {
        end = std::min(names.find(',', begin), names.size());
        out.passes.push_back(names.substr(begin, end - begin));
      }
    } else if (!argument.starts_with("--") && out.file.empty()) {
      out.file = argument;
    } else {
      out.bad = true;
    }
  }
  out.bad |= out.file.empty() && !out.list;
  return out;
}

int fail(const triptych::Error& error) {
  std::cerr << "triptych-opt: " << error.describe() << '\n';
  return 1;
}

bool verified(const triptych::opt::Contents& contents, std::string_view when) {
  const auto errors = triptych::opt::verify(contents);
  for (const auto& error : errors)
    std::cerr << "triptych-opt: " << when << ": " << error.describe() << '\n';
  return errors.empty();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace triptych;
  const Arguments arguments = parse_arguments(argc, argv);
  if (arguments.bad) {
    std::cerr << kUsage;
    return 2;
  }
  const opt::PassRegistry registry = opt::built_in_passes();
  if (arguments.list) {
    for (const auto& pass : registry.passes())
      std::cout << pass.name << ": " << pass.summary << '\n';
    return 0;
  }
  auto contents = opt::read_text_file(arguments.file);
  if (!contents.ok()) return fail(contents.error());
  if (arguments.verify && !verified(contents.value(), "as read")) return 1;
  for (const std::string& name : arguments.passes) {
    const opt::Pass* pass = registry.find(name);
    if (pass == nullptr)
      return fail(user_error("opt.pass", "no pass is called '" + name + "'; see --list"));
    contents = pass->run(std::move(contents).value());
    if (!contents.ok()) return fail(contents.error());
    if (arguments.verify && !verified(contents.value(), "after " + name)) return 1;
  }
  std::cout << opt::print(contents.value());
}
