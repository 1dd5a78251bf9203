// Shapes from the ONNX operator documentation (opset 18), worked out by hand.
#include "runtime/program/infer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/program/op_schema.h"

namespace modeld {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

struct Case {
  OpKind kind;
  Attributes::Map attributes;
  std::vector<TensorType> inputs;
};

TensorType f32(Shape shape) {
  return {DType::kFloat32, std::move(shape)};
}
TensorType of(DType dtype, Shape shape) {
  return {dtype, std::move(shape)};
}

Result<std::vector<TensorType>> infer_case(const Case& question) {
  Attributes attributes;
  for (const auto& [name, value] : question.attributes) attributes.set(name, value);
  std::vector<const TensorType*> inputs;
  for (const TensorType& input : question.inputs) inputs.push_back(&input);
  return infer_types(question.kind, attributes, inputs);
}

void expect_type(const Case& question, const std::string& want) {
  const auto types = infer_case(question);
  ASSERT_TRUE(types.ok()) << to_string(question.kind) << ": " << to_string(types.error());
  std::string text;
  for (const TensorType& type : *types) text += (text.empty() ? "" : " ") + to_string(type);
  EXPECT_EQ(text, want) << to_string(question.kind);
}

// `culprit` names the attribute or input; `want` and `have` must occur in the error's fields.
void expect_refused(const Case& question, const std::string& culprit, const std::string& want,
                    const std::string& have) {
  const auto types = infer_case(question);
  ASSERT_FALSE(types.ok()) << to_string(question.kind) << " accepted, wanted: " << want;
  const Error& error = types.error();
  EXPECT_EQ(error.code, ErrorCode::kRefused);
  EXPECT_NE(error.message.find(culprit), std::string::npos) << to_string(error);
  EXPECT_NE(error.expected.find(want), std::string::npos) << to_string(error);
  EXPECT_NE(error.found.find(have), std::string::npos) << to_string(error);
}

Attributes::Map conv(Ints strides, Ints pads, Ints dilations, int64_t group) {
  return {{"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", std::move(dilations)},
          {"group", group}};
}
Attributes::Map with(Attributes::Map map, const std::string& name, AttributeValue value) {
  map[name] = std::move(value);
  return map;
}
Attributes::Map pool(Ints kernel, Ints strides, Ints pads, int64_t ceil_mode) {
  return {{"kernel_shape", kernel},
          {"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", Ints(kernel.size(), 1)},
          {"ceil_mode", ceil_mode}};
}

TEST(Infer, ConvCountsPlacementsPerAxis) {
  const auto plain = conv({2, 1}, {1, 0, 1, 2}, {1, 3}, 1);
  // rows: (7 + 2 - 3) / 2 + 1 = 4; columns: (9 + 2 - 7) / 1 + 1 = 5
  expect_type({OpKind::kConv, plain, {f32({2, 3, 7, 9}), f32({8, 3, 3, 3}), f32({8})}},
              "f32[2,8,4,5]");
  expect_type({OpKind::kConv, conv({1}, {0, 0}, {1}, 4), {f32({1, 8, 5}), f32({4, 2, 5})}},
              "f32[1,4,1]");
}

TEST(Infer, ConvRefusals) {
  const auto plain = conv({1, 1}, {0, 0, 0, 0}, {1, 1}, 1);
  const TensorType x = f32({1, 3, 8, 8});
  const TensorType w = f32({4, 3, 3, 3});
  expect_refused({OpKind::kConv, plain, {x}}, "inputs", "2", "1");
  expect_refused({OpKind::kConv, plain, {x, f32({4, 2, 3, 3})}}, "input 0", "2 channels",
                 "f32[1,3,8,8]");
  expect_refused({OpKind::kConv, plain, {x, of(DType::kFloat16, {4, 3, 3, 3})}}, "input 1", "f32",
                 "f16");
  expect_refused({OpKind::kConv, plain, {x, f32({4, 3, 9, 3})}}, "input 0", "at least 9", "8");
  expect_refused({OpKind::kConv, plain, {x, w, f32({3})}}, "input 2", "[4]", "f32[3]");
  expect_refused({OpKind::kConv, plain, {x, w, f32({4}), f32({1, 4, 8, 8})}}, "input 3",
                 "[1,4,6,6]", "[1,4,8,8]");
  expect_refused({OpKind::kConv, with(plain, "group", int64_t{0}), {x, w}}, "group", "1..", "0");
  expect_refused({OpKind::kConv, with(plain, "strides", Ints{0, 1}), {x, w}}, "strides", "1..",
                 "0");
  expect_refused({OpKind::kConv, with(plain, "pads", Ints{1, 1}), {x, w}}, "pads", "4 values",
                 "2 values");
  expect_refused({OpKind::kConv, with(plain, "pads", Ints{-1, 0, 0, 0}), {x, w}}, "pads", "0..",
                 "-1");
  expect_refused({OpKind::kConv, with(plain, "strides", 1.0), {x, w}}, "strides", "integers",
                 "a float");
  expect_refused({OpKind::kConv, with(plain, "colour", 1.0), {x, w}}, "attribute", "OPS.md",
                 "colour");
  const int64_t huge = std::numeric_limits<int64_t>::max();
  expect_refused({OpKind::kConv, with(plain, "dilations", Ints{huge, huge}), {x, w}}, "dilations",
                 "2147483647", std::to_string(huge));
  auto absent = plain;
  absent.erase("pads");
  expect_refused({OpKind::kConv, absent, {x, w}}, "pads", "integers", "nothing");
}

TEST(Infer, ActivationsNeedTheirParameters) {
  const auto plain = conv({1, 1}, {0, 0, 0, 0}, {1, 1}, 1);
  const std::vector<TensorType> inputs = {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})};
  const auto relu = with(plain, "activation", std::string("Relu"));
  const auto clip = with(plain, "activation", std::string("Clip"));
  expect_type({OpKind::kConv, relu, inputs}, "f32[1,4,6,6]");
  expect_type(
      {OpKind::kConv, with(with(clip, "activation_alpha", 0.0), "activation_beta", 6.0), inputs},
      "f32[1,4,6,6]");
  expect_refused({OpKind::kConv, clip, inputs}, "activation_alpha", "present", "absent");
  expect_refused({OpKind::kConv, with(relu, "activation_alpha", 0.0), inputs}, "activation_alpha",
                 "absent", "present");
  expect_refused({OpKind::kConv, with(plain, "activation", std::string("Sine")), inputs},
                 "activation", "OPS.md", "Sine");
}

