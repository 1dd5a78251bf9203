#include "tools/replay/image_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <system_error>

#include "runtime/base/file.h"
#include "tools/images/image_file.h"
#include "tools/images/to_nv12.h"
#include "tools/replay/yuv_picture.h"

namespace modeld::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListFile = "frames.csv";
constexpr std::string_view kHeader = "file,frame_id,timestamp_sof,timestamp_eof";
constexpr uint64_t kMaxListBytes = uint64_t{64} << 20;
constexpr size_t kMaxPictures = 1'000'000;

// A picture of any kind in memory, with planes to look at.
struct Decoded {
  FrameSize size;
  std::vector<std::byte> bytes;  // NV12 without padding
  Nv12Layout layout;
};

Nv12Layout tight(FrameSize size) {
  const uint64_t luma = uint64_t{size.width} * size.height;
  return {size.width, size.height, size.width, luma, luma + luma / 2};
}

// NAME_WIDTHxHEIGHT.nv12
std::optional<FrameSize> size_in_name(const fs::path& file) {
  const std::string stem = file.stem().string();
  const size_t bar = stem.rfind('_');
  const std::string size = bar == std::string::npos ? stem : stem.substr(bar + 1);
  unsigned width = 0;
  unsigned height = 0;
  char rest = 0;
  if (std::sscanf(size.c_str(), "%5ux%5u%c", &width, &height, &rest) != 2) return std::nullopt;
  return FrameSize{width, height};
}

Result<Decoded> decode_nv12(const fs::path& file) {
  const auto size = size_in_name(file);
  if (!size) {
    return Error(ErrorCode::kCorrupt, "raw picture without its size")
        .expecting("NAME_WIDTHxHEIGHT.nv12", file.filename().string());
  }
  Decoded decoded;
  decoded.size = *size;
  decoded.layout = tight(*size);
  MODELD_TRY(decoded.layout.check());
  MODELD_ASSIGN(decoded.bytes, read_file(file, decoded.layout.length));
  if (decoded.bytes.size() != decoded.layout.length) {
    return Error(ErrorCode::kCorrupt, "raw picture of another size than its name says")
        .expecting(std::to_string(decoded.layout.length) + " bytes",
                   std::to_string(decoded.bytes.size()));
  }
  return decoded;
}

Result<Decoded> decode(const fs::path& file) {
  if (file.extension() == ".nv12") {
    auto raw = decode_nv12(file);
    if (!raw.ok()) return std::move(raw).error().in(file.string());
    return raw;
  }
  MODELD_ASSIGN(const RgbImage image, load_image(file));
  Decoded decoded;
  decoded.size = {image.width, image.height};
  decoded.layout = tight(decoded.size);
  decoded.bytes.resize(decoded.layout.length);
  const Status written =
      to_nv12(image, decoded.layout,
              {reinterpret_cast<uint8_t*>(decoded.bytes.data()), decoded.bytes.size()});
  if (!written.ok()) return Error(written.error()).in(file.string());
  return decoded;
}

bool is_picture(const fs::path& file) {
  const std::string ending = file.extension().string();
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".nv12";
}

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Result<FolderFrame> parse_line(std::string_view line) {
  FolderFrame frame;
  std::array<std::string_view, 4> fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t comma = line.find(',');
    fields[i] = line.substr(0, comma);
    line = comma == std::string_view::npos ? std::string_view() : line.substr(comma + 1);
  }
  frame.file = fields[0];
  const bool inside = !frame.file.empty() && frame.file.find('/') == std::string::npos;
  if (!inside || !line.empty() || !parse(fields[1], frame.frame_id) ||
      !parse(fields[2], frame.timestamp_sof) || !parse(fields[3], frame.timestamp_eof)) {
    return Error(ErrorCode::kCorrupt, "not a line of a picture list")
        .expecting(std::string(kHeader) + " with a file of this folder and whole numbers",
                   std::string(fields[0]) + "," + std::string(fields[1]) + "," +
                       std::string(fields[2]) + "," + std::string(fields[3]));
  }
  return frame;
}

