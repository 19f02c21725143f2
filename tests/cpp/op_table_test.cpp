#include "ops/op_table.h"

#include <thread>

#include <doctest/doctest.h>

using namespace triptych;
using namespace triptych::ops;

TEST_CASE("rows are found by name, by enumerator, by target") {
  const OpInfo* add = find("aten.add.Tensor");
  REQUIRE(add != nullptr);
  CHECK(add->op == Op::kAdd_Tensor);
  CHECK(info(Op::kAdd_Tensor).name == "aten.add.Tensor");
  CHECK(add->has(Tag::kPointwise));
  CHECK(!add->has(Tag::kRandom));
  CHECK(find(*target(Op::kAdd_Tensor)) == add);
  CHECK(target(Op::kAdd_Tensor)->schema->arguments.size() == 3);
  CHECK(find("aten.no_such.op") == nullptr);
  CHECK(find_target("aten.relu.default") == target(Op::kRelu));
  CHECK(find_target("no.such") == nullptr);
}

TEST_CASE("rows are sorted and sane") {
  std::string_view before;
  for (const OpInfo& row : all()) {
    CHECK(before < row.name);
    before = row.name;
    CHECK(&info(row.op) == &row);
    const int lowerings =
        !row.expression.empty() + !row.lowering.empty() + !row.no_lowering.empty();
    CHECK((lowerings == 1 || (lowerings == 0 && !row.decomposition.empty())));
    CHECK(row.has(Tag::kHasOut) == !row.out_schema.empty());
  }
}

TEST_CASE("custom ops are registered once") {
  const auto first = register_op("op_table_test::f(Tensor x) -> Tensor");
  REQUIRE(first.ok());
  CHECK(register_op("op_table_test::f(Tensor x) -> Tensor").value() == first.value());
  CHECK(find(*first.value()) == nullptr);
  CHECK(find_target("op_table_test.f.default") == first.value());
  const auto other = register_op("op_table_test::f(Tensor x, int y) -> Tensor");
  REQUIRE(!other.ok());
  CHECK(other.error().kind == ErrorKind::kUser);
  CHECK(!register_op("aten::add.Tensor(Tensor x) -> Tensor").ok());
  CHECK(!register_op("no schema").ok());
}

TEST_CASE("targets are one per name from any thread") {
  std::vector<std::thread> threads;
  std::vector<const ir::Target*> found(8);
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&found, i] { found[i] = target(Op::kMul_Tensor); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const ir::Target* one : found) CHECK(one == found[0]);
}