TEST(Infer, ConvTranspose) {
  auto attributes = conv({3, 2}, {0, 0, 0, 0}, {1, 1}, 1);
  attributes["output_padding"] = Ints{1, 1};
  // ONNX case "convtranspose_pad": 3x3 input, 3x3 kernel, strides 3,2, output_padding 1 -> 10x8.
  expect_type({OpKind::kConvTranspose, attributes, {f32({1, 1, 3, 3}), f32({1, 2, 3, 3})}},
              "f32[1,2,10,8]");
  attributes["group"] = int64_t{2};
  expect_type({OpKind::kConvTranspose, attributes, {f32({1, 4, 3, 3}), f32({4, 3, 3, 3})}},
              "f32[1,6,10,8]");
  expect_refused({OpKind::kConvTranspose, attributes, {f32({1, 3, 3, 3}), f32({3, 3, 3, 3})}},
                 "group", "divisor of 3", "2");
  attributes["output_padding"] = Ints{3, 1};
  expect_refused({OpKind::kConvTranspose, attributes, {f32({1, 4, 3, 3}), f32({4, 3, 3, 3})}},
                 "output_padding", "less than", "3");
  attributes["output_padding"] = Ints{0, 0};
  attributes["pads"] = Ints{9, 0, 9, 0};
  expect_refused({OpKind::kConvTranspose, attributes, {f32({1, 4, 3, 3}), f32({4, 3, 3, 3})}},
                 "pads", "fewer than", "18");
}

