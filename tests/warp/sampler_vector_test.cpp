// The warp against the answers of the original (data/vectors/warp), with every kernel.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/npz.h"
#include "tests/support/test_data.h"
#include "warp/sampler.h"

namespace modeld {
namespace {

const char kFolder[] = "data/vectors/warp";

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

std::string sha256(const std::vector<uint8_t>& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    constexpr char kHex[] = "0123456789abcdef";
    text += kHex[digest[i] >> 4];
    text += kHex[digest[i] & 15];
  }
  return text;
}

Nv12Layout layout_of(const nlohmann::json& json) {
  const uint32_t stride = json["stride"];
  const uint64_t uv_offset = static_cast<uint64_t>(stride) * json["y_height"].get<uint32_t>();
  return {json["camera_width"], json["camera_height"], stride, uv_offset,
          uv_offset + static_cast<uint64_t>(stride) * json["uv_height"].get<uint32_t>()};
}

class SmallVectors : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sizes, SmallVectors,
                         testing::Values("small_128x96_to_64x32_seed11",
                                         "small_128x96_to_64x32_seed12",
                                         "small_98x54_to_32x16_seed11",
                                         "small_98x54_to_32x16_seed12"),
                         [](const auto& param_info) { return std::string(param_info.param); });

TEST_P(SmallVectors, BytesAreEqual) {
  MODELD_NEED_SHARED(kFolder);
  const auto base = test::shared_path(kFolder) / GetParam();
  const test::Npz npz(base.string() + ".npz");
  const auto json = read_json(base.string() + ".json");
  const Nv12Layout layout = layout_of(json);
  const auto frame = npz.values<uint8_t>("frame");
  ASSERT_EQ(frame.size(), layout.length);
  WarpSpec spec{layout.width,
                layout.height,
                json["out_width"],
                json["out_height"],
                WarpOutput::kYuv420Planes,
                {}};
  size_t compared = 0;
  const auto compare = [&](const std::string& name, size_t index, const Matrix3f& matrix) {
    ASSERT_TRUE(check_warp(spec, layout).ok());
    const auto want = npz.row<uint8_t>(name, index);
    std::vector<uint8_t> have(spec.output_bytes());
    for (const WarpKernel kernel : available_warp_kernels()) {
      warp_with(kernel, spec, layout, frame.data(), matrix, have.data());
      ++compared;
      EXPECT_TRUE(std::equal(want.begin(), want.end(), have.begin(), have.end()))
          << json["cases"][index]["name"] << " " << name << " " << to_string(kernel);
    }
  };
  size_t binding = 0;
  for (size_t index = 0; index < json["cases"].size(); ++index) {
    if (json["cases"][index]["class"] == "undefined") continue;
    ++binding;
    Matrix3f matrix;
    std::memcpy(matrix.m.data(), npz.row<float>("matrix", index).data(), sizeof matrix.m);
    spec.output = WarpOutput::kYuv420Planes;
    spec.border_fill.reset();
    compare("yuv420", index, matrix);
    spec.output = WarpOutput::kLuma;
    compare("luma_clamp", index, matrix);
    spec.border_fill = json["luma_border_fill"].get<uint8_t>();
    compare("luma_fill16", index, matrix);
  }
  EXPECT_EQ(binding, 46u);
  EXPECT_EQ(compared, binding * 3 * available_warp_kernels().size());
}

TEST(FullSizeVectors, DigestsAreEqual) {
  MODELD_NEED_SHARED(kFolder);
  const auto cases = read_json(test::shared_path(kFolder) / "fullsize_sha256.json");
  ASSERT_EQ(cases.size(), 6u);
  for (const auto& json : cases) {
    const Nv12Layout layout = layout_of(json);
    const uint32_t a = json["frame_formula"]["a"];
    const uint32_t b = json["frame_formula"]["b"];
    std::vector<uint8_t> frame(layout.length);
    for (uint32_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>((i * a + b) >> 24);
    ASSERT_EQ(sha256(frame), json["frame_sha256"]);
    WarpSpec spec{layout.width,
                  layout.height,
                  json["out_width"],
                  json["out_height"],
                  json["layout"] == "luma" ? WarpOutput::kLuma : WarpOutput::kYuv420Planes,
                  {}};
    if (!json["border_fill"].is_null()) spec.border_fill = json["border_fill"].get<uint8_t>();
    Matrix3f matrix;
    for (size_t i = 0; i < 9; ++i) matrix.m[i] = json["matrix_f32"][i / 3][i % 3].get<float>();
    ASSERT_TRUE(check_transform(matrix, spec.out_width, spec.out_height).ok());
    ASSERT_TRUE(check_warp(spec, layout).ok());
    ASSERT_EQ(spec.output_bytes(), json["output_bytes"].get<uint64_t>());
    for (const WarpKernel kernel : available_warp_kernels()) {
      std::vector<uint8_t> out(spec.output_bytes());
      warp_with(kernel, spec, layout, frame.data(), matrix, out.data());
      EXPECT_EQ(sha256(out), json["output_sha256_no_fma"])
          << json["name"] << " " << to_string(kernel);
    }
  }
}

}  // namespace
}  // namespace modeld
