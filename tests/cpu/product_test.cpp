// Convolutions and matrix products against the reference loops.
#include "tests/cpu/differential.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;

TensorType f32(Shape shape) {
  return {DType::kFloat32, std::move(shape)};
}

struct ConvCase {
  Shape x, w;
  Ints strides, pads, dilations;
  int64_t group = 1;
  std::string activation = "";
  bool bias = true;
  bool residual = false;
};

int64_t out_extent(const ConvCase& c, size_t axis) {
  const size_t spatial = c.strides.size();
  const int64_t reach = (c.w[axis + 2] - 1) * c.dilations[axis] + 1;
  return (c.x[axis + 2] + c.pads[axis] + c.pads[spatial + axis] - reach) / c.strides[axis] + 1;
}

void check(const ConvCase& c) {
  OpCase op{OpKind::kConv, {f32(c.x), f32(c.w)}, {}, {1}};
  op.attributes = {
      {"strides", c.strides}, {"pads", c.pads}, {"dilations", c.dilations}, {"group", c.group}};
  if (!c.activation.empty()) op.attributes["activation"] = c.activation;
  if (c.activation == "LeakyRelu" || c.activation == "Elu") op.attributes["activation_alpha"] = 0.3;
  if (c.activation == "Clip" || c.activation == "HardSigmoid") {
    op.attributes["activation_alpha"] = c.activation == "Clip" ? -0.5 : 0.2;
    op.attributes["activation_beta"] = 0.5;
  }
  if (c.bias) {
    op.inputs.push_back(f32({c.w[0]}));
    op.constants.push_back(2);
  }
  if (c.residual) {
    Shape out = {c.x[0], c.w[0]};
    for (size_t i = 0; i < c.strides.size(); ++i) out.push_back(out_extent(c, i));
    op.inputs.push_back(f32(out));
  }
  expect_op_same_as_reference(op, 1e-5, 5e-5);
}

