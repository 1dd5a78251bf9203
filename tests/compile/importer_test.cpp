// ONNX nodes to canonical ops: the different spellings of one thing, and every refusal by name.
// What the ops compute is proven by the ONNX cases (conformance_test.cpp).
#include "tools/compile/importer.h"

#include <gtest/gtest.h>

#include "tests/compile/import_helpers.h"

namespace modeld::compile {
namespace {

using test::make_tensor;
using test::OnnxBuilder;

Imported must_import(const OnnxBuilder& builder) {
  auto imported = import_file(builder);
  EXPECT_TRUE(imported.ok()) << to_string(imported.error());
  return imported.ok() ? std::move(imported).value() : Imported{};
}

OnnxBuilder graph_of(int64_t opset, const Shape& shape, DType dtype = DType::kFloat32) {
  OnnxBuilder builder(opset);
  builder.input("x", dtype, shape).output("y");
  return builder;
}

Shape output_shape(const Imported& imported) {
  return imported.draft.shape(imported.outputs.at("y"));
}

TEST(Importer, OpenFirstAxisIsOneAndOthersAreRefused) {
  OnnxBuilder batch = graph_of(13, {-1, 4});
  batch.node("Relu", {"x"}, {"y"});
  EXPECT_EQ(output_shape(must_import(batch)), (Shape{1, 4}));
  OnnxBuilder width = graph_of(13, {1, -1});
  width.node("Relu", {"x"}, {"y"});
  expect_refusal(import_file(width), "input 'x' has a dynamic shape");
}

TEST(Importer, ClipBoundsAsAttributesAndAsInputs) {
  OnnxBuilder old_form = graph_of(9, {4});
  old_form.node("Clip", {"x"}, {"y"}).with("min", 0.0f).with("max", 6.0f);
  OnnxBuilder new_form = graph_of(13, {4});
  new_form.floats("lo", {}, {0}).floats("hi", {}, {6});
  new_form.node("Clip", {"x", "lo", "hi"}, {"y"});
  for (const OnnxBuilder& builder : {old_form, new_form}) {
    const Imported imported = must_import(builder);
    ASSERT_EQ(kinds(imported.draft), "Clip");
    EXPECT_EQ(imported.draft.ops[0].attributes.get_float("min"), 0);
    EXPECT_EQ(imported.draft.ops[0].attributes.get_float("max"), 6);
  }
  OnnxBuilder open = graph_of(13, {4});
  open.floats("hi", {}, {6});
  open.node("Clip", {"x", "", "hi"}, {"y"});
  EXPECT_FALSE(must_import(open).draft.ops[0].attributes.has("min"));
}

TEST(Importer, SoftmaxBefore13NormalisesRowsOfAMatrix) {
  OnnxBuilder builder = graph_of(11, {2, 3, 4});
  builder.node("Softmax", {"x"}, {"y"}).with("axis", 1);
  const Imported imported = must_import(builder);
  ASSERT_EQ(kinds(imported.draft), "Reshape Softmax Reshape");
  EXPECT_EQ(imported.draft.shape(imported.draft.ops[0].outputs[0]), (Shape{2, 12}));
  EXPECT_EQ(output_shape(imported), (Shape{2, 3, 4}));
  OnnxBuilder last = graph_of(11, {2, 3});
  last.node("Softmax", {"x"}, {"y"});
  EXPECT_EQ(kinds(must_import(last).draft), "Softmax");
}

TEST(Importer, AxesAsAttributeAndAsInput) {
  for (const auto& [op, attribute_opset] :
       {std::pair{"ReduceSum", 11}, {"ReduceMean", 13}, {"Squeeze", 11}}) {
    OnnxBuilder old_form = graph_of(attribute_opset, {2, 1, 3});
    old_form.node(op, {"x"}, {"y"}).with("axes", std::vector<int64_t>{-2});
    OnnxBuilder new_form = graph_of(18, {2, 1, 3});
    new_form.ints("axes", {1});
    new_form.node(op, {"x", "axes"}, {"y"});
    EXPECT_EQ(output_shape(must_import(old_form)), output_shape(must_import(new_form))) << op;
  }
}

TEST(Importer, SliceSpellingsAgree) {
  OnnxBuilder old_form = graph_of(9, {2, 10});
  old_form.node("Slice", {"x"}, {"y"})
      .with("starts", std::vector<int64_t>{-3})
      .with("ends", std::vector<int64_t>{1000})
      .with("axes", std::vector<int64_t>{1});
  OnnxBuilder new_form = graph_of(13, {2, 10});
  new_form.ints("s", {-3}).ints("e", {9223372036854775807}).ints("a", {-1}).ints("st", {1});
  new_form.node("Slice", {"x", "s", "e", "a", "st"}, {"y"});
  for (const OnnxBuilder& builder : {old_form, new_form}) {
    const Imported imported = must_import(builder);
    EXPECT_EQ(imported.draft.ops[0].attributes.get_ints("starts"), (std::vector<int64_t>{0, 7}));
    EXPECT_EQ(imported.draft.ops[0].attributes.get_ints("sizes"), (std::vector<int64_t>{2, 3}));
  }
}

TEST(Importer, AutoPadPutsTheOddElementAtTheRightEnd) {
  for (const auto& [mode, pads] : {std::pair{"SAME_UPPER", std::vector<int64_t>{1, 0, 1, 1}},
                                   {"SAME_LOWER", std::vector<int64_t>{1, 1, 1, 0}},
                                   {"VALID", std::vector<int64_t>{0, 0, 0, 0}}}) {
    // A 3x3 kernel: 5 rows at stride 1 need 1 + 1, 8 columns at stride 2 need 1 in all.
    OnnxBuilder builder = graph_of(13, {1, 1, 5, 8});
    builder.constant("w", make_tensor(DType::kFloat32, {1, 1, 3, 3}, std::vector<double>(9, 1)));
    builder.node("Conv", {"x", "w"}, {"y"})
        .with("auto_pad", mode)
        .with("strides", std::vector<int64_t>{1, 2});
    EXPECT_EQ(must_import(builder).draft.ops[0].attributes.get_ints("pads"), pads) << mode;
  }
}

TEST(Importer, ShapeArithmeticIsFolded) {
  OnnxBuilder builder = graph_of(13, {2, 3, 4});
  builder.ints("two", {2}).ints("minus", {-1}).ints("zero", {0});
  builder.node("Shape", {"x"}, {"shape"});
  builder.node("Gather", {"shape", "zero"}, {"first"}).with("axis", 0);
  builder.node("Mul", {"first", "two"}, {"twice"});
  builder.node("Concat", {"twice", "minus"}, {"target"}).with("axis", 0);
  builder.node("Reshape", {"x", "target"}, {"y"});
  const Imported imported = must_import(builder);
  EXPECT_EQ(kinds(imported.draft), "Reshape");
  EXPECT_EQ(output_shape(imported), (Shape{4, 6}));
}

TEST(Importer, InferenceDropoutIsGone) {
  OnnxBuilder builder = graph_of(13, {2, 2});
  builder.node("Dropout", {"x"}, {"d", "mask"});
  builder.node("Relu", {"d"}, {"y"});
  EXPECT_EQ(kinds(must_import(builder).draft), "Relu");
}

// Refusals: each names the node.

void expect_node_refusal(const OnnxBuilder& builder, const std::string& word) {
  const auto imported = import_file(builder);
  expect_refusal(imported, word);
  if (!imported.ok()) {
    EXPECT_NE(to_string(imported.error()).find("node 'guilty'"), std::string::npos)
        << to_string(imported.error());
  }
}

TEST(ImporterRefusals, UnknownOpsWithDomainAndOpset) {
  OnnxBuilder unknown = graph_of(17, {4});
  unknown.node("Frobnicate", {"x"}, {"y"}).named("guilty");
  expect_node_refusal(unknown, "unknown op 'Frobnicate' of domain 'ai.onnx', opset 17");
  OnnxBuilder foreign = graph_of(17, {4});
  foreign.node("Relu", {"x"}, {"y"}).named("guilty").domain("com.example");
  expect_node_refusal(foreign, "unknown op 'Relu' of domain 'com.example', opset none declared");
  OnnxBuilder ancient = graph_of(6, {4});
  ancient.node("Add", {"x", "x"}, {"y"}).named("guilty");
  expect_node_refusal(ancient, "opset 7 or newer");
}

TEST(ImporterRefusals, TrainingDomainsAndOptimizers) {
  for (const auto& [op, domain] : {std::pair{"Adam", "ai.onnx.preview.training"},
                                   {"Momentum", "ai.onnx.preview.training"},
                                   {"Adagrad", "ai.onnx.preview.training"},
                                   {"Gradient", "ai.onnx.preview.training"},
                                   {"GraphCall", "ai.onnx.training"},
                                   {"Adam", ""},
                                   {"Anything", "ai.onnx.training"}}) {
    OnnxBuilder builder = graph_of(17, {4});
    builder.node(op, {"x"}, {"y"}).named("guilty").domain(domain);
    expect_node_refusal(builder, "training op");
  }
}

OnnxBuilder batch_norm(int64_t opset) {
  OnnxBuilder builder = graph_of(opset, {1, 2, 3});
  builder.floats("s", {2}, {1, 1}).floats("b", {2}, {0, 0});
  builder.floats("m", {2}, {0, 0}).floats("v", {2}, {1, 1});
  return builder;
}

TEST(ImporterRefusals, TrainingModes) {
  OnnxBuilder by_attribute = batch_norm(15);
  by_attribute.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "rm", "rv"})
      .named("guilty")
      .with("training_mode", 1);
  expect_node_refusal(by_attribute, "training mode");
  OnnxBuilder by_outputs = batch_norm(9);
  by_outputs.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "rm", "rv"})
      .named("guilty");
  expect_node_refusal(by_outputs, "training mode");
  OnnxBuilder dropout = graph_of(13, {4});
  dropout.constant("r", make_tensor(DType::kFloat32, {}, {0.5}));
  dropout.constant("t", make_tensor(DType::kBool, {}, {1}));
  dropout.node("Dropout", {"x", "r", "t"}, {"y"}).named("guilty");
  expect_node_refusal(dropout, "training mode");
}

