// check_contract(): every way a contract can disagree with its program.
#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "runtime/artifact/model.h"
#include "tests/support/tiny_model.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

std::string refusal_after(const std::function<void(Model&)>& change) {
  Model model = tiny_model();
  change(model);
  const Status status = check_contract(model.contract, model.program);
  if (status.ok()) return "accepted";
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  EXPECT_FALSE(status.error().expected.empty()) << to_string(status.error());
  EXPECT_FALSE(status.error().found.empty()) << to_string(status.error());
  return to_string(status.error());
}

TEST(Contract, TheTinyModelAgrees) {
  EXPECT_EQ(refusal_after([](Model&) {}), "accepted");
}

TEST(Contract, Inputs) {
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.inputs.pop_back(); }),
              HasSubstr("number of inputs (expected 3, found 2)"));
  EXPECT_THAT(
      refusal_after([](Model& m) { std::swap(m.contract.inputs[0], m.contract.inputs[1]); }),
      HasSubstr("name of input 0 (expected camera, found transform)"));
  EXPECT_THAT(refusal_after([](Model& m) {
                m.contract.inputs[2].type.shape = {1, 5};
              }),
              HasSubstr("type of input 'x' (expected f32[1,4], found f32[1,5])"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.inputs[0].role = InputRole::kVector; }),
              HasSubstr("role of input 'camera' (expected frame"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.inputs[2].role = InputRole::kFrame; }),
              HasSubstr("role of input 'x'"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.inputs[2].role = InputRole::kTransform; }),
              HasSubstr("type of transform 'x' (expected f32[3,3]"));
}

TEST(Contract, Outputs) {
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.outputs.clear(); }),
              HasSubstr("number of outputs (expected 1, found 0)"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.outputs[0].name = "z"; }),
              HasSubstr("name of output 0 (expected y, found z)"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.outputs[0].type.dtype = DType::kInt32; }),
              HasSubstr("type of output 'y'"));
}

TEST(Contract, Slices) {
  const auto with = [](int64_t start, int64_t stop) {
    return refusal_after([=](Model& m) {
      m.contract.outputs[0].slices[1].start = start;
      m.contract.outputs[0].slices[1].stop = stop;
    });
  };
  EXPECT_EQ(with(3, 4), "accepted");
  EXPECT_THAT(with(2, 4), HasSubstr("slice 'tail' of output 'y'"));  // overlaps
  EXPECT_THAT(with(3, 5), HasSubstr("slice 'tail'"));                // beyond the end
  EXPECT_THAT(with(3, 3), HasSubstr("slice 'tail'"));                // empty
  EXPECT_THAT(with(-1, 4), HasSubstr("slice 'tail'"));
  EXPECT_THAT(with(3, std::numeric_limits<int64_t>::max()), HasSubstr("slice 'tail'"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.outputs[0].slices.clear(); }),
              HasSubstr("slices of output 'y' (expected at least one"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.outputs[0].slices[1].name = "head"; }),
              HasSubstr("name of slice 'head'"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.outputs[0].slices[1].minimum = 1e7; }),
              HasSubstr("minimum <= maximum"));
  EXPECT_THAT(refusal_after([](Model& m) {
                m.contract.outputs[0].slices[1].maximum = std::numeric_limits<double>::quiet_NaN();
              }),
              HasSubstr("minimum <= maximum"));
}

TEST(Contract, AnOutputWithoutElementsHasAnEmptySlice) {
  const auto with_stop = [](int64_t stop) {
    return refusal_after([=](Model& m) {
      m.program.tensors[m.program.outputs[0]].type.shape = {0};
      m.contract.outputs[0].type.shape = {0};
      m.contract.outputs[0].slices = {{"all", 0, stop, 0, 0, false, {}}};
      m.contract.references.clear();
    });
  };
  EXPECT_EQ(with_stop(0), "accepted");
  EXPECT_THAT(with_stop(1), HasSubstr("slice 'all'"));
}

TEST(Contract, Tolerances) {
  EXPECT_THAT(
      refusal_after([](Model& m) { m.contract.outputs[0].slices[0].tolerances[0].absolute = -1; }),
      HasSubstr("tolerance of slice 'head'"));
  EXPECT_THAT(refusal_after([](Model& m) {
                m.contract.outputs[0].slices[0].tolerances[0].relative =
                    std::numeric_limits<double>::quiet_NaN();
              }),
              HasSubstr("tolerance of slice 'head'"));
  EXPECT_THAT(refusal_after([](Model& m) {
                m.contract.outputs[0].slices[0].tolerances[1].device_class = DeviceClass::kCpu;
              }),
              HasSubstr("one per device class"));
}

TEST(Contract, States) {
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.states[0].reset = "never"; }),
              HasSubstr("reset of state 'state' (expected start, found never)"));
}

TEST(Contract, Cameras) {
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.cameras.clear(); }),
              HasSubstr("number of cameras (expected 1, found 0)"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.cameras[0].frame_input = "x"; }),
              HasSubstr("cameras (expected one for frame 'camera'"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.cameras[0].transform_input = "x"; }),
              HasSubstr("transform input of camera 'camera' (expected transform, found x)"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.cameras[0].layout = "yuv420_planes"; }),
              HasSubstr("layout of camera 'camera' (expected luma, found yuv420_planes)"));
  EXPECT_THAT(refusal_after([](Model& m) {
                m.contract.cameras[0].output_size = {8, 16};
              }),
              HasSubstr("output size of camera 'camera' (expected 16x8, found 8x16)"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.cameras[0].border_fill = std::nullopt; }),
              HasSubstr("border of camera 'camera' (expected fill 16, found clamp)"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.cameras[0].sizes.clear(); }),
              HasSubstr("sizes of camera 'camera'"));
}

TEST(Contract, References) {
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.references[0].outputs[0].resize(15); }),
              HasSubstr("bytes of output 'y' of reference vector with seed 1"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.references[1].outputs.clear(); }),
              HasSubstr("number of outputs of reference vector with seed 2"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.references[0].steps = 0; }),
              HasSubstr("steps of reference vector"));
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.references[0].steps = 4'000'000'000; }),
              HasSubstr("steps of reference vector"));
}

TEST(Contract, DeviceClasses) {
  EXPECT_THAT(refusal_after([](Model& m) { m.contract.device_classes.clear(); }),
              HasSubstr("device classes (expected at least one"));
}

}  // namespace
}  // namespace modeld::test