TEST(Infer, Products) {
  Attributes::Map gemm = {
      {"alpha", 1.0}, {"beta", 1.0}, {"trans_a", int64_t{1}}, {"trans_b", int64_t{0}}};
  expect_type({OpKind::kGemm, gemm, {f32({6, 3}), f32({6, 4}), f32({1, 4})}}, "f32[3,4]");
  expect_refused({OpKind::kGemm, gemm, {f32({3, 6}), f32({6, 4})}}, "input 1", "inner extent 3",
                 "6");
  expect_refused({OpKind::kGemm, gemm, {f32({6, 3}), f32({6, 4}), f32({3})}}, "input 2", "[3,4]",
                 "f32[3]");
  expect_type({OpKind::kMatMul, {}, {f32({2, 1, 3, 4}), f32({5, 4, 6})}}, "f32[2,5,3,6]");
  expect_type({OpKind::kMatMul, {}, {f32({4}), f32({5, 4, 6}), f32({6})}}, "f32[5,6]");
  expect_type({OpKind::kMatMul, {}, {f32({5, 3, 4}), f32({4})}}, "f32[5,3]");
  expect_type({OpKind::kMatMul, {}, {f32({4}), f32({4})}}, "f32[]");
  expect_refused({OpKind::kMatMul, {}, {f32({4}), f32({4}), f32({1})}}, "input 2", "no bias",
                 "a bias");
  expect_refused({OpKind::kMatMul, {}, {f32({2, 3, 4}), f32({3, 4, 6})}}, "input 1", "broadcasts",
                 "f32[3]");
  expect_refused({OpKind::kMatMul, {}, {f32({}), f32({4})}}, "input 0", "rank 1", "f32[]");
  expect_refused({OpKind::kMatMul, {}, {of(DType::kInt8, {2, 2}), of(DType::kInt8, {2, 2})}},
                 "input 0", "32 or 64", "i8");
}

TEST(Infer, ElementwiseAndBroadcast) {
  expect_type({OpKind::kAdd, {}, {f32({2, 1, 4}), f32({3, 1})}}, "f32[2,3,4]");
  expect_type({OpKind::kLess, {}, {f32({2}), f32({})}}, "bool[2]");
  expect_type({OpKind::kMax, {}, {f32({2, 1}), f32({3}), f32({1})}}, "f32[2,3]");
  expect_type({OpKind::kMul, {}, {f32({0, 1}), f32({3})}}, "f32[0,3]");
  expect_type({OpKind::kWhere, {}, {of(DType::kBool, {2, 1}), f32({3}), f32({})}}, "f32[2,3]");
  expect_type({OpKind::kPow, {}, {f32({2}), of(DType::kInt64, {})}}, "f32[2]");
  expect_refused({OpKind::kAdd, {}, {f32({2}), f32({3})}}, "input 1", "[2]", "f32[3]");
  expect_refused({OpKind::kAdd, {}, {f32({2}), of(DType::kInt32, {2})}}, "input 1", "f32", "i32");
  expect_refused({OpKind::kAdd, {}, {of(DType::kBool, {2}), of(DType::kBool, {2})}}, "input 0",
                 "numeric", "bool");
  expect_refused({OpKind::kAnd, {}, {f32({2}), f32({2})}}, "input 0", "bool", "f32");
  expect_refused({OpKind::kMod, {}, {f32({2}), f32({2})}}, "fmod", "1 for floats", "0");
  expect_refused({OpKind::kPRelu, {}, {f32({2}), f32({2, 2})}}, "input 1", "broadcasts to [2]",
                 "[2,2]");
  expect_refused({OpKind::kNeg, {}, {of(DType::kUInt8, {2})}}, "input 0", "signed", "u8");
  expect_refused({OpKind::kSqrt, {}, {of(DType::kInt32, {2})}}, "input 0", "float", "i32");
  expect_refused({OpKind::kMax, {}, {}}, "inputs", "1 or more", "0");
  expect_refused({OpKind::kAbs, {}, {of(DType::kNv12, {})}}, "input 0", "numbers", "nv12");
}