TEST(ImporterRefusals, ControlFlow) {
  for (const char* op : {"Loop", "Scan"}) {
    OnnxBuilder builder = graph_of(17, {4});
    builder.node(op, {"x"}, {"y"}).named("guilty").with_graph("body");
    expect_node_refusal(builder, "control flow");
  }
}

// A branch of one node that reads `input` of the enclosing graph.
void add_branch(test::NodeBuilder node, const std::string& name, const std::string& op_type,
                const std::string& input) {
  auto& attribute = *node.proto().add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  auto& graph = *attribute.mutable_g();
  auto& inner = *graph.add_node();
  inner.set_op_type(op_type);
  inner.add_input(input);
  inner.add_output("result");
  graph.add_output()->set_name("result");
}

OnnxBuilder conditional(bool constant, double condition) {
  OnnxBuilder builder = graph_of(17, {4});
  if (constant) {
    builder.constant("c", make_tensor(DType::kBool, {}, {condition}));
  } else {
    builder.input("c", DType::kBool, {});
  }
  auto node = builder.node("If", {"c"}, {"y"}).named("guilty");
  add_branch(node, "then_branch", "Relu", "x");
  add_branch(node, "else_branch", "Neg", "x");
  return builder;
}

TEST(Importer, IfTakesTheBranchKnownWhenBuilding) {
  EXPECT_EQ(kinds(must_import(conditional(true, 1)).draft), "Relu");
  EXPECT_EQ(kinds(must_import(conditional(true, 0)).draft), "Neg");
}

