// Storing floats as halves or doubles: the programs, what it costs, and what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/compile/model_runner.h"
#include "tests/compile/pass_check.h"
#include "tools/compile/compile.h"
#include "tools/compile/passes/dead_code.h"
#include "tools/compile/passes/remove_noops.h"
#include "tools/compile/store_floats.h"

namespace modeld::compile {
namespace {

using test::make_tensor;
using test::OnnxBuilder;

Result<Changes> as_half(Draft& draft) {
  MODELD_TRY(store_floats(draft, DType::kFloat16));
  return Changes{};
}
Result<Changes> as_double(Draft& draft) {
  MODELD_TRY(store_floats(draft, DType::kFloat64));
  return Changes{};
}

Result<CompiledModel> compiled(const OnnxBuilder& builder, Precision precision) {
  const test::TempDir folder;
  CompileOptions options;
  options.precision = precision;
  return compile_onnx(builder.save(folder / "m.onnx"), options);
}

double output_of(const Model& model, const test::Tensors& inputs) {
  const auto outputs = test::ModelRunner(model).run(inputs);
  return test::to_doubles(outputs.at("y").type.dtype, outputs.at("y").bytes)[0];
}

OnnxBuilder small_network() {
  OnnxBuilder builder = graph({1, 4, 5, 5});
  builder.constant("w", seeded({6, 4, 3, 3}, 1));
  builder.node("Conv", {"x", "w"}, {"c"}).named("conv");
  builder.node("Tanh", {"c"}, {"t"}).named("tanh");
  builder.node("Exp", {"t"}, {"y"}).named("exp");
  return builder;
}

TEST(StoreFloats, CastsAtTheBorderOnly) {
  expect_pass(small_network(), {as_half}, "Conv Tanh Exp", "Cast Conv Tanh Exp Cast", 1e-2);
  expect_pass(small_network(), {as_double}, "Conv Tanh Exp", "Cast Conv Tanh Exp Cast", 1e-5);
}

TEST(StoreFloats, IntegersAndTheNetworksOwnHalvesStay) {
  OnnxBuilder builder(18);
  builder.input("x", DType::kInt32, {4}).output("y");
  builder.node("Add", {"x", "x"}, {"y"});
  expect_untouched(builder, as_half, "Add");
  OnnxBuilder half(18);
  half.input("x", DType::kFloat16, {4}).output("y");
  half.node("Tanh", {"x"}, {"y"});
  expect_untouched(half, as_half, "Tanh");
}

TEST(StoreFloats, AnOutputThatIsReadIsReadInTheNewType) {
  OnnxBuilder builder = graph({4});
  builder.output("a");
  builder.node("Tanh", {"x"}, {"a"});
  builder.node("Exp", {"a"}, {"y"});
  expect_pass(builder, {as_half}, "Tanh Exp", "Cast Tanh Cast Exp Cast", 1e-2);
}

TEST(StoreFloats, CastsOfTheNetworkLeadToTheNewType) {
  OnnxBuilder builder(18);
  builder.input("x", DType::kUInt8, {4}).output("y");
  builder.node("Cast", {"x"}, {"f"}).with("to", test::onnx_number(DType::kFloat32));
  builder.node("Tanh", {"f"}, {"t"});
  builder.node("Cast", {"t"}, {"y"}).with("to", test::onnx_number(DType::kInt32));
  expect_pass(builder, {as_half}, "Cast Tanh Cast", "Cast Tanh Cast", 0);
}

TEST(StoreFloats, AConstantThatOverflowsIsNamed) {
  OnnxBuilder builder = graph({2});
  builder.floats("large", {2}, {1, 1e5});
  builder.node("Mul", {"x", "large"}, {"y"});
  auto imported = import_file(builder);
  ASSERT_TRUE(imported.ok());
  expect_refusal(store_floats(imported->draft, DType::kFloat16), "constant 'large' overflows f16");
  imported = import_file(builder);
  EXPECT_TRUE(store_floats(imported->draft, DType::kBFloat16).ok());
}

TEST(Precision, HalvesMakeTheArtifactHalfAsLarge) {
  const auto single = compiled(small_network(), Precision::kFloat32);
  ASSERT_TRUE(single.ok()) << to_string(single.error());
  for (const Precision precision : {Precision::kFloat16, Precision::kBFloat16}) {
    const auto half = compiled(small_network(), precision);
    ASSERT_TRUE(half.ok()) << to_string(half.error());
    EXPECT_EQ(half->model.contract.precision, precision);
    EXPECT_EQ(half->model.contract.outputs[0].type, single->model.contract.outputs[0].type);
    EXPECT_EQ(half->model.contract.inputs[0].type, single->model.contract.inputs[0].type);
    EXPECT_LE(half->model.weights->size(), (single->model.weights->size() + 256) / 2);
    const HostTensor x = seeded({1, 4, 5, 5}, 3);
    EXPECT_NEAR(output_of(half->model, {{"x", x}}), output_of(single->model, {{"x", x}}), 2e-2);
  }
}

// The measured error is a rounding of the policy, the tolerance a multiple of it inside the bound.
TEST(Precision, ErrorsAreMeasuredAgainstDouble) {
  double previous = 0;
  for (const auto& [precision, unit] :
       {std::pair(Precision::kFloat32, 1e-4), std::pair(Precision::kFloat16, 1e-2),
        std::pair(Precision::kBFloat16, 8e-2)}) {
    const auto model = compiled(small_network(), precision);
    ASSERT_TRUE(model.ok()) << to_string(model.error());
    ASSERT_EQ(model->errors.size(), 1u);
    const SliceError& error = model->errors[0];
    EXPECT_EQ(error.output, "y");
    EXPECT_GT(error.error, previous);
    EXPECT_LT(error.error, error.bound);
    const double tolerance = model->model.contract.outputs[0].slices[0].tolerances[0].absolute;
    EXPECT_EQ(tolerance, error.tolerance);
    EXPECT_GE(tolerance, 0.5 * error.bound);
    EXPECT_LE(tolerance, error.bound);
    EXPECT_GE(error.bound, unit);      // of magnitudes from 1 ..
    EXPECT_LE(error.bound, unit * 3);  // .. to e, which is what exp(tanh()) reaches
    previous = error.error;
  }
}

// (x * 5000 + 1) - x * 5000: single precision keeps some of the 1, halves none.
TEST(Precision, AnErrorAboveTheBoundIsRefusedBySlice) {
  OnnxBuilder builder = graph({8});
  builder.floats("large", {}, {5000}).floats("one", {}, {1});
  builder.node("Mul", {"x", "large"}, {"l"});
  builder.node("Add", {"l", "one"}, {"m"});
  builder.node("Sub", {"m", "l"}, {"d"});
  builder.node("Mul", {"d", "x"}, {"y"});
  EXPECT_TRUE(compiled(builder, Precision::kFloat32).ok());
  for (const Precision precision : {Precision::kFloat16, Precision::kBFloat16}) {
    const auto refused = compiled(builder, precision);
    ASSERT_FALSE(refused.ok());
    const std::string text = to_string(refused.error());
    EXPECT_NE(text.find("slice 'all' of output 'y'"), std::string::npos) << text;
    EXPECT_NE(text.find("expected at most 0."), std::string::npos) << text;
  }
}

// (x + 1) - x is one and some rounding, which a device may do elsewhere; x is not.
TEST(Precision, WhatOnlyRoundingMovesDoesNotVary) {
  OnnxBuilder builder = graph({2, 8});
  builder.output("z").floats("one", {}, {1});
  builder.node("Add", {"x", "one"}, {"s"});
  builder.node("Sub", {"s", "x"}, {"y"});
  builder.node("Neg", {"x"}, {"z"});
  for (const Precision precision : {Precision::kFloat16, Precision::kBFloat16}) {
    const auto model = compiled(builder, precision);
    ASSERT_TRUE(model.ok()) << to_string(model.error());
    EXPECT_FALSE(model->model.contract.outputs[0].slices[0].varies);
    EXPECT_TRUE(model->model.contract.outputs[1].slices[0].varies);
  }
}

// Field fault 26. The mean of noise times 500 is 63750, of a white frame 127500.
TEST(FieldFault26, OverflowOfHalvesOnAWhiteFrameIsNamed) {
  OnnxBuilder builder(18);
  builder.input("x", DType::kUInt8, {1, 64, 64}).output("y");
  builder.ints("axes", {1, 2}).floats("gain", {}, {500}).floats("down", {}, {0.001});
  builder.node("Cast", {"x"}, {"f"}).with("to", test::onnx_number(DType::kFloat32));
  builder.node("ReduceMean", {"f", "axes"}, {"m"}).named("mean").with("keepdims", 0);
  builder.node("Mul", {"m", "gain"}, {"g"}).named("gained");
  builder.node("Sigmoid", {"g"}, {"s"});  // hides it
  builder.node("Mul", {"s", "down"}, {"y"});
  const auto refused = compiled(builder, Precision::kFloat16);
  ASSERT_FALSE(refused.ok());
  const std::string text = to_string(refused.error());
  EXPECT_NE(text.find("overflows in Mul 'gained'"), std::string::npos) << text;
  EXPECT_NE(text.find("127500"), std::string::npos) << text;
  EXPECT_NE(text.find("element 0 of 'g'"), std::string::npos) << text;
  EXPECT_TRUE(compiled(builder, Precision::kFloat32).ok());
  EXPECT_TRUE(compiled(builder, Precision::kBFloat16).ok());
}

TEST(Precision, AMaskOfInfinitiesIsTheNetworksOwn) {
  OnnxBuilder builder = graph({2, 3});
  builder.constant("mask", make_tensor(DType::kFloat32, {3}, {0, -INFINITY, 0}));
  builder.node("Add", {"x", "mask"}, {"m"});
  builder.node("Softmax", {"m"}, {"y"}).with("axis", 1);
  const auto model = compiled(builder, Precision::kFloat16);
  EXPECT_TRUE(model.ok()) << to_string(model.error());
}

TEST(Precision, StatesKeepTheirType) {
  OnnxBuilder builder = graph({4});
  builder.input("state_h", DType::kFloat32, {4}).output("next_state_h");
  builder.floats("half", {}, {0.5});
  builder.node("Mul", {"state_h", "half"}, {"d"});
  builder.node("Add", {"d", "x"}, {"next_state_h"});
  builder.node("Tanh", {"next_state_h"}, {"y"});
  const auto model = compiled(builder, Precision::kFloat16);
  ASSERT_TRUE(model.ok()) << to_string(model.error());
  const Program& program = model->model.program;
  ASSERT_EQ(program.states.size(), 1u);
  EXPECT_EQ(program.tensors[program.states[0].current].type.dtype, DType::kFloat32);
  EXPECT_EQ(program.tensors[program.states[0].next].type.dtype, DType::kFloat32);
}

}  // namespace
}  // namespace modeld::compile