TEST(Infer, NormalisationAndReduction) {
  const TensorType x = f32({2, 3, 4});
  const Attributes::Map epsilon = {{"epsilon", 1e-5}};
  expect_type({OpKind::kBatchNormalization, epsilon, {x, f32({3}), f32({3}), f32({3}), f32({3})}},
              "f32[2,3,4]");
  expect_refused(
      {OpKind::kBatchNormalization, epsilon, {x, f32({4}), f32({3}), f32({3}), f32({3})}},
      "input 1", "[3]", "f32[4]");
  expect_refused({OpKind::kBatchNormalization,
                  {{"epsilon", std::nan("")}},
                  {x, f32({3}), f32({3}), f32({3}), f32({3})}},
                 "epsilon", "finite", "nan");
  const Attributes::Map layer = {{"axis", int64_t{1}}, {"epsilon", 1e-5}};
  expect_type({OpKind::kLayerNormalization, layer, {x, f32({3, 4})}}, "f32[2,3,4]");
  expect_refused({OpKind::kLayerNormalization, layer, {x, f32({4})}}, "input 1", "[3,4]", "[4]");
  const auto reduce = [](Ints axes, int64_t keep) {
    return Attributes::Map{{"axes", std::move(axes)}, {"keepdims", keep}};
  };
  expect_type({OpKind::kReduceMean, reduce({0, 2}, 1), {x}}, "f32[1,3,1]");
  expect_type({OpKind::kReduceSum, reduce({0, 1, 2}, 0), {x}}, "f32[]");
  expect_refused({OpKind::kReduceMax, reduce({2, 0}, 1), {x}}, "axes", "ascending", "0 after 2");
  expect_refused({OpKind::kReduceMax, reduce({1, 1}, 1), {x}}, "axes", "ascending", "1 after 1");
  expect_refused({OpKind::kReduceMax, reduce({-1}, 1), {x}}, "axes", "ascending", "-1");
  expect_refused({OpKind::kReduceMax, reduce({3}, 1), {x}}, "axes", "below 3", "3");
  expect_refused({OpKind::kReduceMax, reduce({0}, 2), {x}}, "keepdims", "0..1", "2");
  const Attributes::Map arg = {{"axis", int64_t{2}}, {"keepdims", int64_t{0}}};
  expect_type({OpKind::kArgMax, arg, {x}}, "i64[2,3]");
  expect_refused({OpKind::kArgMin, arg, {f32({2, 3, 0})}}, "input 0", "elements", "[2,3,0]");
  expect_refused({OpKind::kSoftmax, {{"axis", int64_t{3}}}, {x}}, "axis", "0..2", "3");
  expect_refused({OpKind::kSoftmax, {{"axis", int64_t{0}}}, {f32({})}}, "axis", "axes", "scalar");
}

TEST(Infer, PoolsAndTheirCeiling) {
  expect_type({OpKind::kMaxPool, pool({3, 3}, {2, 2}, {0, 0, 0, 0}, 1), {f32({1, 1, 4, 4})}},
              "f32[1,1,2,2]");
  expect_type({OpKind::kMaxPool, pool({3, 3}, {2, 2}, {0, 0, 0, 0}, 0), {f32({1, 1, 4, 4})}},
              "f32[1,1,1,1]");
  // ONNX case "maxpool_2d_ceil_output_size_reduce_by_one": the second window would start outside.
  expect_type({OpKind::kMaxPool, pool({1, 1}, {2, 2}, {0, 0, 0, 0}, 1), {f32({1, 1, 2, 2})}},
              "f32[1,1,1,1]");
  expect_refused({OpKind::kAveragePool, pool({3, 3}, {2, 2}, {0, 0, 0, 0}, 0), {f32({1, 1, 2, 4})}},
                 "input 0", "at least 3", "2");
  expect_refused({OpKind::kMaxPool, pool({0, 3}, {2, 2}, {0, 0, 0, 0}, 0), {f32({1, 1, 4, 4})}},
                 "kernel_shape", "1..", "0");
  expect_refused({OpKind::kAveragePool,
                  pool({1, 1}, {1, 1}, {0, 0, 0, 0}, 0),
                  {of(DType::kUInt8, {1, 1, 4, 4})}},
                 "input 0", "float", "u8");
}

