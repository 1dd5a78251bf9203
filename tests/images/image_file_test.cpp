#include "tools/images/image_file.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <string>

#include <jpeglib.h>

#include "runtime/base/file.h"
#include "tests/support/test_data.h"

namespace modeld {
namespace {

RgbImage gradient(uint32_t width, uint32_t height) {
  RgbImage image = make_image(width, height).value();
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      uint8_t* pixel = image.at(x, y);
      pixel[0] = static_cast<uint8_t>(255 * x / (width - 1));
      pixel[1] = static_cast<uint8_t>(255 * y / (height - 1));
      pixel[2] = 90;
    }
  }
  return image;
}

class ImageFile : public testing::Test {
 protected:
  ImageFile()
      : folder_(std::filesystem::temp_directory_path() /
                ("modeld_images_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ImageFile() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::vector<std::byte> png_bytes(const RgbImage& image) {
    const auto path = folder_ / "made.png";
    EXPECT_TRUE(save_png(path, image).ok());
    return read_file(path, kMaxImageFileBytes).value();
  }

  std::filesystem::path folder_;
};

std::vector<std::byte> jpeg_bytes(const RgbImage& image) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = image.width;
  jpeg.image_height = image.height;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  for (uint32_t y = 0; y < image.height; ++y) {
    JSAMPROW row = const_cast<uint8_t*>(image.at(0, y));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::vector<std::byte> bytes(size);
  std::copy_n(reinterpret_cast<std::byte*>(memory), size, bytes.begin());
  std::free(memory);
  return bytes;
}

void put_big_endian(std::vector<std::byte>& bytes, size_t offset, uint32_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) {
    bytes[offset + i] = static_cast<std::byte>(value >> (8 * (width - 1 - i)));
  }
}

TEST_F(ImageFile, PngComesBackExactly) {
  const RgbImage image = gradient(37, 21);
  const auto back = decode_image(png_bytes(image));
  ASSERT_TRUE(back.ok()) << to_string(back.error());
  EXPECT_EQ(back->width, 37u);
  EXPECT_EQ(back->height, 21u);
  EXPECT_EQ(back->pixels, image.pixels);
}

TEST_F(ImageFile, JpegComesBackClosely) {
  const RgbImage image = gradient(64, 48);
  const auto back = decode_image(jpeg_bytes(image));
  ASSERT_TRUE(back.ok()) << to_string(back.error());
  ASSERT_EQ(back->pixels.size(), image.pixels.size());
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    ASSERT_NEAR(back->pixels[i], image.pixels[i], 12) << i;
  }
}

TEST_F(ImageFile, EveryCutIsRefused) {
  for (const auto& whole : {png_bytes(gradient(37, 21)), jpeg_bytes(gradient(37, 21))}) {
    ASSERT_TRUE(decode_image(whole).ok());
    // A PNG ends in a chunk of 12 bytes without pixels: a cut there may or may not be noticed.
    for (size_t length = 0; length + 12 < whole.size(); ++length) {
      const auto cut = decode_image(std::span(whole).first(length));
      ASSERT_FALSE(cut.ok()) << length << " of " << whole.size();
      ASSERT_TRUE(cut.error().code == ErrorCode::kCorrupt ||
                  cut.error().code == ErrorCode::kUnsupported)
          << to_string(cut.error());
    }
  }
}

TEST_F(ImageFile, HugePngIsRefusedBeforeDecoding) {
  auto file = png_bytes(gradient(8, 8));
  put_big_endian(file, 16, 16384, 4);  // IHDR: width, height; checksum over type and data
  put_big_endian(file, 20, 16384, 4);
  const auto* header = reinterpret_cast<const Bytef*>(file.data() + 12);
  put_big_endian(file, 29, static_cast<uint32_t>(crc32(0, header, 17)), 4);
  const auto image = decode_image(file);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().code, ErrorCode::kRefused) << to_string(image.error());
  EXPECT_EQ(image.error().found, "16384 x 16384");
}

TEST_F(ImageFile, HugeJpegIsRefusedBeforeDecoding) {
  auto file = jpeg_bytes(gradient(8, 8));
  size_t frame = 0;  // baseline start-of-frame marker: ff c0, length, precision, height, width
  while (file[frame] != std::byte{0xff} || file[frame + 1] != std::byte{0xc0}) ++frame;
  put_big_endian(file, frame + 5, 60000, 2);
  put_big_endian(file, frame + 7, 60001, 2);
  const auto image = decode_image(file);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().code, ErrorCode::kRefused) << to_string(image.error());
  EXPECT_EQ(image.error().found, "60001 x 60000");
}

TEST_F(ImageFile, OtherContentIsNamed) {
  std::ofstream(folder_ / "text.png") << "not a picture";
  const auto image = load_image(folder_ / "text.png");
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(image.error().context.find("text.png"), std::string::npos);
  EXPECT_FALSE(load_image(folder_ / "absent.png").ok());
  EXPECT_FALSE(load_image(folder_).ok());
}

TEST_F(ImageFile, HandedPicturesLoad) {
  MODELD_NEED_SHARED("data/portraits");
  const std::tuple<const char*, uint32_t, uint32_t> pictures[] = {
      {"data/road-frames/tici_road_1928x1208.jpg", 1928, 1208},
      {"data/comma2k19/preview.png", 1164, 874},
      {"data/portraits/astronaut.png", 512, 512},
      {"data/portraits/grace_hopper.jpg", 512, 600}};
  for (const auto& [name, width, height] : pictures) {
    const auto image = load_image(test::shared_path(name));
    ASSERT_TRUE(image.ok()) << to_string(image.error());
    EXPECT_EQ(image->width, width) << name;
    EXPECT_EQ(image->height, height) << name;
  }
}

}  // namespace
}  // namespace modeld
