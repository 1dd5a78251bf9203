#include "tools/compile/passes/common_subexpressions.h"

#include "tests/compile/pass_check.h"

namespace modeld::compile {
namespace {

using test::OnnxBuilder;

TEST(CommonSubexpressions, ChainsThatComputeTheSameAreComputedOnce) {
  OnnxBuilder builder = graph({2, 3});
  for (const std::string side : {"l", "r"}) {
    builder.floats("half_" + side, {}, {0.5});  // equal constants, two tensors
    builder.node("Mul", {"x", "half_" + side}, {side + "1"});
    builder.node("Tanh", {side + "1"}, {side + "2"});
  }
  builder.node("Add", {"l2", "r2"}, {"y"});
  expect_pass(builder, {merge_common_subexpressions}, "Mul Tanh Mul Tanh Add", "Mul Tanh Add", 0);
}

TEST(CommonSubexpressions, AttributesAndConstantsMustBeEqual) {
  OnnxBuilder builder = graph({2, 3});
  builder.floats("a", {}, {0.5}).floats("b", {}, {0.25}).floats("c", {1}, {0.5});
  builder.node("Mul", {"x", "a"}, {"p"});
  builder.node("Mul", {"x", "b"}, {"q"});
  builder.node("Mul", {"a", "x"}, {"r"});  // the same number, but no pass reorders
  builder.node("Elu", {"x"}, {"s"}).with("alpha", 0.5f);
  builder.node("Elu", {"x"}, {"t"}).with("alpha", 0.25f);
  builder.node("Sum", {"p", "q", "r", "s", "t"}, {"y"});
  expect_untouched(builder, merge_common_subexpressions, "Mul Mul Mul Elu Elu Add Add Add Add");
}

TEST(CommonSubexpressions, OutputsOfTheProgramKeepTheirOps) {
  OnnxBuilder builder = graph({2, 3});
  builder.output("z");
  builder.node("Tanh", {"x"}, {"y"});
  builder.node("Tanh", {"x"}, {"z"});
  expect_untouched(builder, merge_common_subexpressions, "Tanh Tanh");
}

TEST(CommonSubexpressions, AllOutputsOfAnOpAreMerged) {
  OnnxBuilder builder = graph({4, 2});
  builder.ints("parts", {1, 3});
  for (const std::string side : {"l", "r"}) {
    builder.node("Split", {"x", "parts"}, {side + "a", side + "b"}).with("axis", 0);
  }
  builder.node("Concat", {"la", "rb"}, {"y"}).with("axis", 0);
  expect_pass(builder, {merge_common_subexpressions}, "Split Split Concat", "Split Concat", 0);
}

}  // namespace
}  // namespace modeld::compile