Result<std::vector<FolderFrame>> parse_list(const fs::path& file) {
  MODELD_ASSIGN(const std::string text, read_text_file(file, kMaxListBytes));
  std::vector<FolderFrame> frames;
  std::string_view rest = text;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line == kHeader)) continue;
    auto frame = parse_line(line);
    if (!frame.ok()) {
      return std::move(frame).error().in(file.string() + ":" + std::to_string(number));
    }
    if (frames.size() == kMaxPictures) {
      return Error(ErrorCode::kExhausted, "too many pictures").in(file.string());
    }
    frames.push_back(std::move(frame).value());
  }
  return frames;
}

Result<std::vector<FolderFrame>> list_by_names(const fs::path& folder) {
  std::vector<FolderFrame> frames;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    const fs::path file = at->path();
    if (!is_picture(file)) continue;
    FolderFrame frame;
    frame.file = file.filename().string();
    std::string stem = file.stem().string();
    if (file.extension() == ".nv12") stem = stem.substr(0, stem.rfind('_'));
    if (!parse(std::string_view(stem), frame.timestamp_eof)) {
      return Error(ErrorCode::kCorrupt, "picture without a time")
          .expecting("a name that is a time in ns, or a frames.csv", frame.file)
          .in(folder.string());
    }
    frame.timestamp_sof = frame.timestamp_eof - std::min(frame.timestamp_eof, kExposureNs);
    frames.push_back(std::move(frame));
    if (frames.size() > kMaxPictures) {
      return Error(ErrorCode::kExhausted, "too many pictures").in(folder.string());
    }
  }
  if (failure) return errno_error("listing " + folder.string(), failure.value());
  std::sort(frames.begin(), frames.end(), [](const FolderFrame& a, const FolderFrame& b) {
    return a.timestamp_eof < b.timestamp_eof;
  });
  for (size_t i = 0; i < frames.size(); ++i) frames[i].frame_id = static_cast<uint32_t>(i);
  return frames;
}

}  // namespace

Result<std::vector<FolderFrame>> list_image_folder(const fs::path& folder) {
  std::error_code failure;
  const fs::path list = folder / kListFile;
  return fs::exists(list, failure) ? parse_list(list) : list_by_names(folder);
}

Result<std::unique_ptr<PictureSource>> ImageFolder::open(const fs::path& folder) {
  MODELD_ASSIGN(auto frames, list_image_folder(folder));
  if (frames.empty()) {
    return Error(ErrorCode::kNotFound, "no pictures in " + folder.string())
        .expecting("frames.csv, or files named by their time in ns", "none");
  }
  std::unique_ptr<ImageFolder> source(new ImageFolder(folder, std::move(frames)));
  // The first one that can be read says the size.
  Error first;
  for (const FolderFrame& frame : source->frames_) {
    const auto decoded = decode(folder / frame.file);
    if (decoded.ok()) {
      source->size_ = decoded->size;
      return std::unique_ptr<PictureSource>(std::move(source));
    }
    if (first.message.empty()) first = decoded.error();
  }
  return first;
}

Result<PictureRead> ImageFolder::read(uint32_t index, const Nv12Layout& layout,
                                      std::span<std::byte> frame) {
  if (index >= frames_.size()) {
    why_ = "the folder has " + std::to_string(frames_.size()) + " pictures";
    return PictureRead::kMissing;
  }
  const auto decoded = decode(folder_ / frames_[index].file);
  if (!decoded.ok()) {
    why_ = to_string(decoded.error());
    return PictureRead::kBroken;
  }
  if (decoded->size != size_) {
    why_ = frames_[index].file + " is of another size than the first picture";
    return PictureRead::kBroken;
  }
  MODELD_TRY(write_nv12(view_nv12(decoded->layout, decoded->bytes), layout, frame));
  return PictureRead::kRead;
}

}  // namespace modeld::replay
