// Each rule of the verifier with a program that breaks only that rule.
#include "runtime/program/verify.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/support/program_builder.h"

namespace modeld {
namespace {

using test::ProgramBuilder;

const TensorType kVector{DType::kFloat32, {4}};

// y = relu(x + c), state s -> s + x. Tensors: x 0, c 1, s 2, sum 3, y 4, next 5.
ProgramBuilder sound_program() {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", kVector);
  const TensorId c = builder.constant(DType::kFloat32, {4}, {1, 2, 3, 4});
  const TensorId s = builder.state("s", kVector);
  const TensorId sum = builder.op(OpKind::kAdd, {x, c});
  const TensorId y = builder.op(OpKind::kRelu, {sum});
  const TensorId next = builder.op(OpKind::kAdd, {s, x});
  builder.feed_back(s, next);
  builder.output(y, "y");
  return builder;
}

void expect_refused(const std::function<void(Program&)>& break_it, const std::string& message,
                    const std::string& want, const std::string& have) {
  ProgramBuilder builder = sound_program();
  break_it(builder.program());
  const Status status = verify(builder.program(), builder.weights_bytes());
  ASSERT_FALSE(status.ok()) << "accepted, wanted: " << message;
  const Error& error = status.error();
  EXPECT_EQ(error.code, ErrorCode::kRefused);
  EXPECT_NE(error.message.find(message), std::string::npos) << to_string(error);
  EXPECT_NE(error.expected.find(want), std::string::npos) << to_string(error);
  EXPECT_NE(error.found.find(have), std::string::npos) << to_string(error);
}

TEST(Verify, AcceptsASoundProgram) {
  const ProgramBuilder builder = sound_program();
  const Status status = verify(builder.program(), builder.weights_bytes());
  EXPECT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_TRUE(verify(Program{}, 0).ok());
}

TEST(Verify, IdsInRange) {
  expect_refused([](Program& p) { p.inputs.push_back(77); }, "program input", "a tensor id below 6",
                 "77");
  expect_refused([](Program& p) { p.outputs.push_back(77); }, "program output",
                 "a tensor id below 6", "77");
  expect_refused([](Program& p) { p.ops[0].inputs[1] = 6; }, "input 1", "below 6", "6");
  expect_refused([](Program& p) { p.ops[1].outputs[0] = 6; }, "output 0", "below 6", "6");
  expect_refused([](Program& p) { p.states[0].current = kNoTensor; }, "state current", "below 6",
                 "4294967295");
  expect_refused([](Program& p) { p.states[0].next = 6; }, "state next", "below 6", "6");
  expect_refused([](Program& p) { p.ops[1].outputs[0] = kNoTensor; }, "output 0", "below 6",
                 "4294967295");
}

TEST(Verify, NamesAreUniqueAndPresent) {
  expect_refused([](Program& p) { p.tensors[4].name = "x"; }, "tensor 'x'", "a name used once",
                 "second");
  expect_refused([](Program& p) { p.tensors[3].name.clear(); }, "tensor 3", "a name", "empty");
}

TEST(Verify, OneOriginPerTensor) {
  expect_refused([](Program& p) { p.inputs.push_back(0); }, "tensor 'x'", "one origin",
                 "a program input and a program input");
  expect_refused([](Program& p) { p.inputs.push_back(1); }, "tensor 'c1'", "one origin",
                 "a constant and a program input");
  expect_refused([](Program& p) { p.states.push_back(p.states[0]); }, "tensor 's'", "one origin",
                 "a state and a state");
  expect_refused([](Program& p) { p.ops[1].outputs[0] = 0; }, "tensor 'x'", "one origin",
                 "a program input and written by an op");
  expect_refused([](Program& p) { p.ops[2].outputs[0] = 4; }, "tensor 'y'", "one origin",
                 "written by an op and written by an op");
  expect_refused(
      [](Program& p) {
        p.tensors.push_back({"loose", kVector, {}});
      },
      "tensor 'loose'", "one origin", "written by nobody");
}

TEST(Verify, WrittenBeforeRead) {
  expect_refused([](Program& p) { std::swap(p.ops[0], p.ops[1]); }, "input 0 't3'",
                 "a tensor written before", "not written yet");
  // A cycle is an op that reads what a later one writes.
  expect_refused([](Program& p) { p.ops[0].inputs[0] = 4; }, "input 0 'y'",
                 "a tensor written before", "not written yet");
  expect_refused([](Program& p) { p.ops[0].inputs[0] = 3; }, "input 0 't3'",
                 "a tensor written before", "not written yet");
}

TEST(Verify, OpsMatchTheirSchemaAndTypes) {
  expect_refused([](Program& p) { p.ops[0].inputs.pop_back(); }, "Add: inputs", "2", "1");
  expect_refused([](Program& p) { p.ops[0].inputs[1] = kNoTensor; }, "Add: input 1", "a tensor",
                 "nothing");
  expect_refused([](Program& p) { p.ops[1].outputs.clear(); }, "outputs", "1", "0");
  expect_refused(
      [](Program& p) {
        p.tensors[4].type.shape = {2, 2};
      },
      "output 0 'y'", "f32[4]", "f32[2,2]");
  expect_refused([](Program& p) { p.tensors[4].type.dtype = DType::kInt32; }, "output 0 'y'",
                 "f32[4]", "i32[4]");
  expect_refused([](Program& p) { p.ops[1].kind = static_cast<OpKind>(5000); }, "unknown op",
                 "a kind below", "5000");
  expect_refused([](Program& p) { p.ops[1].attributes.set("alpha", 1.0); }, "Relu: attribute",
                 "OPS.md", "alpha");
  expect_refused([](Program& p) { p.ops[1].phase = Phase::kDownload; }, "phase",
                 "warp, history or model", "4");
  expect_refused([](Program& p) { p.ops[1].phase = static_cast<Phase>(200); }, "phase",
                 "warp, history or model", "200");
}

TEST(Verify, NamesTheOp) {
  ProgramBuilder builder = sound_program();
  builder.program().ops[1].name = "backbone/relu";
  builder.program().ops[1].inputs.clear();
  const Status status = verify(builder.program(), builder.weights_bytes());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().context, "op 1 'backbone/relu'");
}

TEST(Verify, HugeShapesAndOverflow) {
  const int64_t large = int64_t{1} << 40;
  expect_refused([](Program& p) { p.tensors[0].type.shape = {-1}; }, "tensor 'x'",
                 "extents of 0 or more", "[-1]");
  expect_refused(
      [&](Program& p) {
        p.tensors[0].type.shape = {large, large};
      },
      "tensor 'x'", "at most 4294967296 bytes", "1099511627776");
  expect_refused([](Program& p) { p.tensors[0].type.shape = {(int64_t{1} << 30) + 1}; },
                 "tensor 'x'", "at most 4294967296 bytes", "1073741825");
  expect_refused([](Program& p) { p.tensors[0].type.shape = Shape(9, 1); }, "tensor 'x'",
                 "rank at most 8", "rank 9");
  expect_refused([](Program& p) { p.tensors[0].type.dtype = static_cast<DType>(99); }, "tensor 'x'",
                 "a known element type", "99");
  expect_refused(
      [](Program& p) {
        for (int i = 0; i < 5; ++i) {
          p.tensors.push_back({"big" + std::to_string(i), {DType::kUInt8, {int64_t{4} << 30}}, {}});
        }
      },
      "tensors together", "at most 17179869184 bytes", "'big3'");
}

TEST(Verify, CountsAreBounded) {
  const ProgramBuilder builder = sound_program();
  ProgramLimits limits;
  limits.max_tensors = 5;
  Status status = verify(builder.program(), builder.weights_bytes(), limits);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "number of tensors");
  EXPECT_EQ(status.error().expected, "at most 5");
  EXPECT_EQ(status.error().found, "6");
  limits = {};
  limits.max_ops = 2;
  status = verify(builder.program(), builder.weights_bytes(), limits);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "number of ops");
}

