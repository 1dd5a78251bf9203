// The same programs under the traits of other devices: short vectors and groups, half storage, and
// every way of dividing, against the reference.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/device/backends.h"
#include "runtime/opencl/opencl_device.h"
#include "runtime/program/seeded_inputs.h"
#include "tests/support/program_builder.h"
#include "warp/sampler.h"

namespace modeld::opencl {
namespace {

using test::ProgramBuilder;
using Ints = std::vector<int64_t>;

Traits gpu_traits() {
  Traits traits;  // the defaults of a GPU
  traits.division = Division::kIntegers;
  return traits;
}

std::unique_ptr<Device> open(const std::optional<Traits>& traits) {
  OpenOptions options;
  options.wish.software = true;
  options.traits = traits;
  auto device = open_device(options);
  if (!device.ok()) throw std::runtime_error(to_string(device.error()));
  return std::move(device).value();
}

std::unique_ptr<Capture> record(Device& device, const ProgramBuilder& builder,
                                const CaptureOptions& options = {}) {
  MemoryWeights weights = builder.weights();
  auto capture = device.record(builder.program(), weights, options);
  if (!capture.ok()) throw std::runtime_error(to_string(capture.error()));
  return std::move(capture).value();
}

void run(Capture& capture) {
  auto submission = capture.replay();
  ASSERT_TRUE(submission.ok());
  const Status done = (*submission)->wait(Deadline::after(Clock::real(), 60 * kSecond));
  ASSERT_TRUE(done.ok()) << to_string(done.error());
}

// Seeded inputs on both; outputs within the tolerance.
void expect_as_reference(const std::optional<Traits>& traits, const ProgramBuilder& builder,
                         double tolerance) {
  const auto device = open(traits);
  const auto capture = record(*device, builder);
  auto reference = open_backend("reference");
  ASSERT_TRUE(reference.ok());
  const auto want = record(**reference, builder);
  for (Capture* one : {capture.get(), want.get()}) {
    for (size_t i = 0; i < one->inputs().size(); ++i) {
      fill_seeded(one->staging(i), one->inputs()[i].type.dtype, 3, static_cast<uint32_t>(i), 0);
    }
    run(*one);
  }
  for (size_t i = 0; i < want->outputs().size(); ++i) {
    const DType dtype = want->outputs()[i].type.dtype;
    const auto have = test::to_doubles(dtype, capture->output(i));
    const auto expected = test::to_doubles(dtype, want->output(i));
    ASSERT_EQ(have.size(), expected.size());
    for (size_t k = 0; k < have.size(); ++k) {
      ASSERT_NEAR(have[k], expected[k], tolerance * (1 + std::fabs(expected[k])))
          << want->outputs()[i].name << " element " << k;
    }
  }
}

// Pointwise chains, a reduction, softmax, a convolution and a product; extents no group divides.
ProgramBuilder mixed(DType dtype) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {dtype, {1, 13, 17, 19}});
  std::vector<double> weights;
  for (int i = 0; i < 21 * 13 * 9; ++i) weights.push_back(0.1 * std::sin(i));
  const TensorId w = builder.constant(test::make_tensor(dtype, {21, 13, 3, 3}, weights));
  const TensorId y = builder.op(OpKind::kConv, {x, w},
                                {{"strides", Ints{2, 1}},
                                 {"pads", Ints{1, 1, 1, 1}},
                                 {"dilations", Ints{1, 1}},
                                 {"group", int64_t{1}},
                                 {"activation", std::string("Silu")}});
  const TensorId squeezed =
      builder.op(OpKind::kReduceMean, {y}, {{"axes", Ints{2, 3}}, {"keepdims", int64_t{1}}});
  const TensorId gate = builder.op(OpKind::kSigmoid, {squeezed});
  const TensorId scaled = builder.op(OpKind::kMul, {y, gate});
  const TensorId rows = builder.op(OpKind::kReshape, {scaled}, {{"shape", Ints{21, 171}}});
  const TensorId turned = builder.op(OpKind::kTranspose, {rows}, {{"perm", Ints{1, 0}}});
  const TensorId product = builder.op(OpKind::kMatMul, {rows, turned});
  builder.output(builder.op(OpKind::kSoftmax, {product}, {{"axis", int64_t{1}}}), "soft");
  builder.output(
      builder.op(OpKind::kReduceMax, {scaled}, {{"axes", Ints{3}}, {"keepdims", int64_t{0}}}),
      "max");
  return builder;
}

TEST(DeviceShapes, DefaultsAgree) {
  expect_as_reference(std::nullopt, mixed(DType::kFloat32), 1e-4);
}

