#include "tools/images/image_file.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

#include "runtime/base/file.h"
#include "tools/images/jpeg.h"

namespace modeld {
namespace {

constexpr std::array<unsigned char, 4> kPngStart{0x89, 'P', 'N', 'G'};
constexpr std::array<unsigned char, 3> kJpegStart{0xff, 0xd8, 0xff};

bool starts_with(std::span<const std::byte> file, std::span<const unsigned char> start) {
  return file.size() >= start.size() &&
         std::equal(start.begin(), start.end(), file.begin(),
                    [](unsigned char want, std::byte have) { return std::byte{want} == have; });
}

// Frees what libpng's simplified interface holds, also when reading ended early.
class PngImage {
 public:
  PngImage() { image_.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image_); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;

  png_image* get() { return &image_; }
  Error error(ErrorCode code) const {
    return Error(code, std::string("PNG: ") + static_cast<const char*>(image_.message));
  }

 private:
  png_image image_{};
};

Result<RgbImage> decode_png(std::span<const std::byte> file) {
  PngImage png;
  if (png_image_begin_read_from_memory(png.get(), file.data(), file.size()) == 0) {
    return png.error(ErrorCode::kCorrupt);
  }
  MODELD_ASSIGN(RgbImage image, make_image(png.get()->width, png.get()->height));
  png.get()->format = PNG_FORMAT_RGB;
  constexpr png_color kBlack{0, 0, 0};
  const int row_bytes = static_cast<int>(image.width * 3);
  if (png_image_finish_read(png.get(), &kBlack, image.pixels.data(), row_bytes, nullptr) == 0) {
    return png.error(ErrorCode::kCorrupt);
  }
  return image;
}

}  // namespace

Result<RgbImage> decode_image(std::span<const std::byte> file) {
  if (starts_with(file, kPngStart)) return decode_png(file);
  if (starts_with(file, kJpegStart)) return decode_jpeg(file);
  return Error(ErrorCode::kUnsupported, "not a picture this build reads")
      .expecting("a PNG or JPEG file", "other content");
}

Result<RgbImage> load_image(const std::filesystem::path& path) {
  MODELD_ASSIGN(const auto file, read_file(path, kMaxImageFileBytes));
  auto image = decode_image(file);
  if (!image.ok()) return std::move(image).error().in(path.string());
  return image;
}

Status save_png(const std::filesystem::path& path, const RgbImage& image) {
  assert(image.pixels.size() == size_t{image.width} * image.height * 3);
  PngImage png;
  png.get()->width = image.width;
  png.get()->height = image.height;
  png.get()->format = PNG_FORMAT_RGB;
  const int row_bytes = static_cast<int>(image.width * 3);
  png_alloc_size_t size = 0;
  if (png_image_write_to_memory(png.get(), nullptr, &size, 0, image.pixels.data(), row_bytes,
                                nullptr) == 0) {
    return png.error(ErrorCode::kInternal).in(path.string());
  }
  std::vector<std::byte> file(size);
  if (png_image_write_to_memory(png.get(), file.data(), &size, 0, image.pixels.data(), row_bytes,
                                nullptr) == 0) {
    return png.error(ErrorCode::kInternal).in(path.string());
  }
  file.resize(size);
  return write_file_atomically(path, file);
}

}  // namespace modeld
