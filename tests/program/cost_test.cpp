// Expected numbers are counted by hand from the definitions in cost.h.
#include "runtime/program/cost.h"

#include <gtest/gtest.h>

namespace modeld::test {
namespace {

Tensor tensor(const std::string& name, Shape shape, DType dtype = DType::kFloat32) {
  return {name, {dtype, std::move(shape)}, std::nullopt};
}

Op op(OpKind kind, std::vector<TensorId> inputs, TensorId output) {
  Op made;
  made.kind = kind;
  made.inputs = std::move(inputs);
  made.outputs = {output};
  return made;
}

uint64_t macs(OpKind kind, std::vector<Shape> inputs, Shape output) {
  Program program;
  std::vector<TensorId> ids;
  for (const Shape& shape : inputs) {
    ids.push_back(static_cast<TensorId>(program.tensors.size()));
    program.tensors.push_back(tensor("t" + std::to_string(ids.back()), shape));
  }
  const auto out = static_cast<TensorId>(program.tensors.size());
  program.tensors.push_back(tensor("out", std::move(output)));
  return op_cost(program, op(kind, ids, out)).macs;
}

TEST(Cost, Convolutions) {
  // 3x3, 16 -> 32 channels on 10x10: 32*10*10 outputs, 16*9 each.
  EXPECT_EQ(macs(OpKind::kConv, {{1, 16, 10, 10}, {32, 16, 3, 3}}, {1, 32, 10, 10}), 460'800u);
  // Depthwise: one input channel per output channel.
  EXPECT_EQ(macs(OpKind::kConv, {{1, 16, 10, 10}, {16, 1, 3, 3}}, {1, 16, 10, 10}), 14'400u);
  // 2x2 transposed, 4 -> 6 channels: every input element meets 6*4 weights.
  EXPECT_EQ(macs(OpKind::kConvTranspose, {{1, 4, 5, 5}, {4, 6, 2, 2}}, {1, 6, 10, 10}), 2400u);
}

TEST(Cost, Products) {
  EXPECT_EQ(macs(OpKind::kMatMul, {{2, 3, 8, 5}, {2, 3, 5, 7}}, {2, 3, 8, 7}), 1680u);
  EXPECT_EQ(macs(OpKind::kMatMul, {{5}, {5}}, {}), 5u);
  EXPECT_EQ(macs(OpKind::kGemm, {{8, 5}, {5, 7}}, {8, 7}), 280u);
  Program program;
  program.tensors = {tensor("a", {5, 8}), tensor("b", {5, 7}), tensor("out", {8, 7})};
  Op gemm = op(OpKind::kGemm, {0, 1}, 2);
  gemm.attributes.set("trans_a", int64_t{1});
  EXPECT_EQ(op_cost(program, gemm).macs, 280u);
}

TEST(Cost, OtherOpsCountNothingButBytes) {
  EXPECT_EQ(macs(OpKind::kAdd, {{100}, {100}}, {100}), 0u);
  Program program;
  program.tensors = {tensor("a", {10}), tensor("b", {10}, DType::kFloat16), tensor("c", {10})};
  Op clip = op(OpKind::kAdd, {0, kNoTensor, 1}, 2);
  const OpCost cost = op_cost(program, clip);
  EXPECT_EQ(cost.bytes_read, 60u);
  EXPECT_EQ(cost.bytes_written, 40u);
}

TEST(Cost, ProgramsAreSums) {
  Program program;
  program.tensors = {tensor("x", {4, 5}), tensor("w", {5, 6}), tensor("y", {4, 6}),
                     tensor("z", {4, 6})};
  program.tensors[1].weight = WeightRef{0, 120};
  program.ops = {op(OpKind::kMatMul, {0, 1}, 2), op(OpKind::kRelu, {2}, 3)};
  const ProgramCost cost = program_cost(program);
  EXPECT_EQ(cost.macs, 120u);
  EXPECT_EQ(cost.constant_bytes, 120u);
  EXPECT_EQ(cost.intermediate_bytes, 192u);
}

}  // namespace
}  // namespace modeld::test
