// Views: which reshapes need no copy, which axes of a loop merge.
#include "runtime/opencl/values.h"

#include <gtest/gtest.h>

#include "runtime/program/seeded_inputs.h"

namespace modeld::opencl {
namespace {

View plain(Shape shape, Layout layout = Layout::kPlain) {
  View view;
  view.root = 0;
  view.strides = dense_strides(shape, layout);
  view.shape = std::move(shape);
  return view;
}

// Index of the element at flat position `flat` (C order) of the view.
int64_t index_of(const View& view, int64_t flat) {
  int64_t index = view.offset;
  for (size_t axis = view.shape.size(); axis-- > 0;) {
    index += flat % view.shape[axis] * view.strides[axis];
    flat /= view.shape[axis];
  }
  return index;
}

TEST(ReshapeView, KeepsEveryElementWhereItSucceeds) {
  SplitMix64 random(5);
  const std::vector<Shape> shapes = {{24},   {2, 12},   {4, 6}, {2, 3, 4},    {1, 24, 1},
                                     {6, 4}, {2, 2, 6}, {3, 8}, {2, 1, 3, 4}, {12, 2}};
  size_t succeeded = 0;
  for (int round = 0; round < 2000; ++round) {
    View view = plain(shapes[random.next() % shapes.size()]);
    // Transposed now and then, so that not every reshape is a view.
    if (random.next() % 2 == 0 && view.shape.size() > 1) {
      const size_t a = random.next() % view.shape.size();
      const size_t b = random.next() % view.shape.size();
      std::swap(view.shape[a], view.shape[b]);
      std::swap(view.strides[a], view.strides[b]);
    }
    View result;
    const Shape& to = shapes[random.next() % shapes.size()];
    if (!reshape_view(view, to, result)) continue;
    ++succeeded;
    ASSERT_EQ(result.shape, to);
    for (int64_t i = 0; i < 24; ++i) ASSERT_EQ(index_of(result, i), index_of(view, i));
  }
  EXPECT_GT(succeeded, 500u);
}

TEST(ReshapeView, DenseAlwaysSucceeds) {
  View result;
  EXPECT_TRUE(reshape_view(plain({2, 3, 4}), {4, 6}, result));
  EXPECT_TRUE(reshape_view(plain({2, 3, 4}), {24, 1, 1}, result));
}

TEST(ReshapeView, ChannelsLastMergesItsSpatialAxesButNotItsChannels) {
  View result;
  EXPECT_TRUE(reshape_view(plain({1, 8, 3, 5}, Layout::kChannelsLast), {1, 8, 15}, result));
  EXPECT_EQ(result.strides[2], 8);
  EXPECT_FALSE(reshape_view(plain({1, 8, 3, 5}, Layout::kChannelsLast), {1, 120}, result));
}

TEST(MergedAxes, MergeOnlyWhereEveryViewAllows) {
  const View out = plain({2, 3, 5, 7});
  const View same = plain({2, 3, 5, 7});
  EXPECT_EQ(merged_axes(out.shape, {&out, &same}, {0, 1, 2, 3}).size(), 1u);
  // One number per channel: the channel axis stands alone.
  const View channel = broadcast(plain({3, 1, 1}), out.shape);
  const auto axes = merged_axes(out.shape, {&out, &channel}, {0, 1, 2, 3});
  ASSERT_EQ(axes.size(), 3u);
  EXPECT_EQ(axes[2].extent, 35);
  EXPECT_EQ(axes[2].strides, (std::vector<int64_t>{1, 0}));
  // A transposed operand forbids merging, also of prime extents.
  View turned = plain({2, 3, 7, 5});
  std::swap(turned.shape[2], turned.shape[3]);
  std::swap(turned.strides[2], turned.strides[3]);
  EXPECT_EQ(merged_axes(out.shape, {&out, &turned}, {0, 1, 2, 3}).size(), 3u);
}

TEST(MergedAxes, ExtentsOfOneDisappear) {
  const View out = plain({1, 4, 1, 1});
  EXPECT_EQ(merged_axes(out.shape, {&out}, {0, 1, 2, 3}).size(), 1u);
  const View scalar = plain({});
  EXPECT_TRUE(merged_axes({}, {&scalar}, {}).empty());
}

TEST(FitsInt, LargeViewsNeedLongIndices) {
  EXPECT_TRUE(fits_int({}));
  const View small = plain({1000, 1000});
  EXPECT_TRUE(fits_int({&small}));
  View large = plain({1 << 16, 1 << 15});
  EXPECT_FALSE(fits_int({&large}));
  large = plain({2, 2});
  large.strides[0] = int64_t{1} << 32;
  EXPECT_FALSE(fits_int({&large}));
}

}  // namespace
}  // namespace modeld::opencl
