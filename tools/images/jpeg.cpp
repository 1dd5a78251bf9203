#include "tools/images/jpeg.h"

#include <csetjmp>
#include <cstdio>
#include <optional>
#include <string>

#include <jpeglib.h>

namespace modeld {
namespace {

// A progressive file can ask for any number of passes over all its pixels.
constexpr int kMaxScans = 200;

// What libjpeg's call-backs reach through their first argument.
struct Decoder {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf give_up;
  char message[JMSG_LENGTH_MAX] = {};
};

Decoder& owner(j_common_ptr jpeg) {
  return *static_cast<Decoder*>(jpeg->client_data);
}

[[noreturn]] void on_error(j_common_ptr jpeg) {
  Decoder& decoder = owner(jpeg);
  jpeg->err->format_message(jpeg, decoder.message);
  std::longjmp(decoder.give_up, 1);
}

// libjpeg counts warnings (level -1) and goes on with invented pixels; a damaged picture is
// better refused.
void on_message(j_common_ptr jpeg, int level) {
  if (level < 0) on_error(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  if (owner(jpeg).jpeg.input_scan_number <= kMaxScans) return;
  std::snprintf(owner(jpeg).message, sizeof owner(jpeg).message, "more than %d scans", kMaxScans);
  std::longjmp(owner(jpeg).give_up, 1);
}

Error corrupt(const Decoder& decoder) {
  return Error(ErrorCode::kCorrupt, std::string("JPEG: ") + decoder.message);
}

// The steps below hold no object with a destructor while a jump can happen.
bool create(Decoder& decoder) {
  if (setjmp(decoder.give_up) != 0) return false;
  jpeg_create_decompress(&decoder.jpeg);
  return true;
}

bool read_header(Decoder& decoder, std::span<const std::byte> file) {
  if (setjmp(decoder.give_up) != 0) return false;
  jpeg_mem_src(&decoder.jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&decoder.jpeg, TRUE);
  return true;
}

bool read_pixels(Decoder& decoder, RgbImage& image) {
  if (setjmp(decoder.give_up) != 0) return false;
  decoder.jpeg.out_color_space = JCS_RGB;
  decoder.jpeg.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&decoder.jpeg);
  while (decoder.jpeg.output_scanline < decoder.jpeg.output_height) {
    JSAMPROW row = image.at(0, decoder.jpeg.output_scanline);
    jpeg_read_scanlines(&decoder.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&decoder.jpeg);
  return true;
}

Result<RgbImage> decode(Decoder& decoder, std::span<const std::byte> file) {
  if (!read_header(decoder, file)) return corrupt(decoder);
  MODELD_ASSIGN(RgbImage image, make_image(decoder.jpeg.image_width, decoder.jpeg.image_height));
  if (!read_pixels(decoder, image)) return corrupt(decoder);
  return image;
}

}  // namespace

Result<RgbImage> decode_jpeg(std::span<const std::byte> file) {
  Decoder decoder;
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  decoder.progress.progress_monitor = on_progress;
  decoder.jpeg.client_data = &decoder;
  if (!create(decoder)) return corrupt(decoder);
  decoder.jpeg.progress = &decoder.progress;
  auto image = decode(decoder, file);
  jpeg_destroy_decompress(&decoder.jpeg);
  return image;
}

}  // namespace modeld