TEST(ImporterRefusals, IfOnRunTimeValues) {
  expect_node_refusal(conditional(false, 0), "the condition depends on run-time values");
}

TEST(ImporterRefusals, BranchesSeeNoLaterValues) {
  OnnxBuilder builder = graph_of(17, {4});
  builder.constant("c", make_tensor(DType::kBool, {}, {1}));
  auto node = builder.node("If", {"c"}, {"y"}).named("guilty");
  add_branch(node, "then_branch", "Relu", "later");
  add_branch(node, "else_branch", "Relu", "x");
  builder.node("Neg", {"x"}, {"later"});
  expect_refusal(import_file(builder), "written by no node before it");
}

OnnxBuilder suppression(bool bounded) {
  OnnxBuilder builder(11);
  builder.input("x", DType::kFloat32, {1, 6, 4}).input("s", DType::kFloat32, {1, 2, 6});
  builder.output("y");
  builder.ints("m", {3});
  builder
      .node("NonMaxSuppression", bounded ? test::Names{"x", "s", "m"} : test::Names{"x", "s"},
            {"y"})
      .named("guilty");
  return builder;
}

TEST(Importer, SuppressionIsAsLargeAsItsBound) {
  EXPECT_EQ(output_shape(must_import(suppression(true))), (Shape{6, 3}));
}

