// Operator schemas, in the notation of native_functions.yaml: "aten::add.Tensor(Tensor self, Tensor
// other, *, Scalar alpha=1) -> Tensor". Parsed without torch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/argument.h"
#include "support/result.h"

namespace triptych::ir {

enum class BaseType : std::uint8_t {
  kTensor,
  kInt,
  kSymInt,
  kFloat,
  kBool,
  kStr,
  kScalar,
  kScalarType,
  kDevice,
  kLayout,
  kMemoryFormat,
  kGenerator,
  kStorage,
  kStream,
  kDimname,
  kComplex,
  kOther,
};

struct SchemaType {
  BaseType base = BaseType::kTensor;
  bool optional = false;          // T?
  bool list = false;              // T[]
  bool optional_element = false;  // Tensor?[]
  int list_size = -1;             // int[2]
  std::string other;              // kOther: the type as written
  friend bool operator==(const SchemaType&, const SchemaType&) = default;
};

struct SchemaArgument {
  std::string name;
  SchemaType type;
  std::string alias;  // "a", "a!", "a -> *" without parentheses; empty when none
  bool keyword_only = false;
  std::optional<Argument> default_value;
  friend bool operator==(const SchemaArgument&, const SchemaArgument&) = default;
  bool written() const { return alias.find('!') != std::string::npos; }
};

struct Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor", or empty
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaArgument> returns;

  friend bool operator==(const Schema&, const Schema&) = default;
  std::string qualified() const;  // "aten.add.Tensor", "aten.relu.default"
  std::string str() const;        // the notation above; parses back
  bool mutates() const;
  std::optional<std::size_t> find(std::string_view argument) const;
};

Result<Schema> parse_schema(std::string_view text);

}  // namespace triptych::ir