TEST(DeviceShapes, FieldFault32GroupsAndShortVectorsAgree) {
  expect_as_reference(gpu_traits(), mixed(DType::kFloat32), 1e-4);
}

TEST(DeviceShapes, HalfStorageAgrees) {
  expect_as_reference(gpu_traits(), mixed(DType::kFloat16), 1e-2);
}

constexpr uint32_t kSide = 64;

std::vector<std::byte> warped(Division division, const Matrix3f& matrix) {
  ProgramBuilder builder;
  const TensorId frame = builder.frame("road");
  const TensorId transform = builder.input("transform", {DType::kFloat32, {3, 3}});
  builder.output(builder.op(OpKind::kWarp, {frame, transform},
                            {{"layout", std::string("luma")},
                             {"out_width", int64_t{kSide}},
                             {"out_height", int64_t{kSide}}},
                            Phase::kWarp),
                 "picture");
  Traits traits = gpu_traits();
  traits.has_double = true;
  traits.division = division;
  const auto device = open(traits);
  CaptureOptions options;
  options.frames.push_back({"road", {kSide, kSide, kSide, kSide * kSide, kSide * kSide * 3 / 2}});
  const auto capture = record(*device, builder, options);
  fill_seeded(capture->staging(0), DType::kNv12, 9, 0, 0);
  const auto bytes = std::as_bytes(std::span(matrix.m));
  std::copy(bytes.begin(), bytes.end(), capture->staging(1).begin());
  run(*capture);
  const auto out = capture->output(0);
  return {out.begin(), out.end()};
}

// Quotients near halves decide which pixel is taken; a division off by one rounding shows.
TEST(DeviceShapes, EveryDivisionWarpsBitForBit) {
  WarpSpec spec;
  spec.width = spec.height = spec.out_width = spec.out_height = kSide;
  spec.output = WarpOutput::kLuma;
  const Nv12Layout layout{kSide, kSide, kSide, kSide * kSide, kSide * kSide * 3 / 2};
  std::vector<std::byte> frame(layout.length);
  fill_seeded(frame, DType::kNv12, 9, 0, 0);
  const float third = 1.0f / 3.0f;
  for (const Matrix3f& matrix : {Matrix3f{{third * 1.5f, 0, 0, 0, third * 1.5f, 0, 0, 0, third}},
                                 Matrix3f{{1.1f, 0.2f, -3, 0.1f, 0.9f, 2, 0.001f, 0.002f, 1}},
                                 Matrix3f{{0.5f, 0, 0.25f, 0, 0.5f, 0.25f, 0, 0, 0.5f}},
                                 Matrix3f{{1e-39f, 0, 0, 0, 1e-39f, 0, 0, 0, 1e-39f}},
                                 Matrix3f{{1, 0, 0, 0, 1, 0, 0, 0.03125f, -1}}}) {
    std::vector<std::byte> want(spec.output_bytes());
    warp_scalar(spec, layout, reinterpret_cast<const uint8_t*>(frame.data()), matrix,
                reinterpret_cast<uint8_t*>(want.data()));
    for (const Division division : {Division::kNative, Division::kDouble, Division::kIntegers}) {
      EXPECT_EQ(warped(division, matrix), want) << "division " << static_cast<int>(division);
    }
  }
}

// A large right side lies the wrong way round beside a small left one: only the small one is
// copied, and the product is right for one matrix and for a stack.
TEST(Products, TurnTheSmallerSide) {
  for (const Shape& stack : {Shape{}, Shape{3}}) {
    const auto matrix = [&](int64_t rows, int64_t columns) {
      Shape shape = stack;
      shape.insert(shape.end(), {rows, columns});
      return shape;
    };
    ProgramBuilder builder;
    const TensorId a = builder.input("a", {DType::kFloat32, matrix(5, 40)});
    const TensorId b = builder.input("b", {DType::kFloat32, matrix(70, 40)});
    Ints perm = {1, 0};
    if (!stack.empty()) perm = {0, 2, 1};
    const TensorId across = builder.op(OpKind::kTranspose, {b}, {{"perm", perm}});
    builder.output(builder.op(OpKind::kMatMul, {a, across}), "y");
    for (const auto& traits : {std::optional<Traits>(), std::optional(gpu_traits())}) {
      expect_as_reference(traits, builder, 1e-5);
    }
    const auto device = open({});
    const auto capture = record(*device, builder);
    size_t turns = 0;
    for (const StepInfo& step : opencl_steps(*capture)) turns += step.how == "turn" ? 1 : 0;
    EXPECT_EQ(turns, 1u);
    EXPECT_EQ(opencl_steps(*capture).size(), 3u);  // turn, product, copy into the output's order
  }
}

}  // namespace
}  // namespace modeld::opencl
