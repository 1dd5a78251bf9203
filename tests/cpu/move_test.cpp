// Ops that move data, windows, and what layouts do to them, against the reference loops.
#include <cstring>
#include <functional>

#include "tests/cpu/differential.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;

TensorType f32(Shape shape) {
  return {DType::kFloat32, std::move(shape)};
}

TEST(CpuMove, Transpose) {
  for (const Ints& perm : {Ints{0, 2, 3, 1}, Ints{0, 3, 1, 2}, Ints{3, 2, 1, 0}, Ints{1, 0, 2, 3},
                           Ints{0, 1, 3, 2}, Ints{2, 3, 0, 1}, Ints{0, 1, 2, 3}}) {
    expect_op_same_as_reference({OpKind::kTranspose, {f32({2, 5, 37, 11})}, {{"perm", perm}}}, 0,
                                0);
    expect_op_same_as_reference(
        {OpKind::kTranspose, {{DType::kUInt8, {1, 3, 4, 5}}}, {{"perm", perm}}}, 0, 0);
  }
  expect_op_same_as_reference({OpKind::kTranspose, {f32({300, 257})}, {{"perm", Ints{1, 0}}}}, 0,
                              0);
}

TEST(CpuMove, SliceAndSplit) {
  const auto slice = [](Shape shape, Ints starts, Ints steps, Ints sizes) {
    expect_op_same_as_reference({OpKind::kSlice,
                                 {f32(std::move(shape))},
                                 {{"starts", starts}, {"steps", steps}, {"sizes", sizes}}},
                                0, 0);
  };
  slice({4, 6, 5}, {1, 0, 0}, {1, 1, 1}, {2, 6, 5});
  slice({4, 6, 5}, {0, 2, 1}, {2, 1, 2}, {2, 3, 2});
  slice({4, 6, 5}, {3, 5, 4}, {-1, -2, -1}, {4, 3, 5});
  slice({4, 6, 5}, {0, 0, 0}, {1, 1, 1}, {0, 6, 5});
  slice({1, 6, 5}, {0, 2, 0}, {1, 1, 1}, {1, 3, 5});
  expect_op_same_as_reference(
      {OpKind::kSplit, {f32({3, 10, 4})}, {{"axis", int64_t{1}}, {"split", Ints{2, 5, 3}}}}, 0, 0);
  expect_op_same_as_reference(
      {OpKind::kSplit, {f32({3, 10, 4})}, {{"axis", int64_t{0}}, {"split", Ints{1, 2}}}}, 0, 0);
}

TEST(CpuMove, ConcatExpandTilePad) {
  for (const int64_t axis : {0, 1, 2}) {
    Shape other = {2, 3, 4};
    other[static_cast<size_t>(axis)] = 5;
    expect_op_same_as_reference(
        {OpKind::kConcat, {f32({2, 3, 4}), f32(other), f32({2, 3, 4})}, {{"axis", axis}}, {2}}, 0,
        0);
  }
  expect_op_same_as_reference({OpKind::kExpand, {f32({3, 1, 4})}, {{"shape", Ints{2, 3, 5, 4}}}}, 0,
                              0);
  expect_op_same_as_reference({OpKind::kExpand, {f32({3, 1})}, {{"shape", Ints{3, 6}}}}, 0, 0);
  expect_op_same_as_reference({OpKind::kTile, {f32({2, 3, 4})}, {{"repeats", Ints{2, 1, 3}}}}, 0,
                              0);
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    expect_op_same_as_reference(
        {OpKind::kPad,
         {f32({2, 5, 6})},
         {{"pads", Ints{0, 1, 2, 0, 3, 1}}, {"mode", std::string(mode)}, {"value", 1.5}}},
        0, 0);
  }
}

TEST(CpuMove, Gather) {
  for (const int64_t axis : {0, 1, 2}) {
    expect_op_same_as_reference(
        {OpKind::kGather, {f32({16, 17, 18}), {DType::kInt64, {2, 3}}}, {{"axis", axis}}}, 0, 0);
  }
  expect_op_same_as_reference(
      {OpKind::kGather, {{DType::kUInt8, {16, 4}}, {DType::kInt32, {}}}, {{"axis", int64_t{0}}}}, 0,
      0);
}