TEST(Verify, ConstantsInsideTheWeights) {
  expect_refused([](Program& p) { p.tensors[1].weight->length = 15; }, "constant 'c1'", "16 bytes",
                 "15 bytes");
  expect_refused([](Program& p) { p.tensors[1].weight->offset = 1; }, "constant 'c1'",
                 "inside 16 bytes", "offset 1");
  const uint64_t last = std::numeric_limits<uint64_t>::max() - 7;
  expect_refused([&](Program& p) { p.tensors[1].weight->offset = last; }, "constant 'c1'",
                 "inside 16 bytes", std::to_string(last));
}

TEST(Verify, StatePairs) {
  expect_refused([](Program& p) { p.tensors[2].type.shape = {1}; }, "state 's', next 't5'",
                 "f32[1]", "f32[4]");
  expect_refused([](Program& p) { p.states[0].next = 0; }, "state 's', next 'x'",
                 "written by an op", "a program input");
  expect_refused([](Program& p) { p.states[0].next = p.states[0].current; }, "state 's', next 's'",
                 "written by an op", "a state");
  expect_refused(
      [](Program& p) {
        p.states[0].initial = WeightRef{0, 4};
      },
      "state 's'", "16 bytes", "4 bytes");
  expect_refused(
      [](Program& p) {
        p.states[0].initial = WeightRef{8, 16};
      },
      "state 's'", "inside 16 bytes", "offset 8");
}

TEST(Verify, OutputsAreNamedOnce) {
  expect_refused([](Program& p) { p.outputs.push_back(4); }, "program output 'y'", "named once",
                 "named twice");
}

TEST(Verify, FramesAreReadByWarpAlone) {
  ProgramBuilder builder;
  const TensorId frame = builder.frame("road");
  const TensorId matrix = builder.input("transform", {DType::kFloat32, {3, 3}});
  const TensorId warped = builder.op(
      OpKind::kWarp, {frame, matrix},
      {{"layout", std::string("luma")}, {"out_width", int64_t{8}}, {"out_height", int64_t{4}}},
      Phase::kWarp);
  builder.output(warped, "picture");
  ASSERT_TRUE(verify(builder.program(), 0).ok());

  Program as_output = builder.program();
  as_output.outputs.push_back(frame);
  Status status = verify(as_output, 0);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().found, "nv12");

  Program reshaped = builder.program();
  reshaped.tensors[frame].type.shape = {1};
  status = verify(reshaped, 0);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().expected, "no shape for a frame");

  Program as_constant = builder.program();
  as_constant.inputs.erase(as_constant.inputs.begin());
  as_constant.tensors[frame].weight = WeightRef{0, 0};
  status = verify(as_constant, 0);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().found, "nv12");

  Program read_by_others = builder.program();
  read_by_others.ops[0] = {OpKind::kAbs, "abs", {frame}, {warped}, {}, Phase::kModel};
  status = verify(read_by_others, 0);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().expected, "a tensor of numbers");
}

}  // namespace
}  // namespace modeld