TEST(Infer, ResizeAndWarp) {
  Attributes::Map resize = {{"mode", std::string("nearest")},
                            {"coordinate_transformation_mode", std::string("asymmetric")},
                            {"nearest_mode", std::string("floor")},
                            {"scales", Floats{1, 1, 2, 2.5}},
                            {"sizes", Ints{1, 1, 4, 5}}};
  const std::vector<TensorType> x = {f32({1, 1, 2, 2})};
  expect_type({OpKind::kResize, resize, x}, "f32[1,1,4,5]");
  expect_refused({OpKind::kResize, with(resize, "mode", std::string("area")), x}, "mode",
                 "nearest, linear, cubic", "area");
  expect_refused({OpKind::kResize, with(resize, "scales", Floats{1, 1, 2, 0}), x}, "scales",
                 "above 0", "0");
  expect_refused({OpKind::kResize, with(resize, "scales", Floats{1, 1, 2, std::nan("")}), x},
                 "scales", "finite", "nan");
  expect_refused({OpKind::kResize, with(resize, "sizes", Ints{1, 4, 5}), x}, "sizes", "4 values",
                 "3 values");
  expect_refused({OpKind::kResize, with(resize, "roi", Floats{1}), x}, "roi", "0 values", "1");
  expect_refused({OpKind::kResize, resize, {f32({1, 1, 0, 2})}}, "input 0", "elements", "0");

  Attributes::Map warp = {{"layout", std::string("yuv420_planes")},
                          {"out_width", int64_t{512}},
                          {"out_height", int64_t{256}}};
  const std::vector<TensorType> frame = {of(DType::kNv12, {}), f32({3, 3})};
  expect_type({OpKind::kWarp, warp, frame}, "u8[6,128,256]");
  expect_type({OpKind::kWarp, with(warp, "layout", std::string("luma")), frame}, "u8[256,512]");
  expect_refused({OpKind::kWarp, with(warp, "out_width", int64_t{511}), frame}, "out_width", "even",
                 "511");
  expect_refused({OpKind::kWarp, with(warp, "border_fill", int64_t{256}), frame}, "border_fill",
                 "0..255", "256");
  expect_type({OpKind::kWarp, with(warp, "filter", std::string("bilinear")), frame},
              "u8[6,128,256]");
  expect_refused({OpKind::kWarp, with(warp, "filter", std::string("cubic")), frame}, "filter",
                 "bilinear", "cubic");
  expect_refused(
      {OpKind::kWarp,
       with(with(warp, "filter", std::string("bilinear")), "border_fill", int64_t{16}), frame},
      "border_fill", "nothing with a bilinear filter", "a value");
  expect_refused({OpKind::kWarp, warp, {f32({8}), f32({3, 3})}}, "input 0", "nv12", "f32[8]");
  expect_refused({OpKind::kWarp, warp, {of(DType::kNv12, {}), f32({9})}}, "input 1", "f32[3,3]",
                 "f32[9]");
}

TEST(Infer, MovingData) {
  const TensorType x = f32({2, 3, 4});
  expect_type({OpKind::kCast, {{"to", std::string("u8")}}, {x}}, "u8[2,3,4]");
  expect_refused({OpKind::kCast, {{"to", std::string("nv12")}}, {x}}, "to", "element type", "nv12");
  const Attributes::Map axis1 = {{"axis", int64_t{1}}};
  expect_type({OpKind::kConcat, axis1, {x, f32({2, 1, 4}), f32({2, 0, 4})}}, "f32[2,4,4]");
  expect_refused({OpKind::kConcat, axis1, {x, f32({2, 1, 5})}}, "input 1", "axis 1", "[2,1,5]");
  expect_refused({OpKind::kConcat, axis1, {x, f32({2, 3})}}, "input 1", "axis 1", "[2,3]");
  expect_type({OpKind::kExpand, {{"shape", Ints{5, 2, 3, 4}}}, {x}}, "f32[5,2,3,4]");
  expect_refused({OpKind::kExpand, {{"shape", Ints{2, 3, 1}}}, {x}}, "shape", "broadcasts",
                 "[2,3,1]");
  expect_type({OpKind::kGather, axis1, {x, of(DType::kInt64, {5, 6})}}, "f32[2,5,6,4]");
  expect_refused({OpKind::kGather, axis1, {x, f32({5})}}, "input 1", "i32 or i64", "f32");
  expect_type({OpKind::kReshape, {{"shape", Ints{4, 6}}}, {x}}, "f32[4,6]");
  expect_refused({OpKind::kReshape, {{"shape", Ints{4, 7}}}, {x}}, "shape", "[2,3,4]", "[4,7]");
  expect_refused({OpKind::kReshape, {{"shape", Ints{4, -1}}}, {x}}, "shape", "0..", "-1");
  expect_type({OpKind::kSplit, {{"axis", int64_t{2}}, {"split", Ints{1, 3}}}, {x}},
              "f32[2,3,1] f32[2,3,3]");
  expect_refused({OpKind::kSplit, {{"axis", int64_t{2}}, {"split", Ints{1, 2}}}, {x}}, "split", "4",
                 "3");
  expect_type({OpKind::kTile, {{"repeats", Ints{1, 2, 0}}}, {x}}, "f32[2,6,0]");
  expect_type({OpKind::kTranspose, {{"perm", Ints{2, 0, 1}}}, {x}}, "f32[4,2,3]");
  expect_refused({OpKind::kTranspose, {{"perm", Ints{2, 0, 2}}}, {x}}, "perm", "once", "[2,0,2]");
}

