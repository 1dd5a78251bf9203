#include "tools/replay/yuv_picture.h"

#include <libyuv/convert.h>
#include <libyuv/planar_functions.h>
#include <libyuv/scale.h>

#include <string>
#include <vector>

namespace modeld::replay {
namespace {

struct Planes {
  std::vector<uint8_t> bytes;
  YuvPicture picture;
  uint8_t* y() { return bytes.data(); }
  uint8_t* u() { return y() + size_t{picture.width} * picture.height; }
  uint8_t* v() { return u() + size_t{picture.width / 2} * (picture.height / 2); }
};

Planes make_planes(uint32_t width, uint32_t height) {
  Planes planes;
  planes.bytes.resize(size_t{width} * height + 2 * size_t{width / 2} * (height / 2));
  planes.picture = {width, height, nullptr, nullptr, nullptr, 0, 0, 0};
  planes.picture.y = planes.y();
  planes.picture.u = planes.u();
  planes.picture.v = planes.v();
  planes.picture.y_stride = static_cast<int>(width);
  planes.picture.u_stride = planes.picture.v_stride = static_cast<int>(width / 2);
  return planes;
}

// Planar, whatever it was.
Planes to_planar(const YuvPicture& from) {
  Planes planes = make_planes(from.width, from.height);
  libyuv::NV12ToI420(from.y, from.y_stride, from.u, from.u_stride, planes.y(),
                     planes.picture.y_stride, planes.u(), planes.picture.u_stride, planes.v(),
                     planes.picture.v_stride, static_cast<int>(from.width),
                     static_cast<int>(from.height));
  return planes;
}

Planes scaled(const YuvPicture& from, uint32_t width, uint32_t height) {
  Planes planes = make_planes(width, height);
  libyuv::I420Scale(from.y, from.y_stride, from.u, from.u_stride, from.v, from.v_stride,
                    static_cast<int>(from.width), static_cast<int>(from.height), planes.y(),
                    planes.picture.y_stride, planes.u(), planes.picture.u_stride, planes.v(),
                    planes.picture.v_stride, static_cast<int>(width), static_cast<int>(height),
                    libyuv::kFilterBilinear);
  return planes;
}

void copy(const YuvPicture& from, const Nv12Layout& layout, uint8_t* to) {
  const int width = static_cast<int>(layout.width);
  const int height = static_cast<int>(layout.height);
  const int stride = static_cast<int>(layout.stride);
  libyuv::CopyPlane(from.y, from.y_stride, to, stride, width, height);
  uint8_t* const chroma = to + layout.uv_offset;
  if (from.v == nullptr) {
    libyuv::CopyPlane(from.u, from.u_stride, chroma, stride, width, height / 2);
  } else {
    libyuv::MergeUVPlane(from.u, from.u_stride, from.v, from.v_stride, chroma, stride, width / 2,
                         height / 2);
  }
}

}  // namespace

Status write_nv12(const YuvPicture& picture, const Nv12Layout& layout, std::span<std::byte> frame) {
  MODELD_TRY(layout.check());
  if (frame.size() < layout.bytes_in_use()) {
    return Error(ErrorCode::kInvalidArgument, "frame buffer is too short for its layout")
        .expecting("at least " + std::to_string(layout.bytes_in_use()) + " bytes",
                   std::to_string(frame.size()) + " bytes");
  }
  auto* const to = reinterpret_cast<uint8_t*>(frame.data());
  if (picture.width == layout.width && picture.height == layout.height) {
    copy(picture, layout, to);
    return {};
  }
  if (picture.v == nullptr) {
    const Planes planar = to_planar(picture);
    copy(scaled(planar.picture, layout.width, layout.height).picture, layout, to);
    return {};
  }
  copy(scaled(picture, layout.width, layout.height).picture, layout, to);
  return {};
}

YuvPicture view_nv12(const Nv12Layout& layout, std::span<const std::byte> frame) {
  const auto* const start = reinterpret_cast<const uint8_t*>(frame.data());
  YuvPicture picture;
  picture.width = layout.width;
  picture.height = layout.height;
  picture.y = start;
  picture.u = start + layout.uv_offset;
  picture.y_stride = picture.u_stride = static_cast<int>(layout.stride);
  return picture;
}

}  // namespace modeld::replay
