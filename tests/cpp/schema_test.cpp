#include "ir/schema.h"

#include <doctest/doctest.h>

#include "ir/literal_text.h"
#include "ops/op_table.h"

using namespace triptych;
using namespace triptych::ir;

namespace {

Schema parsed(std::string_view text) {
  auto schema = parse_schema(text);
  REQUIRE_MESSAGE(schema.ok(), std::string(text), ": ",
                  (schema.ok() ? std::string() : schema.error().message));
  return std::move(schema).value();
}

std::string default_of(std::string_view text) {
  const Schema schema = parsed(text);
  std::string out;
  REQUIRE(schema.arguments.back().default_value);
  append_literal(*schema.arguments.back().default_value, out);
  return out;
}

}  // namespace

TEST_CASE("every schema of the op table parses and prints back") {
  int count = 0;
  for (const ops::OpInfo& row : ops::all()) {
    for (const std::string_view text : {row.schema, row.out_schema}) {
      if (text.empty()) continue;
      const Schema schema = parsed(text);
      REQUIRE(parsed(schema.str()) == schema);
      ++count;
    }
    REQUIRE(parsed(row.schema).qualified() == row.name);
  }
  CHECK(count > 500);
}

TEST_CASE("notation") {
  for (const std::string_view text : {
           "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
           "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
           "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
           "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
           "indices)",
           "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
           "aten::sum.dim_IntList(Tensor self, int[1]? dim, *, ScalarType? dtype=None) -> Tensor",
           "aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
           "aten::conv(Tensor input, Generator? generator=None, bool[3] mask=[True, False, True]) "
           "-> Tensor",
           "my_lib::op(Tensor x, str mode=\"a b\", float eps=1e-05, float[]? scale=None) -> "
           "(Tensor, Tensor)",
           "my_lib::object(__torch__.torch.classes.a.B x, Dict(str, Tensor) d, (Tensor, int) t) -> "
           "Any",
       }) {
    CHECK(parsed(text).str() == text);
  }
}

TEST_CASE("defaults have the type of their argument") {
  CHECK(default_of("a::b(float x=1) -> ()") == "1.0");
  CHECK(default_of("a::b(int[2] x=1) -> ()") == "[1, 1]");
  CHECK(default_of("a::b(int[2]? x=None) -> ()") == "None");
  CHECK(default_of("a::b(SymInt[] x=[]) -> ()") == "[]");
  CHECK(default_of("a::b(int x=Mean) -> ()") == "1");
  CHECK(default_of("a::b(str x='none') -> ()") == "\"none\"");
  CHECK(default_of("a::b(ScalarType x=long) -> ()") == "torch.int64");
  CHECK(default_of("a::b(ScalarType? x=6) -> ()") == "torch.float32");
  CHECK(default_of("a::b(MemoryFormat? x=contiguous_format) -> ()") == "torch.contiguous_format");
  CHECK(default_of("a::b(Scalar x=1) -> ()") == "1");
  CHECK(default_of("a::b(float x=inf) -> ()") == "inf");
}

TEST_CASE("aliases and keyword-only arguments") {
  const Schema schema =
      parsed("aten::copy_(Tensor(a!) self, Tensor src, *, bool x=False) -> Tensor(a!)");
  CHECK(schema.mutates());
  CHECK(schema.arguments[0].written());
  CHECK(!schema.arguments[1].written());
  CHECK(schema.arguments[2].keyword_only);
  CHECK(schema.find("src") == 1);
  CHECK(!schema.find("nothing"));
  CHECK(schema.qualified() == "aten.copy_.default");
  const Schema list = parsed("a::b(Tensor?[] x) -> ()");
  CHECK(list.arguments[0].type.list);
  CHECK(list.arguments[0].type.optional_element);
  CHECK(!list.arguments[0].type.optional);
}

TEST_CASE("mistakes are named") {
  const auto message = [](std::string_view text) { return parse_schema(text).error().message; };
  CHECK(message("add(Tensor x) -> Tensor") ==
        "line 1, column 4: found '(', expected an operator name as 'namespace::name'");
  CHECK(message("a::b(Tensor x -> Tensor") == "line 1, column 15: found '-', expected ','");
  CHECK(message("a::b(Tensor) -> Tensor") ==
        "line 1, column 12: found ')', expected the argument's name");
  CHECK(message("a::b(Tensor x) -> Tensor z") ==
        "line 1, column 26: found 'z', expected the end of the schema");
}
