#include "warp/nv12_layout.h"

#include <gtest/gtest.h>

#include <tuple>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/test_data.h"

namespace modeld {
namespace {

// openpilot's road camera (facts 6.5, first row of the table).
constexpr Nv12Layout kRoad{1928, 1208, 2048, 2490368, 4804608};

// The check must fail and its message must name `field` and no other.
void expect_refused(const Nv12Layout& layout, const std::string& field) {
  const Status status = layout.check();
  ASSERT_FALSE(status.ok()) << field;
  EXPECT_TRUE(status.error().message.starts_with("NV12 " + field + ":")) << status.error().message;
  EXPECT_FALSE(status.error().expected.empty());
  EXPECT_FALSE(status.error().found.empty());
  EXPECT_NE(status.error().expected, status.error().found);
}

TEST(Nv12Layout, AcceptsTheCameraServersBuffers) {
  EXPECT_TRUE(kRoad.check().ok());
  EXPECT_TRUE((Nv12Layout{1344, 760, 1408, 1081344, 2428928}.check().ok()));
  // The simple constructor of the protocol: no padding at all (facts 1.5).
  EXPECT_TRUE((Nv12Layout{64, 32, 64, 2048, 3072}.check().ok()));
}

// Facts 6.5: the column "copy size".
TEST(Nv12Layout, ACopyHasNothingBehindItsRows) {
  for (const auto& [width, height, bytes] :
       {std::tuple(1928u, 1208u, 3735552u), {1344u, 760u, 1622016u}, {1164u, 874u, 1720320u}}) {
    const Nv12Layout layout = *Nv12Layout::openpilot(width, height);
    const Nv12Layout copied = layout.copied();
    EXPECT_EQ(copied.length, bytes);
    EXPECT_TRUE(copied.check().ok());
    EXPECT_EQ(copied.copied(), copied);
  }
  // Where there are no padding rows there is nothing to leave out.
  const Nv12Layout tight{64, 32, 64, 2048, 3072};
  EXPECT_EQ(tight.copied(), tight);
}

TEST(Nv12Layout, LastChromaRowMayBeShort) {
  Nv12Layout layout = kRoad;
  layout.length = 2490368 + 2048 * 603 + 1928;
  EXPECT_TRUE(layout.check().ok());
  EXPECT_EQ(layout.bytes_in_use(), layout.length);
  --layout.length;
  expect_refused(layout, "length");
  EXPECT_NE(layout.check().error().expected.find(std::to_string(layout.length + 1)),
            std::string::npos);
}

TEST(Nv12Layout, NamesTheFieldThatIsWrong) {
  const auto with = [](auto change) {
    Nv12Layout layout = kRoad;
    change(layout);
    return layout;
  };
  expect_refused(with([](auto& l) { l.width = 1927; }), "width");
  expect_refused(with([](auto& l) { l.width = 0; }), "width");
  expect_refused(with([](auto& l) { l.width = kMaxNv12Side + 2; }), "width");
  expect_refused(with([](auto& l) { l.height = 1207; }), "height");
  expect_refused(with([](auto& l) { l.height = 0; }), "height");
  expect_refused(with([](auto& l) { l.stride = 1927; }), "stride");
  expect_refused(with([](auto& l) { l.stride = 0; }), "stride");
  expect_refused(with([](auto& l) { l.uv_offset = 2048 * 1208 - 1; }), "rows");
  expect_refused(with([](auto& l) { l.uv_offset = 0; }), "rows");
  expect_refused(with([](auto& l) { l.uv_offset = l.length; }), "offset");
  expect_refused(with([](auto& l) { l.uv_offset = std::numeric_limits<uint64_t>::max(); }),
                 "offset");
  expect_refused(with([](auto& l) { l.length = 0; }), "offset");
  expect_refused(with([](auto& l) { l.length = l.uv_offset + 1; }), "length");
}

TEST(Nv12Layout, HugeNumbersDoNotWrap) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  expect_refused({1928, 1208, 2048, kMax - 1, kMax}, "length");
  expect_refused({16384, 16384, 0xffffffffu, kMax - 1, kMax}, "length");
}

TEST(Nv12Layout, WireNumbersAreRangeChecked) {
  const auto good = Nv12Layout::from_wire(1928, 1208, 2048, 2490368, 4804608);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, kRoad);
  constexpr uint64_t kWrap = uint64_t{1} << 32;
  const auto message = [](uint64_t width, uint64_t height, uint64_t stride) {
    const auto layout = Nv12Layout::from_wire(width, height, stride, 2490368, 4804608);
    return layout.ok() ? std::string("accepted") : layout.error().message;
  };
  EXPECT_TRUE(message(1928 + kWrap, 1208, 2048).starts_with("NV12 width:"));
  EXPECT_TRUE(message(1928, 1208 + kWrap, 2048).starts_with("NV12 height:"));
  EXPECT_TRUE(message(1928, 1208, 2048 + kWrap).starts_with("NV12 stride:"));
}

TEST(Nv12Layout, GeometryOfOpenpilotsServer) {
  MODELD_NEED_SHARED("data/vectors/warp/nv12_info.json");
  std::ifstream file(test::shared_path("data/vectors/warp/nv12_info.json"));
  const auto rows = nlohmann::json::parse(file);
  ASSERT_EQ(rows.size(), 14u);
  for (const auto& row : rows) {
    const uint32_t width = row["width"];
    const auto geometry = openpilot_nv12_geometry(width, row["height"]);
    ASSERT_TRUE(geometry.ok());
    EXPECT_EQ(geometry->stride, row["stride"].get<uint32_t>()) << width;
    EXPECT_EQ(geometry->y_height, row["y_height"].get<uint32_t>()) << width;
    // The C++ rule halves the height rounding up; all sizes here are even.
    EXPECT_EQ(geometry->uv_height, row["uv_height"].get<uint32_t>()) << width;
    EXPECT_EQ(geometry->size, row["size"].get<uint64_t>()) << width;
    const auto layout = Nv12Layout::openpilot(width, row["height"]);
    ASSERT_TRUE(layout.ok());
    EXPECT_TRUE(layout->check().ok());
  }
  EXPECT_EQ(*Nv12Layout::openpilot(1928, 1208), kRoad);
  EXPECT_FALSE(openpilot_nv12_geometry(1929, 1208).ok());
  EXPECT_FALSE(Nv12Layout::openpilot(1928, 0).ok());
}

}  // namespace
}  // namespace modeld