TEST(CpuConv, Shapes) {
  check({{1, 16, 12, 20}, {32, 16, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{1, 3, 17, 13}, {8, 3, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}});
  check({{1, 5, 7, 9}, {7, 5, 3, 2}, {1, 2}, {2, 0, 1, 1}, {1, 1}});
  check({{1, 19, 11, 11}, {19, 19, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 4, 6, 6}, {6, 4, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{1, 8, 1, 1}, {16, 8, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{1, 1, 5, 5}, {1, 1, 5, 5}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

TEST(CpuConv, DilationsAndAsymmetricPads) {
  check({{1, 8, 20, 20}, {8, 8, 3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}});
  check({{1, 8, 20, 21}, {8, 8, 3, 3}, {1, 1}, {4, 3, 0, 5}, {4, 3}});
  check({{1, 16, 9, 9}, {8, 16, 3, 3}, {2, 1}, {0, 1, 1, 0}, {1, 2}});
}

TEST(CpuConv, Groups) {
  check({{1, 16, 14, 10}, {16, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 16});
  check({{1, 24, 14, 10}, {24, 1, 5, 5}, {2, 2}, {2, 2, 2, 2}, {1, 1}, 24});
  check({{1, 12, 8, 8}, {24, 1, 7, 7}, {2, 2}, {3, 3, 3, 3}, {1, 1}, 12});  // two per channel
  check({{1, 12, 8, 8}, {18, 4, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 3});
  check({{1, 32, 8, 8}, {32, 16, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2});
}

TEST(CpuConv, OneAndThreeSpatialAxes) {
  check({{1, 6, 25}, {10, 6, 5}, {2}, {2, 1}, {1}});
  check({{1, 8, 30}, {8, 1, 3}, {1}, {1, 1}, {1}, 8});
  check({{1, 3, 5, 6, 7}, {4, 3, 3, 3, 3}, {1, 1, 2}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}});
}

TEST(CpuConv, ActivationsAndResidual) {
  for (const char* activation : {"Relu", "Clip", "Sigmoid", "Tanh", "Silu", "Gelu", "GeluTanh",
                                 "HardSwish", "HardSigmoid", "LeakyRelu", "Elu"}) {
    SCOPED_TRACE(activation);
    check(
        {{1, 16, 10, 10}, {20, 16, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, activation, true, true});
    check({{1, 16, 10, 10}, {16, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 16, activation, false});
  }
}

// Large enough to be shared between two members.
TEST(CpuConv, SharedRows) {
  check({{1, 32, 40, 33}, {32, 32, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, "Relu", true, true});
  check({{1, 32, 41, 30}, {32, 32, 3, 3}, {2, 2}, {0, 1, 1, 1}, {1, 1}, 1, "Gelu"});
  check({{3, 32, 20, 20}, {32, 32, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
}

void check_transposed(Shape x, Shape w, Ints strides, Ints pads, Ints output_padding,
                      int64_t group = 1) {
  OpCase op{OpKind::kConvTranspose, {f32(std::move(x)), f32(w), f32({w[1] * group})}, {}, {1, 2}};
  op.attributes = {{"strides", strides},
                   {"pads", pads},
                   {"dilations", Ints(strides.size(), 1)},
                   {"output_padding", output_padding},
                   {"group", group}};
  expect_op_same_as_reference(op, 1e-5, 5e-5);
}

TEST(CpuConvTranspose, Shapes) {
  check_transposed({1, 8, 6, 7}, {8, 4, 2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0});
  check_transposed({1, 8, 6, 7}, {8, 4, 3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1});
  check_transposed({1, 6, 5, 5}, {6, 3, 4, 4}, {2, 2}, {1, 1, 1, 1}, {0, 0}, 2);
  check_transposed({1, 6, 9}, {6, 5, 3}, {2}, {1, 0}, {1});
  check_transposed({1, 32, 40, 40}, {32, 16, 2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0});
}

TEST(CpuMatMul, ConstantRight) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 17, 64}) {
    OpCase op{OpKind::kMatMul, {f32({rows, 24}), f32({24, 70}), f32({70})}, {}, {1, 2}};
    expect_op_same_as_reference(op, 1e-5, 5e-5);
    op.attributes = {{"activation", std::string("Gelu")}};
    expect_op_same_as_reference(op, 1e-5, 5e-5);
  }
  expect_op_same_as_reference({OpKind::kMatMul, {f32({2, 3, 8, 16}), f32({16, 5})}, {}, {1}});
  expect_op_same_as_reference({OpKind::kMatMul, {f32({16}), f32({16, 5})}, {}, {1}});
  expect_op_same_as_reference({OpKind::kMatMul, {f32({7, 16}), f32({16})}, {}, {1}});
  expect_op_same_as_reference({OpKind::kMatMul, {f32({3, 7, 16}), f32({3, 16, 4})}, {}, {1}});
}

TEST(CpuMatMul, ComputedRight) {
  expect_op_same_as_reference({OpKind::kMatMul, {f32({4, 32, 16}), f32({4, 16, 32})}});
  expect_op_same_as_reference({OpKind::kMatMul, {f32({2, 3, 9, 5}), f32({2, 3, 5, 7})}});
  expect_op_same_as_reference({OpKind::kMatMul, {f32({2, 3, 9, 5}), f32({5, 7})}});
  expect_op_same_as_reference({OpKind::kMatMul, {f32({9, 5}), f32({3, 5, 7})}});
  expect_op_same_as_reference({OpKind::kMatMul, {f32({2, 1, 9, 5}), f32({1, 3, 5, 7})}});
  expect_op_same_as_reference({OpKind::kMatMul, {f32({5}), f32({5})}});
  expect_op_same_as_reference({OpKind::kMatMul, {f32({8, 64, 64}), f32({8, 64, 64})}}, 1e-5, 5e-5);
}

TEST(CpuGemm, TransposesScalesAndBias) {
  for (const int64_t trans_a : {0, 1}) {
    for (const int64_t trans_b : {0, 1}) {
      const Shape a = trans_a ? Shape{20, 6} : Shape{6, 20};
      const Shape b = trans_b ? Shape{11, 20} : Shape{20, 11};
      for (const Shape& c : {Shape{11}, Shape{1}, Shape{6, 11}, Shape{6, 1}}) {
        OpCase op{OpKind::kGemm, {f32(a), f32(b), f32(c)}, {}, {1, 2}};
        op.attributes = {{"alpha", 0.5}, {"beta", 2.0}, {"trans_a", trans_a}, {"trans_b", trans_b}};
        expect_op_same_as_reference(op);
        op.constants = {};
        expect_op_same_as_reference(op);
      }
    }
  }
}

TEST(CpuGemm, OneRow) {
  OpCase op{OpKind::kGemm, {f32({1, 512}), f32({300, 512}), f32({300})}, {}, {1, 2}};
  op.attributes = {{"alpha", 1.0},
                   {"beta", 1.0},
                   {"trans_a", int64_t{0}},
                   {"trans_b", int64_t{1}},
                   {"activation", std::string("Relu")}};
  expect_op_same_as_reference(op, 1e-5, 1e-4);
}

TEST(CpuConv, LibraryRunsOrdinaryShapes) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", f32({1, 16, 12, 12}));
  const TensorId w =
      builder.constant(HostTensor{f32({16, 16, 3, 3}), std::vector<std::byte>(16 * 16 * 9 * 4)});
  builder.output(builder.op(OpKind::kConv, {x, w},
                            {{"strides", Ints{1, 1}},
                             {"pads", Ints{1, 1, 1, 1}},
                             {"dilations", Ints{1, 1}},
                             {"group", int64_t{1}}}),
                 "y");
  EXPECT_NE(lowering_of(builder).find("oneDNN"), std::string::npos) << lowering_of(builder);
}

}  // namespace
}  // namespace modeld::test