TEST(ImporterRefusals, SuppressionWithoutABound) {
  expect_node_refusal(suppression(false), "nothing bounds the number of results");
}

TEST(ImporterRefusals, ScatterIndexOutOfRange) {
  OnnxBuilder builder = graph_of(18, {4});
  builder.ints("i", {-5});
  builder.floats("u", {1}, {7});
  builder.node("ScatterElements", {"x", "i", "u"}, {"y"}).named("guilty");
  expect_node_refusal(builder, "index is out of range");
}

TEST(Importer, QuantisedConvolutionIsAnIntegerOne) {
  OnnxBuilder builder = graph_of(13, {1, 2, 4, 4}, DType::kUInt8);
  builder.floats("xs", {}, {0.5}).floats("ws", {3}, {1, 2, 3}).floats("ys", {}, {2});
  builder.constant("xz", make_tensor(DType::kUInt8, {}, {3}));
  builder.constant("wz", make_tensor(DType::kInt8, {3}, {0, 0, 0}));
  builder.constant("yz", make_tensor(DType::kUInt8, {}, {9}));
  builder.constant("w", make_tensor(DType::kInt8, {3, 2, 1, 1}, {1, 2, 3, 4, 5, 6}));
  builder.constant("b", make_tensor(DType::kInt32, {3}, {1, 2, 3}));
  builder.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}, {"y"});
  const Imported imported = must_import(builder);
  EXPECT_EQ(kinds(imported.draft), "ConvInteger Add Cast Mul QuantizeLinear");
  EXPECT_EQ(imported.draft.dtype(imported.outputs.at("y")), DType::kUInt8);
}

TEST(Importer, OnnxRuntimesOps) {
  OnnxBuilder gelu = graph_of(17, {4});
  gelu.node("Gelu", {"x"}, {"y"}).domain("com.microsoft");
  EXPECT_EQ(kinds(must_import(gelu).draft), "Gelu");
  OnnxBuilder fused = graph_of(17, {1, 1, 4, 4});
  fused.floats("w", {1, 1, 1, 1}, {2});
  fused.node("FusedConv", {"x", "w", "", "x"}, {"y"})
      .domain("com.microsoft")
      .with("activation", "Relu");
  const Imported imported = must_import(fused);
  ASSERT_EQ(kinds(imported.draft), "Conv");
  EXPECT_EQ(imported.draft.ops[0].inputs.size(), 4u);
  EXPECT_EQ(imported.draft.ops[0].attributes.get_string("activation"), "Relu");
  OnnxBuilder sum = graph_of(17, {4}, DType::kUInt8);
  sum.floats("s", {}, {0.5}).constant("z", make_tensor(DType::kUInt8, {}, {3}));
  sum.node("QLinearAdd", {"x", "s", "z", "x", "s", "z", "s", "z"}, {"y"}).domain("com.microsoft");
  EXPECT_EQ(output_shape(must_import(sum)), (Shape{4}));
  OnnxBuilder joined = graph_of(17, {2, 4}, DType::kUInt8);
  joined.floats("s", {}, {0.5}).constant("z", make_tensor(DType::kUInt8, {}, {3}));
  joined.node("QLinearConcat", {"s", "z", "x", "s", "z", "x", "s", "z"}, {"y"})
      .domain("com.microsoft")
      .with("axis", 1);
  EXPECT_EQ(output_shape(must_import(joined)), (Shape{2, 8}));
}

TEST(ImporterRefusals, DynamicShapes) {
  OnnxBuilder builder = graph_of(17, {4});
  builder.input("s", DType::kInt64, {1});
  builder.node("Reshape", {"x", "s"}, {"y"}).named("guilty");
  expect_node_refusal(builder, "'shape' depends on run-time values");
}

TEST(ImporterRefusals, ConstantIndexOutOfRange) {
  OnnxBuilder builder = graph_of(17, {4, 2});
  builder.ints("i", {0, 4});
  builder.node("Gather", {"x", "i"}, {"y"}).named("guilty");
  expect_node_refusal(builder, "index is out of range");
}

