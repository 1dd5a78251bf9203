#include "tools/compile/passes/recognise_attention.h"

#include "tests/compile/pass_check.h"
#include "tools/compile/passes/dead_code.h"

namespace modeld::compile {
namespace {

using test::OnnxBuilder;
using Ints = std::vector<int64_t>;

// 6 tokens of 8 numbers, 2 heads of 4, as PyTorch writes it: Reshape and Transpose before, scores,
// scaling, perhaps a mask, shares, mixture, Transpose and Reshape behind.
OnnxBuilder attention(const std::string& scaling, bool masked, int64_t softmax_axis = -1) {
  OnnxBuilder builder = graph({2, 6, 8});
  builder.ints("heads", {2, 6, 2, 4}).ints("merged", {2, 6, 8}).floats("scale", {}, {0.5});
  const auto head = [&](const std::string& name, uint32_t stream) {
    builder.constant(name + "w", seeded({8, 8}, stream));
    builder.node("MatMul", {"x", name + "w"}, {name + "p"});
    builder.node("Reshape", {name + "p", "heads"}, {name + "r"});
    builder.node("Transpose", {name + "r"}, {name}).with("perm", Ints{0, 2, 1, 3});
  };
  head("q", 1);
  head("k", 2);
  head("v", 3);
  builder.node("Transpose", {"k"}, {"kt"}).with("perm", Ints{0, 1, 3, 2});
  std::string scores = "scores";
  if (scaling == "both") {  // PyTorch's scaled_dot_product_attention
    builder.node("Mul", {"q", "scale"}, {"qs"});
    builder.node("Mul", {"kt", "scale"}, {"ks"});
    builder.node("MatMul", {"qs", "ks"}, {"scores"});
  } else {
    builder.node("MatMul", {"q", "kt"}, {"scores"});
    builder.node(scaling, {"scores", "scale"}, {"scaled"});
    scores = "scaled";
  }
  if (masked) {
    builder.constant("mask", seeded({2, 1, 6, 6}, 4));
    builder.node("Add", {"mask", scores}, {"biased"});
    scores = "biased";
  }
  builder.node("Softmax", {scores}, {"shares"}).with("axis", softmax_axis);
  builder.node("MatMul", {"shares", "v"}, {"mixed"});
  builder.node("Transpose", {"mixed"}, {"t"}).with("perm", Ints{0, 2, 1, 3});
  builder.node("Reshape", {"t", "merged"}, {"y"});
  return builder;
}

const std::string kHeads =
    "MatMul Reshape Transpose MatMul Reshape Transpose MatMul Reshape Transpose Transpose ";
const std::string kAfter = "MatMul Reshape MatMul Reshape MatMul Reshape Attention Reshape";

TEST(RecogniseAttention, WithEveryScaling) {
  for (const std::string scaling : {"Mul", "Div"}) {
    expect_pass(attention(scaling, false), {recognise_attention, remove_dead_code},
                kHeads + "MatMul " + scaling + " Softmax MatMul Transpose Reshape", kAfter);
  }
  expect_pass(attention("both", false), {recognise_attention, remove_dead_code},
              kHeads + "Mul Mul MatMul Softmax MatMul Transpose Reshape", kAfter);
}

TEST(RecogniseAttention, WithAMask) {
  expect_pass(attention("Div", true), {recognise_attention, remove_dead_code},
              kHeads + "MatMul Div Add Softmax MatMul Transpose Reshape", kAfter);
}

TEST(RecogniseAttention, OverTwoAxesWithoutAnythingRoundIt) {
  OnnxBuilder builder(18);
  builder.input("q", DType::kFloat32, {5, 3}).input("k", DType::kFloat32, {3, 7});
  builder.input("v", DType::kFloat32, {7, 2}).output("y");
  builder.node("MatMul", {"q", "k"}, {"s"});
  builder.node("Softmax", {"s"}, {"p"}).with("axis", 1);
  builder.node("MatMul", {"p", "v"}, {"y"});
  expect_pass(builder, {recognise_attention, remove_dead_code}, "MatMul Softmax MatMul",
              "Attention");
}

TEST(RecogniseAttention, LeavesAloneOtherAxesAndWhatIsReadElsewhere) {
  expect_untouched(attention("Mul", false, 2), recognise_attention,
                   kHeads + "MatMul Mul Softmax MatMul Transpose Reshape");
  for (const char* shown : {"scores", "shares", "scaled"}) {
    OnnxBuilder builder = attention("Mul", false);
    builder.output(shown);
    expect_untouched(builder, recognise_attention,
                     kHeads + "MatMul Mul Softmax MatMul Transpose Reshape");
  }
}

// A scaling behind the mask scales the mask too.
TEST(RecogniseAttention, LeavesAloneAMaskThatIsScaled) {
  OnnxBuilder builder(18);
  builder.input("q", DType::kFloat32, {5, 3}).input("k", DType::kFloat32, {3, 7});
  builder.input("v", DType::kFloat32, {7, 2}).output("y").floats("scale", {}, {0.5});
  builder.constant("mask", seeded({5, 7}, 1));
  builder.node("MatMul", {"q", "k"}, {"s"});
  builder.node("Add", {"s", "mask"}, {"m"});
  builder.node("Mul", {"m", "scale"}, {"f"});
  builder.node("Softmax", {"f"}, {"p"}).with("axis", 1);
  builder.node("MatMul", {"p", "v"}, {"y"});
  expect_untouched(builder, recognise_attention, "MatMul Add Mul Softmax MatMul");
}

// The values must be the right side.
TEST(RecogniseAttention, LeavesAloneSharesOnTheRight) {
  OnnxBuilder builder(18);
  builder.input("q", DType::kFloat32, {5, 3}).input("k", DType::kFloat32, {3, 7});
  builder.input("v", DType::kFloat32, {2, 5}).output("y");
  builder.node("MatMul", {"q", "k"}, {"s"});
  builder.node("Softmax", {"s"}, {"p"}).with("axis", 1);
  builder.node("MatMul", {"v", "p"}, {"y"});
  expect_untouched(builder, recognise_attention, "MatMul Softmax MatMul");
}

}  // namespace
}  // namespace modeld::compile
