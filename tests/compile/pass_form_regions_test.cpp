#include "tools/compile/passes/form_regions.h"

#include "runtime/program/expand.h"
#include "tests/compile/pass_check.h"
#include "tests/support/temp_dir.h"
#include "tools/compile/compile.h"

namespace modeld::compile {
namespace {

using test::OnnxBuilder;

TEST(FormRegions, AChainWithConstantsThatBroadcast) {
  OnnxBuilder builder = graph({2, 3, 4, 5});
  builder.constant("a", seeded({3, 1, 1}, 1)).constant("b", seeded({5}, 2));
  builder.floats("low", {}, {-0.5}).floats("high", {}, {0.75});
  builder.node("Mul", {"x", "a"}, {"m"});
  builder.node("Add", {"b", "m"}, {"s"});
  builder.node("Sigmoid", {"s"}, {"g"});
  builder.node("Clip", {"g", "low", "high"}, {"y"});
  expect_pass(builder, {form_regions}, "Mul Add Sigmoid Clip", "Pointwise", 0);
}

// A tree with a result in its middle that a reduction reads as well.
TEST(FormRegions, ResultsThatOthersReadAreOutputs) {
  OnnxBuilder builder = graph({4, 6});
  builder.ints("axes", {1}).output("z");
  builder.node("Sigmoid", {"x"}, {"s"});
  builder.node("Tanh", {"x"}, {"t"});
  builder.node("Mul", {"s", "t"}, {"m"});
  builder.node("ReduceMean", {"m", "axes"}, {"z"});
  builder.node("Abs", {"m"}, {"y"});
  expect_pass(builder, {form_regions}, "Sigmoid Tanh Mul ReduceMean Abs", "Pointwise ReduceMean",
              0);
}

// x - mean(x): the mean lies between both element-wise ops. One op for both would have to run
// before and after it.
TEST(FormRegions, LeavesAloneWhatAWayRoundConnects) {
  OnnxBuilder builder = graph({4, 6});
  builder.ints("axes", {1});
  builder.node("Abs", {"x"}, {"a"});
  builder.node("ReduceMean", {"a", "axes"}, {"m"});
  builder.node("Sub", {"a", "m"}, {"y"});
  expect_untouched(builder, form_regions, "Abs ReduceMean Sub");
}

// The second pair may not join the first: its way leads through the product.
TEST(FormRegions, WaysThroughOtherRegionsCount) {
  OnnxBuilder builder = graph({4, 4});
  builder.constant("w", seeded({4, 4}, 1));
  builder.node("Abs", {"x"}, {"a"});
  builder.node("Neg", {"a"}, {"b"});
  builder.node("MatMul", {"b", "w"}, {"c"});
  builder.node("Tanh", {"c"}, {"d"});
  builder.node("Exp", {"d"}, {"e"});
  builder.node("Add", {"a", "e"}, {"y"});
  expect_pass(builder, {form_regions}, "Abs Neg MatMul Tanh Exp Add", "Pointwise MatMul Pointwise",
              0);
}

TEST(FormRegions, LeavesAloneOtherShapesAndWideTypes) {
  OnnxBuilder wider = graph({1, 6});
  wider.constant("b", seeded({4, 6}, 1));
  wider.node("Abs", {"x"}, {"a"});
  wider.node("Add", {"a", "b"}, {"y"});
  expect_untouched(wider, form_regions, "Abs Add");
  OnnxBuilder wide(18);
  wide.input("x", DType::kFloat64, {2, 3}).output("y");
  wide.node("Abs", {"x"}, {"a"});
  wide.node("Neg", {"a"}, {"y"});
  expect_untouched(wide, form_regions, "Abs Neg");
}

TEST(FormRegions, QuantisedChainsBecomeOneOp) {
  OnnxBuilder builder(18);
  builder.input("x", DType::kUInt8, {1, 3, 4, 4}).output("y");
  builder.floats("s", {}, {0.05}).floats("t", {}, {0.03}).constant("slope", seeded({3, 1, 1}, 1));
  builder.constant("z", test::make_tensor(DType::kUInt8, {}, {3}));
  builder.node("DequantizeLinear", {"x", "s", "z"}, {"f"});
  builder.node("PRelu", {"f", "slope"}, {"p"});
  builder.node("QuantizeLinear", {"p", "t", "z"}, {"y"});
  expect_pass(builder, {form_regions}, "DequantizeLinear PRelu QuantizeLinear", "Pointwise", 0);
}

// The whole compiler: regions come last, by name, and the same file gives the same bytes.
TEST(FormRegions, AreExplainedAndRepeatable) {
  OnnxBuilder builder = graph({4, 6});
  builder.constant("b", seeded({6}, 2));
  builder.node("Add", {"x", "b"}, {"s"}).named("sum");
  builder.node("Abs", {"s"}, {"y"}).named("size");
  const test::TempDir folder;
  const auto first = compile_onnx(builder.save(folder / "m.onnx"));
  const auto second = compile_onnx(folder / "m.onnx");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->passes.back().pass, "pointwise-regions");
  EXPECT_EQ(first->passes.back().changes, std::vector<std::string>{"Add + Abs, ends at 'size'"});
  ASSERT_EQ(first->model.program.ops.size(), 1u);
  EXPECT_EQ(first->model.program.ops[0].attributes, second->model.program.ops[0].attributes);
  const Program plain = expanded(first->model.program);
  ASSERT_EQ(plain.ops.size(), 2u);
  EXPECT_EQ(plain.ops[0].kind, OpKind::kAdd);
  EXPECT_EQ(plain.ops[1].kind, OpKind::kAbs);
  EXPECT_EQ(plain.ops[1].outputs, first->model.program.outputs);
}

}  // namespace
}  // namespace modeld::compile
