// Ops that move data, by hand.
#include "tests/reference/evaluate_support.h"

namespace modeld::test {
namespace {

const HostTensor& two_by_three() {
  static const HostTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  return x;
}

TEST(ReferenceMove, GatherTakesNegativeIndicesAndFlagsOthers) {
  const Attributes::Map axis1 = {{"axis", int64_t{1}}};
  expect_op(OpKind::kGather, {two_by_three(), make_tensor(DType::kInt64, {2}, {-1, 0})},
            {3, 1, 6, 4}, axis1);
  for (const double bad : {3.0, -4.0}) {
    const HostTensor index = make_tensor(DType::kInt32, {2}, {0, bad});
    const HostTensor* const inputs[] = {&two_by_three(), &index};
    const auto result = evaluate(make_op(OpKind::kGather, axis1), inputs);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kRefused);
    EXPECT_EQ(result.error().found, "1 outside");
  }
}

TEST(ReferenceMove, SliceWalksBackwards) {
  expect_op(OpKind::kSlice, {two_by_three()}, {6, 4, 3, 1},
            {{"starts", Ints{1, 2}}, {"steps", Ints{-1, -2}}, {"sizes", Ints{2, 2}}});
}

TEST(ReferenceMove, ConcatAndSplitAlongEachAxis) {
  const HostTensor y = f32({2, 1}, {7, 8});
  expect_op(OpKind::kConcat, {two_by_three(), y}, {1, 2, 3, 7, 4, 5, 6, 8}, {{"axis", int64_t{1}}});
  expect_op(OpKind::kConcat, {two_by_three(), two_by_three()}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6},
            {{"axis", int64_t{0}}});
  const HostTensor* const inputs[] = {&two_by_three()};
  const auto parts =
      evaluate(make_op(OpKind::kSplit, {{"axis", int64_t{1}}, {"split", Ints{1, 2}}}), inputs);
  ASSERT_TRUE(parts.ok());
  expect_values((*parts)[0], {1, 4});
  expect_values((*parts)[1], {2, 3, 5, 6});
}

TEST(ReferenceMove, TransposeTileExpandReshape) {
  expect_op(OpKind::kTranspose, {two_by_three()}, {1, 4, 2, 5, 3, 6}, {{"perm", Ints{1, 0}}});
  expect_op(OpKind::kTile, {f32({2, 1}, {1, 2})}, {1, 1, 2, 2, 1, 1, 2, 2},
            {{"repeats", Ints{2, 2}}});
  expect_op(OpKind::kExpand, {f32({2, 1}, {1, 2})}, {1, 1, 2, 2, 1, 1, 2, 2},
            {{"shape", Ints{2, 2, 2}}});
  expect_op(OpKind::kReshape, {two_by_three()}, {1, 2, 3, 4, 5, 6}, {{"shape", Ints{3, 2}}});
  expect_op(OpKind::kTranspose, {make_tensor(DType::kBool, {2, 2}, {1, 0, 0, 1})}, {1, 0, 0, 1},
            {{"perm", Ints{1, 0}}});
}

TEST(ReferenceMove, PadModes) {
  const HostTensor x = f32({3}, {1, 2, 3});
  const auto pad = [](const std::string& mode, Ints pads) {
    return Attributes::Map{{"mode", mode}, {"pads", std::move(pads)}, {"value", 9.0}};
  };
  expect_op(OpKind::kPad, {x}, {9, 1, 2, 3, 9, 9}, pad("constant", {1, 2}));
  expect_op(OpKind::kPad, {x}, {3, 2, 1, 2, 3, 2, 1}, pad("reflect", {2, 2}));
  expect_op(OpKind::kPad, {x}, {1, 1, 1, 2, 3, 3}, pad("edge", {2, 1}));
  expect_op(OpKind::kPad, {x}, {3, 1, 2, 3, 1, 2, 3, 1}, pad("wrap", {1, 4}));
  expect_op(OpKind::kPad, {f32({1, 2}, {1, 2})}, {9, 9, 9, 1, 2, 9}, pad("constant", {1, 0, 0, 1}));
}

}  // namespace
}  // namespace modeld::test