TEST(Infer, PadAndSlice) {
  const TensorType x = f32({2, 3});
  const auto pad = [](const std::string& mode, Ints pads) {
    return Attributes::Map{{"mode", mode}, {"pads", std::move(pads)}};
  };
  expect_type({OpKind::kPad, pad("constant", {0, 7, 1, 0}), {x}}, "f32[3,10]");
  expect_type({OpKind::kPad, pad("reflect", {1, 2, 0, 2}), {x}}, "f32[3,7]");
  expect_refused({OpKind::kPad, pad("reflect", {2, 0, 0, 0}), {x}}, "pads", "at least 3", "[2,3]");
  expect_refused({OpKind::kPad, pad("edge", {1, 0, 0, 0}), {f32({0, 3})}}, "pads", "at least 1",
                 "[0,3]");
  const auto slice = [](Ints starts, Ints steps, Ints sizes) {
    return Attributes::Map{
        {"starts", std::move(starts)}, {"steps", std::move(steps)}, {"sizes", std::move(sizes)}};
  };
  expect_type({OpKind::kSlice, slice({1, 2}, {1, -2}, {1, 2}), {x}}, "f32[1,2]");
  expect_type({OpKind::kSlice, slice({0, 9}, {1, 1}, {2, 0}), {x}}, "f32[2,0]");
  expect_refused({OpKind::kSlice, slice({0, 2}, {1, -2}, {1, 3}), {x}}, "starts", "axis 1",
                 "start 2, step -2, size 3");
  expect_refused({OpKind::kSlice, slice({0, 0}, {1, 0}, {1, 1}), {x}}, "starts", "axis 1",
                 "step 0");
  const int64_t huge = std::numeric_limits<int64_t>::min();
  expect_refused({OpKind::kSlice, slice({0, 0}, {1, huge}, {1, 2}), {x}}, "starts", "axis 1",
                 std::to_string(huge));
  expect_refused({OpKind::kSlice, slice({0}, {1, 1}, {1, 1}), {x}}, "starts", "2 values", "1");
}

TEST(Infer, HostileTypesAndKinds) {
  expect_refused({OpKind::kAbs, {}, {f32({-1})}}, "input 0", "extents", "[-1]");
  const int64_t large = (int64_t{1} << 31) - 1;
  expect_refused({OpKind::kAbs, {}, {f32({large, large, large})}}, "input 0", "fits", "2147483647");
  expect_refused({OpKind::kAdd, {}, {f32({large, 1}), f32({large})}}, "output 0", "fits",
                 "2147483647");
  const TensorType x = f32({1});
  const TensorType* const inputs[] = {&x};
  const auto unknown = infer_types(static_cast<OpKind>(9999), Attributes{}, inputs);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().found, "9999");
  const TensorType* const absent[] = {nullptr};
  EXPECT_FALSE(infer_types(OpKind::kAbs, Attributes{}, absent).ok());
  const TensorType* const hole[] = {&x, nullptr};
  EXPECT_FALSE(infer_types(OpKind::kConcat, Attributes{}, hole).ok());
}

// No combination of kind, few attributes and odd inputs may do worse than be refused.
TEST(Infer, EveryKindSurvivesEmptyAttributes) {
  for (const OpKind kind : all_op_kinds()) {
    for (size_t count = 0; count < 6; ++count) {
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{1, 0, 2}, Shape{2, 3, 4, 5}}) {
        const TensorType type = f32(shape);
        const std::vector<const TensorType*> inputs(count, &type);
        const auto types = infer_types(kind, Attributes{}, inputs);
        const OpSchema& schema = op_schema(kind);
        if (count < schema.min_inputs || count > schema.max_inputs) {
          EXPECT_FALSE(types.ok());
        }
      }
    }
  }
}

}  // namespace
}  // namespace modeld
