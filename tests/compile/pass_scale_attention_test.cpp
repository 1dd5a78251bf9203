#include "tools/compile/passes/scale_attention.h"

#include "tests/compile/pass_check.h"
#include "tools/compile/passes/fold_scale.h"
#include "tools/compile/passes/sink_moves.h"

namespace modeld::compile {
namespace {

using test::OnnxBuilder;
using Ints = std::vector<int64_t>;

// 16 tokens of 8 numbers, 2 heads of 4: projections, scores, shares, mixture.
OnnxBuilder attention(const std::string& scaling, double factor) {
  OnnxBuilder builder = graph({1, 16, 8});
  builder.ints("heads", {1, 16, 2, 4}).floats("scale", {}, {factor});
  const auto head = [&](const std::string& name, const Ints& perm, uint32_t stream) {
    builder.constant(name + "w", seeded({8, 8}, stream));
    builder.node("MatMul", {"x", name + "w"}, {name + "p"});
    builder.node("Reshape", {name + "p", "heads"}, {name + "r"});
    builder.node("Transpose", {name + "r"}, {name}).with("perm", perm);
  };
  head("q", {0, 2, 1, 3}, 1);
  head("k", {0, 2, 3, 1}, 2);
  head("v", {0, 2, 1, 3}, 3);
  builder.node("MatMul", {"q", "k"}, {"scores"});
  builder.node(scaling, {"scores", "scale"}, {"scaled"});
  builder.node("Softmax", {"scaled"}, {"shares"}).with("axis", -1);
  builder.node("MatMul", {"shares", "v"}, {"y"});
  return builder;
}

constexpr const char* kBefore =
    "MatMul Reshape Transpose MatMul Reshape Transpose MatMul Reshape Transpose MatMul ";

TEST(ScaleAttention, ScoresAreScaledInTheQuery) {
  expect_pass(
      attention("Mul", 0.5), {scale_attention}, kBefore + std::string("Mul Softmax MatMul"),
      "MatMul Reshape Transpose MatMul Reshape Transpose MatMul Reshape Transpose Mul MatMul "
      "Softmax MatMul");
  expect_pass(
      attention("Div", 2), {scale_attention}, kBefore + std::string("Div Softmax MatMul"),
      "MatMul Reshape Transpose MatMul Reshape Transpose MatMul Reshape Transpose Mul MatMul "
      "Softmax MatMul");
}

TEST(ScaleAttention, AndFromThereGoIntoItsWeights) {
  // The query's Transpose has moved behind where its scaling was.
  const char* after =
      "MatMul Reshape MatMul Reshape Transpose MatMul Reshape Transpose Transpose MatMul "
      "Softmax MatMul";
  expect_pass(attention("Div", 2), {scale_attention, sink_moves, sink_moves, fold_scale},
              kBefore + std::string("Div Softmax MatMul"), after);
}

TEST(ScaleAttention, LeavesAloneWhatWouldCostMore) {
  // Two tokens of eight numbers: four scores a head.
  OnnxBuilder few(18);
  few.input("q", DType::kFloat32, {2, 8}).input("k", DType::kFloat32, {8, 2}).output("y");
  few.floats("scale", {}, {0.5});
  few.node("MatMul", {"q", "k"}, {"s"});
  few.node("Mul", {"s", "scale"}, {"y"});
  expect_untouched(few, scale_attention, "MatMul Mul");
}

TEST(ScaleAttention, LeavesAloneWeightsVectorsAndSharedScores) {
  OnnxBuilder weights = graph({16, 2});
  weights.constant("w", seeded({2, 16}, 1)).floats("scale", {}, {0.5});
  weights.node("MatMul", {"x", "w"}, {"s"});
  weights.node("Mul", {"s", "scale"}, {"y"});
  expect_untouched(weights, scale_attention, "MatMul Mul");
  OnnxBuilder vector(18);
  vector.input("q", DType::kFloat32, {16, 2}).input("k", DType::kFloat32, {2, 16}).output("y");
  vector.constant("scale", seeded({16}, 1));
  vector.node("MatMul", {"q", "k"}, {"s"});
  vector.node("Mul", {"s", "scale"}, {"y"});
  expect_untouched(vector, scale_attention, "MatMul Mul");
  OnnxBuilder shared(18);
  shared.input("q", DType::kFloat32, {16, 2}).input("k", DType::kFloat32, {2, 16});
  shared.output("y").output("s").floats("scale", {}, {0.5});
  shared.node("MatMul", {"q", "k"}, {"s"});
  shared.node("Mul", {"s", "scale"}, {"y"});
  expect_untouched(shared, scale_attention, "MatMul Mul");
}

}  // namespace
}  // namespace modeld::compile
