// Attention and Pointwise on the cpu backend: which code runs them, what they share memory with,
// and the cases of broadcasting and layout that the walk in blocks tells apart.
#include "tests/cpu/differential.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

const Attributes::Map kByHeads = {{"q_perm", Ints{0, 2, 1, 3}},
                                  {"k_perm", Ints{0, 2, 3, 1}},
                                  {"v_perm", Ints{0, 2, 1, 3}},
                                  {"y_perm", Ints{0, 2, 1, 3}}};

TEST(CpuAttention, SharedByHeadsAndByRows) {
  // Three heads are shared between members, one head by its rows; 700 keys need several blocks.
  for (const Shape& shape : {Shape{2, 40, 3, 16}, Shape{1, 350, 1, 24}, Shape{1, 700, 2, 8}}) {
    ProgramBuilder builder;
    const TensorId q = builder.input("q", {DType::kFloat32, shape});
    const TensorId k = builder.input("k", {DType::kFloat32, shape});
    const TensorId v = builder.input("v", {DType::kFloat32, shape});
    const TensorId scale = builder.constant(DType::kFloat32, {}, {0.25});
    const TensorId mask = builder.input("mask", {DType::kFloat32, {shape[2], 1, shape[1]}});
    builder.output(builder.op(OpKind::kAttention, {q, k, v, scale, mask}, kByHeads), "y");
    builder.output(builder.op(OpKind::kAttention, {q, k, v}, kByHeads), "z");
    expect_same_as_reference(builder, 2e-5, 2e-5);
    EXPECT_NE(lowering_of(builder).find("oneDNN matmul + softmax"), std::string::npos);
  }
}

// Keys that two queries share, a scale known at run time only: the ops one after the other.
TEST(CpuAttention, WhatItHasNoCodeForIsExpanded) {
  ProgramBuilder builder;
  const TensorId q = builder.input("q", {DType::kFloat32, {2, 3, 4, 8}});
  const TensorId k = builder.input("k", {DType::kFloat32, {1, 1, 8, 5}});
  const TensorId v = builder.input("v", {DType::kFloat32, {1, 1, 5, 6}});
  const TensorId scale = builder.input("scale", {DType::kFloat32, {}});
  builder.output(builder.op(OpKind::kAttention, {q, k, v}), "y");
  builder.output(builder.op(OpKind::kAttention, {q, k, v, scale}), "z");
  expect_same_as_reference(builder, 2e-5, 2e-5);
  EXPECT_EQ(lowering_of(builder).find("matmul + softmax"), std::string::npos);
}

// x * a + b, then a product of both halves of a branch; `a` and `b` broadcast as given.
ProgramBuilder region(const Shape& x, const Shape& a, const Shape& b, bool channels_last) {
  ProgramBuilder builder;
  TensorId in = builder.input("x", {DType::kFloat32, x});
  if (channels_last) {
    HostTensor one{{DType::kFloat32, {x[1], 1, 1, 1}}, {}};
    one.bytes = to_bytes(DType::kFloat32, Floats(static_cast<size_t>(x[1]), 1.5));
    in = builder.op(OpKind::kConv, {in, builder.constant(one)},
                    {{"strides", Ints{1, 1}},
                     {"pads", Ints{0, 0, 0, 0}},
                     {"dilations", Ints{1, 1}},
                     {"group", x[1]}});
  }
  const TensorId first = builder.input("a", {DType::kFloat32, a});
  HostTensor constant{{DType::kFloat32, b}, {}};
  Floats values;
  for (int64_t i = 0; i < constant.type.elements(); ++i) values.push_back(0.1 * (i % 13) - 0.5);
  constant.bytes = to_bytes(DType::kFloat32, values);
  const auto outputs = builder.ops(OpKind::kPointwise, {in, first, builder.constant(constant)},
                                   {{"ops", std::string("Mul,Add,Sigmoid,Less,Where,Mul")},
                                    {"words", std::string(",,,,,")},
                                    {"counts", Ints{2, 2, 1, 2, 3, 2}},
                                    {"operands", Ints{0, 1, 3, 2, 4, 4, 0, 6, 5, 4, 5, 7}},
                                    {"parameters", Floats{}},
                                    {"results", Ints{1, 5}}});
  builder.output(outputs[0], "y");
  builder.output(outputs[1], "z");
  return builder;
}

TEST(CpuRegion, EveryWayOfBroadcasting) {
  const Shape x = {2, 24, 17, 19};
  for (const bool channels_last : {false, true}) {
    for (const Shape& a : {Shape{}, Shape{24, 1, 1}, Shape{17, 19}, Shape{19}, Shape{2, 1, 1, 19},
                           Shape{17, 1}, Shape{2, 24, 17, 19}}) {
      for (const Shape& b : {Shape{24, 1, 1}, Shape{1}}) {
        const ProgramBuilder builder = region(x, a, b, channels_last);
        expect_same_as_reference(builder);
        EXPECT_NE(lowering_of(builder).find("6 pointwise in blocks"), std::string::npos);
      }
    }
  }
}

TEST(CpuRegion, LongRowsAndOddEnds) {
  expect_same_as_reference(region({3, 1, 1, 1025}, {1025}, {3, 1, 1, 1}, false));
  expect_same_as_reference(region({1, 1, 1, 2}, {2}, {1}, false));
  expect_same_as_reference(region({1, 1, 2047, 3}, {2047, 1}, {3}, false));
}

// 64-bit integers have no code in blocks.
TEST(CpuRegion, OtherTypesAreExpanded) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kInt64, {40}});
  builder.output(builder.op(OpKind::kPointwise, {x},
                            {{"ops", std::string("Neg,Abs")},
                             {"words", std::string(",")},
                             {"counts", Ints{1, 1}},
                             {"operands", Ints{0, 1}},
                             {"parameters", Floats{}},
                             {"results", Ints{1}}}),
                 "y");
  expect_same_as_reference(builder, 0, 0);
  EXPECT_EQ(lowering_of(builder).find("in blocks"), std::string::npos);
}

}  // namespace
}  // namespace modeld::test
