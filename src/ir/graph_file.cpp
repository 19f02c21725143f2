// The sidecar: the line "triptych constants 1", then per constant a line "<size> <quoted name>" and
// that many bytes and a line end.
#include "ir/graph_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/scanner.h"

namespace triptych::ir {
namespace {

constexpr std::string_view kMagic = "triptych constants 1\n";

Error file_error(const std::string& path, const std::string& what) {
  return user_error("graph.file", path + ": " + what);
}

// Writes beside the target and renames, so that readers see the old file or the new one.
Status write_atomically(const std::string& path, const std::string& contents) {
  const std::string temporary = path + ".tmp";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    file.close();
    if (!file) return file_error(temporary, "cannot be written");
  }
  std::error_code failure;
  std::filesystem::rename(temporary, path, failure);
  if (failure) return file_error(path, failure.message());
  return Unit{};
}

Result<std::string> sidecar_text(const Graph& graph) {
  std::string out(kMagic);
  for (const Constant& constant : graph.constants()) {
    if (constant.bytes == nullptr) {
      return unsupported("graph.constant_bytes",
                         "the constant " + constant.name + " has no bytes to save");
    }
    out += std::to_string(constant.bytes->size()) + " " + quote(constant.name) + "\n";
    out.append(reinterpret_cast<const char*>(constant.bytes->data()), constant.bytes->size());
    out += '\n';
  }
  return out;
}

Result<ConstantBytes> parse_sidecar(const std::string& text) {
  if (!text.starts_with(kMagic))
    return user_error("graph.sidecar", "found no sidecar of constants");
  Scanner scanner(text, "graph.sidecar");
  scanner.rewind(kMagic.size());
  ConstantBytes out;
  while (!scanner.at_end()) {
    TRIPTYCH_TRY(const std::int64_t size, scanner.integer());
    TRIPTYCH_TRY(std::string name, scanner.quoted());
    const std::size_t begin = scanner.position() + 1;
    if (size < 0 || begin > text.size() || static_cast<std::uint64_t>(size) > text.size() - begin) {
      return scanner.error_at(begin, "the bytes of " + name + " are cut short");
    }
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size));
    if (size != 0) std::memcpy(bytes->data(), text.data() + begin, bytes->size());
    scanner.rewind(begin + bytes->size());
    out.emplace(std::move(name), std::move(bytes));
  }
  return out;
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string contents(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) return file_error(path, "cannot be read");
  return contents;
}

Status save_graph(const Graph& graph, const std::string& path) {
  if (!graph.constants().empty()) {
    TRIPTYCH_TRY(const std::string sidecar, sidecar_text(graph));
    TRIPTYCH_TRY([[maybe_unused]] const Unit written, write_atomically(path + ".bin", sidecar));
  }
  return write_atomically(path, print(graph));
}

Result<ConstantBytes> read_constants(const std::string& path) {
  if (!std::filesystem::exists(path + ".bin")) return ConstantBytes();
  TRIPTYCH_TRY(const std::string sidecar, read_text(path + ".bin"));
  return parse_sidecar(sidecar);
}

Result<Graph> load_graph(const std::string& path, const TargetResolver& resolve) {
  TRIPTYCH_TRY(const std::string text, read_text(path));
  TRIPTYCH_TRY(const ConstantBytes constants, read_constants(path));
  TRIPTYCH_TRY(Graph graph, parse_graph(text, constants, resolve));
  for (const Constant& constant : graph.constants()) {
    if (constant.bytes == nullptr)
      return file_error(path + ".bin", "has no bytes for " + constant.name);
  }
  return graph;
}

}  // namespace triptych::ir
