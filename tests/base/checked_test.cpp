#include "runtime/base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace modeld {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(Checked, RangesNeverWrap) {
  EXPECT_TRUE(range_fits(0, 0, 0));
  EXPECT_TRUE(range_fits(4, 4, 8));
  EXPECT_FALSE(range_fits(4, 5, 8));
  EXPECT_FALSE(range_fits(kMax, 2, 8));
  EXPECT_FALSE(range_fits(4, kMax - 2, 8));
}

TEST(Checked, OverflowIsNoValue) {
  EXPECT_FALSE(checked_add<uint64_t>(kMax, 1).has_value());
  EXPECT_FALSE(checked_mul<int64_t>(int64_t{1} << 40, int64_t{1} << 40).has_value());
  EXPECT_EQ(checked_mul<int64_t>(1 << 20, 1 << 20), int64_t{1} << 40);
  EXPECT_EQ(checked_align_up(257, 256), 512u);
  EXPECT_FALSE(checked_align_up(kMax, 256).has_value());
}

}  // namespace
}  // namespace modeld
