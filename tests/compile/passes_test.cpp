// Every pass: the program before and after, the same results on random inputs, and a case it must
// leave alone.
#include <gtest/gtest.h>

#include "tests/compile/pass_check.h"
#include "tools/compile/passes/dead_code.h"
#include "tools/compile/passes/fold_batch_norm.h"
#include "tools/compile/passes/fold_scale.h"
#include "tools/compile/passes/fuse_activation.h"
#include "tools/compile/passes/fuse_bias.h"
#include "tools/compile/passes/fuse_residual.h"
#include "tools/compile/passes/matmul_to_gemm.h"
#include "tools/compile/passes/merge_moves.h"
#include "tools/compile/passes/recognise_activations.h"
#include "tools/compile/passes/recognise_layer_norm.h"
#include "tools/compile/passes/remove_noops.h"
#include "tools/compile/passes/sink_moves.h"

namespace modeld::compile {
namespace {

using test::make_tensor;
using test::OnnxBuilder;

// A picture of 4 channels through a 3x3 convolution to 6.
OnnxBuilder conv_graph(const std::string& to) {
  OnnxBuilder builder = graph({1, 4, 5, 5});
  builder.constant("w", seeded({6, 4, 3, 3}, 1));
  builder.constant("b", seeded({6}, 2));
  builder.node("Conv", {"x", "w", "b"}, {to}).named("conv");
  return builder;
}

// Dead code ---------------------------------------------------------------------------------------

TEST(DeadCode, RemovesChainsNobodyReads) {
  OnnxBuilder builder = graph({4});
  builder.node("Relu", {"x"}, {"a"});
  builder.node("Tanh", {"a"}, {"b"});
  builder.node("Abs", {"x"}, {"y"});
  expect_pass(builder, {remove_dead_code}, "Relu Tanh Abs", "Abs");
}

TEST(DeadCode, KeepsWhatOutputsNeed) {
  OnnxBuilder builder = graph({4});
  builder.output("a");
  builder.node("Relu", {"x"}, {"a"});
  builder.node("Abs", {"a"}, {"y"});
  expect_untouched(builder, remove_dead_code, "Relu Abs");
}

// Ops that change nothing -------------------------------------------------------------------------

TEST(Noops, RemovesIdentities) {
  OnnxBuilder builder = graph({2, 1, 3});
  builder.ints("same", {2, 1, 3});
  builder.node("Transpose", {"x"}, {"a"}).with("perm", std::vector<int64_t>{0, 1, 2});
  builder.node("Tanh", {"a"}, {"b"});
  builder.node("Transpose", {"b"}, {"y"}).with("perm", std::vector<int64_t>{0, 1, 2});
  expect_pass(builder, {remove_noops}, "Transpose Tanh Transpose", "Tanh");
}

TEST(Noops, ATransposeOfOnesIsAReshape) {
  OnnxBuilder builder = graph({2, 1, 3});
  builder.node("Transpose", {"x"}, {"y"}).with("perm", std::vector<int64_t>{1, 0, 2});
  expect_pass(builder, {remove_noops}, "Transpose", "Reshape");
}

TEST(Noops, KeepsRealTransposesAndCopiesOfInputs) {
  OnnxBuilder moves = graph({2, 2});
  moves.node("Transpose", {"x"}, {"y"});
  expect_untouched(moves, remove_noops, "Transpose");
  // An output must be written by an op.
  OnnxBuilder copy = graph({2, 2});
  copy.node("Transpose", {"x"}, {"y"}).with("perm", std::vector<int64_t>{0, 1});
  expect_untouched(copy, remove_noops, "Transpose");
}

// Reshapes and Transposes in a row ----------------------------------------------------------------

TEST(MergeMoves, ChainsBecomeOneAndInversePairsVanish) {
  OnnxBuilder builder = graph({2, 3, 4});
  builder.ints("flat", {24}).ints("six", {6, 4});
  builder.node("Transpose", {"x"}, {"a"}).with("perm", std::vector<int64_t>{1, 2, 0});
  builder.node("Transpose", {"a"}, {"b"}).with("perm", std::vector<int64_t>{2, 0, 1});
  builder.node("Tanh", {"b"}, {"c"});
  builder.node("Reshape", {"c", "flat"}, {"d"});
  builder.node("Reshape", {"d", "six"}, {"y"});
  expect_pass(builder, {merge_moves, remove_dead_code, remove_noops},
              "Transpose Transpose Tanh Reshape Reshape", "Tanh Reshape");
}

TEST(MergeMoves, KeepsWhatOthersRead) {
  OnnxBuilder builder = graph({2, 3});
  builder.output("a").ints("flat", {6});
  builder.node("Transpose", {"x"}, {"a"});
  builder.node("Reshape", {"a", "flat"}, {"y"});
  expect_untouched(builder, merge_moves, "Transpose Reshape");
}

// BatchNormalization ------------------------------------------------------------------------------

void add_norm(OnnxBuilder& builder, int64_t channels, const HostTensor& variance,
              const std::string& from, float epsilon = 1e-5f) {
  builder.constant("scale", seeded({channels}, 11)).constant("shift", seeded({channels}, 12));
  builder.constant("mean", seeded({channels}, 13)).constant("var", variance);
  builder.node("BatchNormalization", {from, "scale", "shift", "mean", "var"}, {"y"})
      .named("norm")
      .with("epsilon", epsilon);
}

TEST(FoldBatchNorm, IntoConvolution) {
  OnnxBuilder builder = conv_graph("c");
  add_norm(builder, 6, positive({6}, 14), "c");
  expect_pass(builder, {fold_batch_norm}, "Conv BatchNormalization", "Conv");
}

TEST(FoldBatchNorm, IntoGroupedConvolutionWithoutBias) {
  OnnxBuilder builder = graph({1, 4, 5, 5});
  builder.constant("w", seeded({6, 2, 3, 3}, 1));
  builder.node("Conv", {"x", "w"}, {"c"}).with("group", 2);
  add_norm(builder, 6, positive({6}, 14), "c");
  expect_pass(builder, {fold_batch_norm}, "Conv BatchNormalization", "Conv");
}

TEST(FoldBatchNorm, IntoGroupedTransposedConvolution) {
  OnnxBuilder builder = graph({1, 4, 5, 5});
  builder.constant("w", seeded({4, 3, 2, 2}, 1));
  builder.node("ConvTranspose", {"x", "w"}, {"c"})
      .with("group", 2)
      .with("strides", std::vector<int64_t>{2, 2});
  add_norm(builder, 6, positive({6}, 14), "c");
  expect_pass(builder, {fold_batch_norm}, "ConvTranspose BatchNormalization", "ConvTranspose");
}

TEST(FoldBatchNorm, IntoGemmOfEitherLayout) {
  for (const int trans : {0, 1}) {
    OnnxBuilder builder = graph({3, 4});
    builder.constant("w", trans == 1 ? seeded({5, 4}, 1) : seeded({4, 5}, 1));
    builder.constant("b", seeded({5}, 2));
    builder.node("Gemm", {"x", "w", "b"}, {"c"})
        .with("transB", trans)
        .with("alpha", 0.5f)
        .with("beta", 2.0f);
    add_norm(builder, 5, positive({5}, 14), "c");
    expect_pass(builder, {fold_batch_norm}, "Gemm BatchNormalization", "Gemm");
  }
}

// Field fault 31: variances 0, 1e-12 and 1e4, an odd epsilon, ranks 3 and 5.
TEST(FoldBatchNorm, FieldFault31ExtremeVariancesAndOtherRanks) {
  const HostTensor variance = make_tensor(DType::kFloat32, {3}, {0, 1e-12, 1e4});
  OnnxBuilder one = graph({1, 2, 7});
  one.constant("w", seeded({3, 2, 3}, 1));
  one.node("Conv", {"x", "w"}, {"c"});
  add_norm(one, 3, variance, "c", 3.7e-4f);
  expect_pass(one, {fold_batch_norm}, "Conv BatchNormalization", "Conv", 1e-4);
  OnnxBuilder three = graph({1, 2, 3, 4, 3});
  three.constant("w", seeded({3, 2, 1, 2, 1}, 1));
  three.node("Conv", {"x", "w"}, {"c"});
  add_norm(three, 3, variance, "c", 3.7e-4f);
  expect_pass(three, {fold_batch_norm}, "Conv BatchNormalization", "Conv", 1e-4);
}

TEST(FoldBatchNorm, LeftAloneWhereItCannotBeRight) {
  OnnxBuilder shared = conv_graph("c");
  shared.output("c");
  add_norm(shared, 6, positive({6}, 14), "c");
  expect_untouched(shared, fold_batch_norm, "Conv BatchNormalization");
  // A negative variance gives NaN at run time; it must not become NaN weights of everything.
  OnnxBuilder broken = conv_graph("c");
  add_norm(broken, 6, make_tensor(DType::kFloat32, {6}, {1, 1, -1, 1, 1, 1}), "c");
  auto imported = import_file(broken);
  ASSERT_TRUE(imported.ok());
  ASSERT_TRUE(fold_batch_norm(imported->draft).ok());
  EXPECT_EQ(kinds(imported->draft), "Conv BatchNormalization");
}

// Factors per channel -----------------------------------------------------------------------------

TEST(FoldScale, IntoConvolutionAndStackedMatmul) {
  OnnxBuilder builder = conv_graph("c");
  builder.constant("gamma", seeded({6, 1, 1}, 3));
  builder.node("Mul", {"gamma", "c"}, {"y"});
  expect_pass(builder, {fold_scale}, "Conv Mul", "Conv");
  OnnxBuilder stack = graph({2, 3, 4});
  stack.constant("w", seeded({4, 5}, 1)).constant("gamma", seeded({5}, 3));
  stack.node("MatMul", {"x", "w"}, {"m"});
  stack.node("Mul", {"m", "gamma"}, {"y"});
  expect_pass(stack, {fold_scale}, "MatMul Mul", "MatMul");
}

TEST(FoldScale, LeavesAloneWhatLosesPrecisionOrIsRead) {
  // 1e-6 times a weight is no normal float16 number.
  OnnxBuilder half(18);
  half.input("x", DType::kFloat16, {1, 1, 2, 2}).output("y");
  half.constant("w", make_tensor(DType::kFloat16, {1, 1, 1, 1}, {0.3}));
  half.constant("tiny", make_tensor(DType::kFloat16, {1, 1, 1}, {1e-6}));
  half.node("Conv", {"x", "w"}, {"c"});
  half.node("Mul", {"c", "tiny"}, {"y"});
  expect_untouched(half, fold_scale, "Conv Mul");
  OnnxBuilder shared = conv_graph("c");
  shared.output("c").constant("gamma", seeded({6, 1, 1}, 3));
  shared.node("Mul", {"c", "gamma"}, {"y"});
  expect_untouched(shared, fold_scale, "Conv Mul");
}

// Activations spelled out -------------------------------------------------------------------------

OnnxBuilder erf_gelu(double root) {
  OnnxBuilder builder = graph({40});
  builder.floats("root", {}, {root}).floats("one", {}, {1}).floats("half", {}, {0.5});
  builder.node("Div", {"x", "root"}, {"u"});
  builder.node("Erf", {"u"}, {"e"});
  builder.node("Add", {"e", "one"}, {"s"});
  builder.node("Mul", {"x", "s"}, {"p"});
  builder.node("Mul", {"p", "half"}, {"y"});
  return builder;
}

TEST(RecogniseActivations, GeluByErf) {
  expect_pass(erf_gelu(1.4142135381698608), {recognise_activations, remove_dead_code},
              "Div Erf Add Mul Mul", "Gelu");
}

TEST(RecogniseActivations, GeluByErfWithHalfFirst) {
  OnnxBuilder builder = graph({40});
  builder.floats("root", {}, {0.7071067690849304}).floats("one", {1}, {1});
  builder.floats("half", {}, {0.5});
  builder.node("Mul", {"x", "half"}, {"h"});
  builder.node("Mul", {"x", "root"}, {"u"});
  builder.node("Erf", {"u"}, {"e"});
  builder.node("Add", {"one", "e"}, {"s"});
  builder.node("Mul", {"h", "s"}, {"y"});
  expect_pass(builder, {recognise_activations, remove_dead_code}, "Mul Mul Erf Add Mul", "Gelu");
}

TEST(RecogniseActivations, GeluByTanhInBothForms) {
  OnnxBuilder cubed = graph({40});
  cubed.floats("three", {}, {3}).floats("c", {}, {0.044715}).floats("k", {}, {0.7978845608028654});
  cubed.floats("one", {}, {1}).floats("half", {}, {0.5});
  cubed.node("Pow", {"x", "three"}, {"x3"});
  cubed.node("Mul", {"x3", "c"}, {"cx3"});
  cubed.node("Add", {"x", "cx3"}, {"sum"});
  cubed.node("Mul", {"sum", "k"}, {"u"});
  cubed.node("Tanh", {"u"}, {"t"});
  cubed.node("Add", {"t", "one"}, {"s"});
  cubed.node("Mul", {"x", "s"}, {"p"});
  cubed.node("Mul", {"p", "half"}, {"y"});
  expect_pass(cubed, {recognise_activations, remove_dead_code}, "Pow Mul Add Mul Tanh Add Mul Mul",
              "Gelu");
  OnnxBuilder factored = graph({40});
  factored.floats("c", {}, {0.044715}).floats("k", {}, {0.7978845608028654});
  factored.floats("one", {}, {1}).floats("half", {}, {0.5});
  factored.node("Mul", {"x", "x"}, {"xx"});
  factored.node("Mul", {"xx", "c"}, {"cxx"});
  factored.node("Add", {"cxx", "one"}, {"inner"});
  factored.node("Mul", {"x", "k"}, {"kx"});
  factored.node("Mul", {"kx", "inner"}, {"u"});
  factored.node("Tanh", {"u"}, {"t"});
  factored.node("Add", {"one", "t"}, {"s"});
  factored.node("Mul", {"half", "x"}, {"hx"});
  factored.node("Mul", {"hx", "s"}, {"y"});
  expect_pass(factored, {recognise_activations, remove_dead_code},
              "Mul Mul Add Mul Mul Tanh Add Mul Mul", "Gelu");
}

TEST(RecogniseActivations, SiluAndHardSwish) {
  OnnxBuilder silu = graph({40});
  silu.node("Sigmoid", {"x"}, {"s"});
  silu.node("Mul", {"x", "s"}, {"y"});
  expect_pass(silu, {recognise_activations, remove_dead_code}, "Sigmoid Mul", "Silu");
  OnnxBuilder hard = graph({40});
  hard.node("HardSigmoid", {"x"}, {"s"}).with("alpha", 1.0f / 6).with("beta", 0.5f);
  hard.node("Mul", {"s", "x"}, {"y"});
  expect_pass(hard, {recognise_activations, remove_dead_code}, "HardSigmoid Mul", "HardSwish");
  OnnxBuilder clipped = graph({40});
  clipped.floats("three", {}, {3}).floats("zero", {}, {0}).floats("six", {}, {6});
  clipped.node("Add", {"x", "three"}, {"a"});
  clipped.node("Clip", {"a", "zero", "six"}, {"c"});
  clipped.node("Mul", {"x", "c"}, {"p"});
  clipped.node("Div", {"p", "six"}, {"y"});
  expect_pass(clipped, {recognise_activations, remove_dead_code}, "Add Clip Mul Div", "HardSwish");
}

TEST(RecogniseActivations, LeavesLookAlikesAlone) {
  // 1.5 is not the root of 2.
  expect_untouched(erf_gelu(1.5), recognise_activations, "Div Erf Add Mul Mul");
  OnnxBuilder other = graph({40});
  other.input("z", DType::kFloat32, {40});
  other.node("Sigmoid", {"z"}, {"s"});
  other.node("Mul", {"x", "s"}, {"y"});
  expect_untouched(other, recognise_activations, "Sigmoid Mul");
}

// Layer normalisation spelled out -----------------------------------------------------------------

// Over the last axis of (2, 3, 8), as exporters write it before opset 17.
OnnxBuilder layer_norm(int64_t mean_axis) {
  OnnxBuilder builder(13);
  builder.input("x", DType::kFloat32, {2, 3, 8}).output("y");
  builder.floats("two", {}, {2}).floats("eps", {}, {1e-5});
  builder.constant("scale", seeded({8}, 1)).constant("shift", seeded({8}, 2));
  builder.node("ReduceMean", {"x"}, {"m"}).with("axes", std::vector<int64_t>{-1});
  builder.node("Sub", {"x", "m"}, {"d"});
  builder.node("Pow", {"d", "two"}, {"p"});
  builder.node("ReduceMean", {"p"}, {"v"}).with("axes", std::vector<int64_t>{mean_axis});
  builder.node("Add", {"v", "eps"}, {"ve"});
  builder.node("Sqrt", {"ve"}, {"s"});
  builder.node("Div", {"d", "s"}, {"n"});
  builder.node("Mul", {"n", "scale"}, {"ns"});
  builder.node("Add", {"ns", "shift"}, {"y"});
  return builder;
}

TEST(RecogniseLayerNorm, WithScaleAndShift) {
  expect_pass(layer_norm(-1), {recognise_layer_norm, remove_dead_code},
              "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add", "LayerNormalization");
}

TEST(RecogniseLayerNorm, WithoutThemOverTwoAxes) {
  OnnxBuilder builder(13);
  builder.input("x", DType::kFloat32, {2, 3, 8}).output("y").floats("eps", {}, {0.1});
  builder.node("ReduceMean", {"x"}, {"m"}).with("axes", std::vector<int64_t>{1, 2});
  builder.node("Sub", {"x", "m"}, {"d"});
  builder.node("Mul", {"d", "d"}, {"p"});
  builder.node("ReduceMean", {"p"}, {"v"}).with("axes", std::vector<int64_t>{1, 2});
  builder.node("Add", {"eps", "v"}, {"ve"});
  builder.node("Sqrt", {"ve"}, {"s"});
  builder.node("Div", {"d", "s"}, {"y"});
  expect_pass(builder, {recognise_layer_norm, remove_dead_code},
              "ReduceMean Sub Mul ReduceMean Add Sqrt Div", "LayerNormalization");
}

// The deviation's inverse: 1 / sqrt(v), reciprocal of sqrt(v), v ^ -0.5; on either side of the
// product.
TEST(RecogniseLayerNorm, TimesTheInverseOfTheDeviation) {
  const auto builder_with = [](const std::string& form) {
    OnnxBuilder builder(13);
    builder.input("x", DType::kFloat32, {2, 8}).output("y").floats("eps", {}, {0.1});
    builder.floats("one", {}, {1}).floats("inverse", {}, {-0.5});
    builder.node("ReduceMean", {"x"}, {"m"}).with("axes", std::vector<int64_t>{1});
    builder.node("Sub", {"x", "m"}, {"d"});
    builder.node("Mul", {"d", "d"}, {"p"});
    builder.node("ReduceMean", {"p"}, {"v"}).with("axes", std::vector<int64_t>{1});
    builder.node("Add", {"v", "eps"}, {"ve"});
    if (form == "Pow") {
      builder.node("Pow", {"ve", "inverse"}, {"i"});
    } else {
      builder.node("Sqrt", {"ve"}, {"s"});
      if (form == "Reciprocal") builder.node("Reciprocal", {"s"}, {"i"});
      if (form == "Div") builder.node("Div", {"one", "s"}, {"i"});
    }
    if (form == "Div") {
      builder.node("Mul", {"i", "d"}, {"y"});
    } else {
      builder.node("Mul", {"d", "i"}, {"y"});
    }
    return builder;
  };
  expect_pass(builder_with("Pow"), {recognise_layer_norm, remove_dead_code},
              "ReduceMean Sub Mul ReduceMean Add Pow Mul", "LayerNormalization");
  for (const std::string form : {"Reciprocal", "Div"}) {
    expect_pass(builder_with(form), {recognise_layer_norm, remove_dead_code},
                "ReduceMean Sub Mul ReduceMean Add Sqrt " + form + " Mul", "LayerNormalization");
  }
}

TEST(RecogniseLayerNorm, LeavesOtherAxesAlone) {
  expect_untouched(layer_norm(1), recognise_layer_norm,
                   "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add");
}

// Transposes --------------------------------------------------------------------------------------

TEST(SinkMoves, KerasLayoutVanishesAroundConvolutions) {
  OnnxBuilder builder = graph({1, 8, 8, 4});
  builder.constant("w", seeded({6, 4, 3, 3}, 1)).constant("b", seeded({1, 1, 1, 6}, 2));
  builder.floats("zero", {}, {0}).floats("six", {}, {6}).constant("v", seeded({6, 6, 1, 1}, 3));
  builder.node("Transpose", {"x"}, {"n"}).with("perm", std::vector<int64_t>{0, 3, 1, 2});
  builder.node("Conv", {"n", "w"}, {"c"});
  builder.node("Transpose", {"c"}, {"t"}).with("perm", std::vector<int64_t>{0, 2, 3, 1});
  builder.node("Add", {"t", "b"}, {"a"});
  builder.node("Clip", {"a", "zero", "six"}, {"r"});
  builder.node("Transpose", {"r"}, {"m"}).with("perm", std::vector<int64_t>{0, 3, 1, 2});
  builder.node("Conv", {"m", "v"}, {"y"});
  expect_pass(builder,
              {sink_moves, merge_moves, remove_dead_code, remove_noops, fuse_bias, fuse_activation},
              "Transpose Conv Transpose Add Clip Transpose Conv", "Transpose Conv Conv");
}

TEST(SinkMoves, TwoOperandsShareOne) {
  OnnxBuilder builder = graph({2, 3});
  builder.input("z", DType::kFloat32, {2, 3});
  builder.node("Transpose", {"x"}, {"a"});
  builder.node("Transpose", {"z"}, {"b"});
  builder.node("Mul", {"a", "b"}, {"y"});
  expect_pass(builder, {sink_moves}, "Transpose Transpose Mul", "Mul Transpose");
}

TEST(SinkMoves, ReshapesGoBehindActivations) {
  OnnxBuilder builder = conv_graph("c");
  builder.node("Flatten", {"c"}, {"f"});
  builder.node("Relu", {"f"}, {"y"});
  expect_pass(builder, {sink_moves, fuse_activation}, "Conv Reshape Relu", "Conv Reshape");
}

TEST(SinkMoves, LeavesAloneWhatWouldNeedMore) {
  OnnxBuilder builder = graph({2, 3});
  builder.input("z", DType::kFloat32, {3, 2});
  builder.node("Transpose", {"x"}, {"a"});
  builder.node("Mul", {"a", "z"}, {"y"});
  expect_untouched(builder, sink_moves, "Transpose Mul");
}

// Matrix products ---------------------------------------------------------------------------------

TEST(MatmulToGemm, WithItsBias) {
  OnnxBuilder builder = graph({3, 4});
  builder.constant("w", seeded({4, 5}, 1)).constant("b", seeded({5}, 2));
  builder.node("MatMul", {"x", "w"}, {"m"});
  builder.node("Add", {"b", "m"}, {"y"});
  expect_pass(builder, {matmul_to_gemm, fuse_bias}, "MatMul Add", "Gemm");
}

TEST(MatmulToGemm, LeavesStacksAndRunTimeMatricesAlone) {
  OnnxBuilder stack = graph({2, 3, 4});
  stack.constant("w", seeded({4, 5}, 1));
  stack.node("MatMul", {"x", "w"}, {"y"});
  expect_untouched(stack, matmul_to_gemm, "MatMul");
  OnnxBuilder given = graph({3, 4});
  given.input("w", DType::kFloat32, {4, 5});
  given.node("MatMul", {"x", "w"}, {"y"});
  expect_untouched(given, matmul_to_gemm, "MatMul");
}

// Fusion ------------------------------------------------------------------------------------------

TEST(FuseBias, JoinsTheBiasOfAConvolution) {
  OnnxBuilder builder = conv_graph("c");
  builder.constant("more", seeded({6, 1, 1}, 3));
  builder.node("Add", {"c", "more"}, {"y"});
  expect_pass(builder, {fuse_bias}, "Conv Add", "Conv");
}

TEST(FuseBias, OfAStackedMatmulAndAsScalar) {
  OnnxBuilder builder = graph({2, 3, 4});
  builder.constant("w", seeded({4, 5}, 1)).constant("b", seeded({1, 1, 5}, 2));
  builder.floats("s", {}, {0.25});
  builder.node("MatMul", {"x", "w"}, {"m"});
  builder.node("Add", {"m", "b"}, {"n"});
  builder.node("Add", {"n", "s"}, {"y"});
  expect_pass(builder, {fuse_bias}, "MatMul Add Add", "MatMul");
}

TEST(FuseBias, LeavesOtherSumsAlone) {
  // Along the width, not per channel.
  OnnxBuilder width = conv_graph("c");
  width.constant("more", seeded({3}, 3));
  width.node("Add", {"c", "more"}, {"y"});
  expect_untouched(width, fuse_bias, "Conv Add");
  OnnxBuilder shared = conv_graph("c");
  shared.output("c").constant("more", seeded({6, 1, 1}, 3));
  shared.node("Add", {"c", "more"}, {"y"});
  expect_untouched(shared, fuse_bias, "Conv Add");
}

TEST(FuseResidual, WithActivationBehindIt) {
  OnnxBuilder builder = graph({1, 4, 5, 5});
  builder.constant("w", seeded({4, 4, 1, 1}, 1));
  builder.node("Conv", {"x", "w"}, {"c"});
  builder.node("Add", {"x", "c"}, {"s"});
  builder.node("Relu", {"s"}, {"y"});
  expect_pass(builder, {fuse_residual, fuse_activation}, "Conv Add Relu", "Conv");
}

TEST(FuseResidual, TheLaterOfTwo) {
  OnnxBuilder builder = graph({1, 4, 5, 5});
  builder.constant("w", seeded({4, 4, 1, 1}, 1)).constant("v", seeded({4, 4, 1, 1}, 2));
  builder.node("Conv", {"x", "w"}, {"a"}).named("first");
  builder.node("Conv", {"x", "v"}, {"b"}).named("second");
  builder.node("Add", {"a", "b"}, {"y"});
  expect_pass(builder, {fuse_residual}, "Conv Conv Add", "Conv Conv");
}

TEST(FuseResidual, LeavesSharedAndBroadcastAlone) {
  OnnxBuilder shared = conv_graph("c");
  shared.input("z", DType::kFloat32, {1, 6, 3, 3}).output("c");
  shared.node("Add", {"c", "z"}, {"y"});
  expect_untouched(shared, fuse_residual, "Conv Add");
  OnnxBuilder broadcast = conv_graph("c");
  broadcast.input("z", DType::kFloat32, {1, 6, 1, 1});
  broadcast.node("Add", {"c", "z"}, {"y"});
  expect_untouched(broadcast, fuse_residual, "Conv Add");
  OnnxBuilder doubled = conv_graph("c");
  doubled.node("Add", {"c", "c"}, {"y"});
  expect_untouched(doubled, fuse_residual, "Conv Add");
}

TEST(FuseActivation, EveryKind) {
  for (const char* op :
       {"Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Elu", "HardSigmoid"}) {
    OnnxBuilder builder = conv_graph("c");
    builder.node(op, {"c"}, {"y"});
    expect_pass(builder, {fuse_activation}, std::string("Conv ") + op, "Conv");
  }
  OnnxBuilder clip = conv_graph("c");
  clip.floats("lo", {}, {-0.5}).floats("hi", {}, {0.5});
  clip.node("Clip", {"c", "lo", "hi"}, {"y"});
  expect_pass(clip, {fuse_activation}, "Conv Clip", "Conv");
}

TEST(FuseActivation, LeavesOneSidedClipAndSharedResultsAlone) {
  OnnxBuilder clip = conv_graph("c");
  clip.floats("hi", {}, {0.5});
  clip.node("Clip", {"c", "", "hi"}, {"y"});
  expect_untouched(clip, fuse_activation, "Conv Clip");
  OnnxBuilder shared = conv_graph("c");
  shared.output("c");
  shared.node("Relu", {"c"}, {"y"});
  expect_untouched(shared, fuse_activation, "Conv Relu");
  OnnxBuilder twice = conv_graph("c");
  twice.node("Relu", {"c"}, {"r"});
  twice.node("Sigmoid", {"r"}, {"y"});
  expect_pass(twice, {fuse_activation}, "Conv Relu Sigmoid", "Conv Sigmoid");
}

}  // namespace
}  // namespace modeld::compile