TEST(CpuMove, GatherOutsideIsFlagged) {
  ProgramBuilder builder;
  const TensorId x = builder.constant(DType::kFloat32, {3}, {10, 20, 30});
  const TensorId index = builder.input("index", {DType::kInt64, {5}});
  builder.output(builder.op(OpKind::kGather, {x, index}, {{"axis", int64_t{0}}}), "y");
  const Recorded cpu = record_on("cpu", builder);
  const int64_t indices[] = {0, 3, -3, -4, 2};
  std::memcpy(cpu.capture->staging(0).data(), indices, sizeof(indices));
  auto submission = cpu.capture->replay();
  ASSERT_TRUE(submission.ok());
  ASSERT_TRUE((*submission)->wait(Deadline::after(Clock::real(), 10 * kSecond)).ok());
  EXPECT_EQ(output_values(*cpu.capture, 0), (std::vector<double>{10, 0, 10, 0, 30}));
  EXPECT_EQ((*submission)->report().index_out_of_range, 2u);
}

TEST(CpuWindow, Pools) {
  struct Case {
    Shape x;
    Ints kernel, strides, pads, dilations;
    int64_t ceil;
  };
  for (const Case& c : {Case{{1, 5, 9, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 0},
                        Case{{2, 3, 8, 8}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 0},
                        Case{{1, 16, 9, 10}, {3, 2}, {2, 3}, {0, 1, 2, 0}, {1, 1}, 1},
                        Case{{1, 4, 12, 12}, {3, 3}, {1, 1}, {0, 0, 0, 0}, {2, 3}, 0},
                        Case{{1, 40, 50, 50}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}, 0}}) {
    Attributes::Map attributes = {{"kernel_shape", c.kernel},
                                  {"strides", c.strides},
                                  {"pads", c.pads},
                                  {"dilations", c.dilations},
                                  {"ceil_mode", c.ceil}};
    expect_op_same_as_reference({OpKind::kMaxPool, {f32(c.x)}, attributes}, 0, 0);
    for (const int64_t count : {0, 1}) {
      attributes["count_include_pad"] = count;
      expect_op_same_as_reference({OpKind::kAveragePool, {f32(c.x)}, attributes}, 1e-5, 1e-6);
    }
  }
}

TEST(CpuWindow, Resize) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates :
         {"asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"}) {
      for (const Shape& sizes : {Shape{1, 6, 14, 10}, Shape{1, 6, 4, 3}, Shape{1, 6, 7, 10}}) {
        SCOPED_TRACE(std::string(mode) + " " + coordinates + " " + to_string(sizes));
        const std::vector<double> scales = {1, 1, static_cast<double>(sizes[2]) / 7,
                                            static_cast<double>(sizes[3]) / 5};
        expect_op_same_as_reference({OpKind::kResize,
                                     {f32({1, 6, 7, 5})},
                                     {{"mode", std::string(mode)},
                                      {"coordinate_transformation_mode", std::string(coordinates)},
                                      {"nearest_mode", std::string("round_prefer_floor")},
                                      {"scales", scales},
                                      {"sizes", sizes}}},
                                    1e-5, 1e-6);
      }
    }
  }
}

TensorId conv1x1(ProgramBuilder& builder, TensorId x, int64_t channels, double value) {
  const int64_t in = builder.type(x).shape[1];
  std::vector<double> weights(static_cast<size_t>(in * channels));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = value * static_cast<double>(i % 7) - 1;
  const TensorId w = builder.constant(make_tensor(DType::kFloat32, {channels, in, 1, 1}, weights));
  return builder.op(OpKind::kConv, {x, w},
                    {{"strides", Ints{1, 1}},
                     {"pads", Ints{0, 0, 0, 0}},
                     {"dilations", Ints{1, 1}},
                     {"group", int64_t{1}}});
}