TEST(ImporterRefusals, AttributesNobodyKnows) {
  OnnxBuilder extra = graph_of(17, {4});
  extra.node("Relu", {"x"}, {"y"}).named("guilty").with("slope", 0.5f);
  expect_node_refusal(extra, "attribute 'slope'");
  OnnxBuilder kind = graph_of(17, {4});
  kind.node("LeakyRelu", {"x"}, {"y"}).named("guilty").with("alpha", 1);
  expect_node_refusal(kind, "attribute 'alpha' is of another kind");
  OnnxBuilder outputs = graph_of(17, {1, 1, 4, 4});
  outputs.output("more");
  outputs.node("AveragePool", {"x"}, {"y", "more"})
      .named("guilty")
      .with("kernel_shape", std::vector<int64_t>{2, 2});
  expect_node_refusal(outputs, "output 1 is not supported");
}

TEST(ImporterRefusals, ShapesThatCannotBe) {
  OnnxBuilder vast = graph_of(17, {1});
  vast.ints("s", {int64_t{1} << 20, int64_t{1} << 20});
  vast.node("Expand", {"x", "s"}, {"y"}).named("guilty");
  expect_node_refusal(vast, "too large");
  OnnxBuilder filled = graph_of(17, {1});
  filled.ints("s", {int64_t{1} << 40});
  filled.node("ConstantOfShape", {"s"}, {"y"}).named("guilty");
  expect_node_refusal(filled, "too large");
  OnnxBuilder negative = graph_of(17, {4});
  negative.ints("s", {-2, -2});
  negative.node("Reshape", {"x", "s"}, {"y"}).named("guilty");
  expect_node_refusal(negative, "impossible 'shape'");
  OnnxBuilder pads = graph_of(17, {1, 1, 4, 4});
  pads.constant("w", make_tensor(DType::kFloat32, {1, 1, 1, 1}, {1}));
  pads.node("Conv", {"x", "w"}, {"y"})
      .named("guilty")
      .with("pads", std::vector<int64_t>{9223372036854775807, 0, 0, 0});
  expect_node_refusal(pads, "attribute 'pads'");
}

TEST(ImporterRefusals, FoldingIsBounded) {
  OnnxBuilder builder = graph_of(17, {1});
  builder.ints("s", {100'000});
  builder.node("ConstantOfShape", {"s"}, {"first"}).named("innocent");
  builder.node("ConstantOfShape", {"s"}, {"second"}).named("innocent too");
  builder.node("ConstantOfShape", {"s"}, {"third"}).named("guilty");
  builder.node("Relu", {"x"}, {"y"});
  FoldBudget budget;
  budget.bytes = 1'000'000;  // two constants of 400,000 bytes, not three
  const auto imported = import_file(builder, budget);
  expect_refusal(imported, "too large");
  expect_refusal(imported, "node 'guilty'");
}

// A kilobyte that asks for 10^14 steps: the window counts, not the elements alone.
TEST(ImporterRefusals, LargeWindowsOverConstantsAreNotFolded) {
  for (const char* const kind : {"MaxPool", "AveragePool"}) {
    OnnxBuilder builder = graph_of(17, {1});
    builder.ints("s", {1, 1, 3000, 3000});
    builder.node("ConstantOfShape", {"s"}, {"zeros"});
    builder.node(kind, {"zeros"}, {"pooled"})
        .with("kernel_shape", std::vector<int64_t>{1500, 1500});
    builder.node("Add", {"x", "pooled"}, {"y"});
    const auto imported = import_file(builder);
    ASSERT_TRUE(imported.ok()) << to_string(imported.error());
    EXPECT_EQ(kinds(imported->draft), std::string(kind) + " Add");
  }
}

TEST(ImporterRefusals, SmallFilesMakeSmallConstantsOnly) {
  OnnxBuilder builder = graph_of(17, {1});
  builder.ints("s", {30'000'000});  // 120 MB
  builder.node("ConstantOfShape", {"s"}, {"zeros"}).named("guilty");
  builder.node("Add", {"x", "zeros"}, {"y"});
  expect_refusal(import_file(builder), "node 'guilty'");
  FoldBudget budget;
  budget.allow_for(8'000'000);  // a file with that many bytes of weights
  const auto imported = import_file(builder, budget);
  EXPECT_TRUE(imported.ok()) << to_string(imported.error());
}

}  // namespace
}  // namespace modeld::compile