// Every op that may meet a channels-last value does so behind a convolution.
TEST(CpuLayout, OpsBehindConvolutions) {
  const auto behind = [](const std::function<TensorId(ProgramBuilder&, TensorId)>& next) {
    ProgramBuilder builder;
    const TensorId x = builder.input("x", f32({1, 6, 5, 7}));
    builder.output(next(builder, conv1x1(builder, x, 10, 0.25)), "y");
    expect_same_as_reference(builder, 1e-5, 2e-5);
  };
  const auto op = [&](OpKind kind, Attributes::Map attributes) {
    SCOPED_TRACE(std::string(to_string(kind)));
    behind([&](ProgramBuilder& b, TensorId y) { return b.op(kind, {y}, attributes); });
  };
  op(OpKind::kRelu, {});
  op(OpKind::kReshape, {{"shape", Ints{1, 10, 35}}});
  op(OpKind::kReshape, {{"shape", Ints{1, 2, 5, 35}}});
  op(OpKind::kReshape, {{"shape", Ints{350}}});
  op(OpKind::kTranspose, {{"perm", Ints{0, 2, 3, 1}}});
  op(OpKind::kTranspose, {{"perm", Ints{0, 1, 3, 2}}});
  op(OpKind::kTranspose, {{"perm", Ints{3, 1, 0, 2}}});
  op(OpKind::kSoftmax, {{"axis", int64_t{1}}});
  op(OpKind::kSoftmax, {{"axis", int64_t{3}}});
  for (const Ints& axes : {Ints{1}, Ints{2}, Ints{3}, Ints{2, 3}, Ints{1, 3}, Ints{0, 1, 2, 3}}) {
    op(OpKind::kReduceMean, {{"axes", axes}, {"keepdims", int64_t{0}}});
    op(OpKind::kReduceMean, {{"axes", axes}, {"keepdims", int64_t{1}}});
  }
  op(OpKind::kArgMax, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  op(OpKind::kSlice,
     {{"starts", Ints{0, 2, 1, 0}}, {"steps", Ints{1, 3, 1, 2}}, {"sizes", Ints{1, 3, 4, 4}}});
  op(OpKind::kSlice,
     {{"starts", Ints{0, 0, 1, 0}}, {"steps", Ints{1, 1, 1, 1}}, {"sizes", Ints{1, 10, 2, 7}}});
  op(OpKind::kPad,
     {{"pads", Ints{0, 1, 1, 0, 0, 0, 2, 1}}, {"mode", std::string("constant")}, {"value", 0.5}});
  op(OpKind::kTile, {{"repeats", Ints{1, 2, 1, 2}}});
  op(OpKind::kExpand, {{"shape", Ints{3, 10, 5, 7}}});
  behind([](ProgramBuilder& b, TensorId y) {
    return b.op(OpKind::kAdd, {y, b.input("z", f32({1, 10, 5, 7}))});
  });
  behind([](ProgramBuilder& b, TensorId y) {
    return b.op(OpKind::kMul, {y, b.input("z", f32({1, 10, 1, 1}))});
  });
  behind([](ProgramBuilder& b, TensorId y) {
    return b.op(OpKind::kSub, {b.input("z", f32({5, 7})), y});
  });
  behind([](ProgramBuilder& b, TensorId y) {
    const TensorId z = b.input("z", f32({1, 3, 5, 7}));
    return b.op(OpKind::kConcat, {y, z, y}, {{"axis", int64_t{1}}});
  });
  behind([](ProgramBuilder& b, TensorId y) {
    return conv1x1(b, b.op(OpKind::kTranspose, {y}, {{"perm", Ints{0, 3, 1, 2}}}), 4, 0.5);
  });
}

// Pictures to tokens and back cost no copy.
TEST(CpuLayout, TokensAreViews) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", f32({1, 6, 5, 7}));
  const TensorId y = conv1x1(builder, x, 10, 0.25);
  const TensorId flat = builder.op(OpKind::kReshape, {y}, {{"shape", Ints{1, 10, 35}}});
  const TensorId tokens = builder.op(OpKind::kTranspose, {flat}, {{"perm", Ints{0, 2, 1}}});
  const TensorId act = builder.op(OpKind::kRelu, {tokens});
  const TensorId back = builder.op(OpKind::kTranspose, {act}, {{"perm", Ints{0, 2, 1}}});
  const TensorId picture = builder.op(OpKind::kReshape, {back}, {{"shape", Ints{1, 10, 5, 7}}});
  builder.output(conv1x1(builder, picture, 3, 0.5), "z");
  expect_same_as_reference(builder);
  const std::string lowered = lowering_of(builder);
  EXPECT_EQ(lowered.find("transpose"), std::string::npos) << lowered;
}

}  // namespace
}  // namespace modeld::test
