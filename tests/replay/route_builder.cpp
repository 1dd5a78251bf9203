#include "tests/replay/route_builder.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ipc/schema/log.capnp.h"
#include "tools/feed/moving_picture.h"
#include "tools/images/draw.h"
#include "tools/replay/log_writer.h"

namespace modeld::test {
namespace {

using replay::Camera;

constexpr Nanoseconds kExposure = 18 * kMillisecond;
constexpr Nanoseconds kStateAfter = 3 * kMillisecond;

Nv12Layout tight() {
  const uint64_t luma = uint64_t{kRouteWidth} * kRouteHeight;
  return {kRouteWidth, kRouteHeight, kRouteWidth, luma, luma + luma / 2};
}

const MovingPicture& scene(Camera camera) {
  static const MovingPicture road = *MovingPicture::create(*draw_road_scene(336, 190), tight());
  static const MovingPicture cabin = *MovingPicture::create(*draw_cabin_scene(336, 190), tight());
  return camera == Camera::kCabin ? cabin : road;
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void expect_ok(const Status& status) {
  EXPECT_TRUE(status.ok()) << to_string(status.error());
}

}  // namespace

void MessageList::finish() {
  const auto bytes = writer_->finish();
  ASSERT_TRUE(bytes.ok());
  add_raw(*bytes);
}

void MessageList::add_raw(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void MessageList::add_calibration(Nanoseconds time, float yaw) {
  auto event = writer_->begin().initRoot<wire::Event>();
  event.setLogMonoTime(static_cast<uint64_t>(time));
  auto rpy = event.initExtrinsicsCalibration().initRpyCalib(3);
  rpy.set(0, 0.0f);
  rpy.set(1, 0.01f);
  rpy.set(2, yaw);
  finish();
}

void MessageList::add_device_state(Nanoseconds time) {
  auto event = writer_->begin().initRoot<wire::Event>();
  event.setLogMonoTime(static_cast<uint64_t>(time));
  event.initDeviceState().setDeviceType(wire::InitData::DeviceType::TICI);
  finish();
}

void MessageList::add_car_state(Nanoseconds time, float v_ego) {
  auto event = writer_->begin().initRoot<wire::Event>();
  event.setLogMonoTime(static_cast<uint64_t>(time));
  event.initCarState().setVEgo(v_ego);
  finish();
}

void MessageList::add_car_params(Nanoseconds time, float actuator_delay) {
  auto event = writer_->begin().initRoot<wire::Event>();
  event.setLogMonoTime(static_cast<uint64_t>(time));
  event.initCarParams().setLongitudinalActuatorDelay(actuator_delay);
  finish();
}

void MessageList::add_camera_state(Nanoseconds time, Camera camera, uint32_t id, uint64_t sof,
                                   uint64_t eof) {
  auto event = writer_->begin().initRoot<wire::Event>();
  event.setLogMonoTime(static_cast<uint64_t>(time));
  auto state = camera == Camera::kNarrowRoad ? event.initNarrowRoadCameraState()
               : camera == Camera::kWideRoad ? event.initWideRoadCameraState()
                                             : event.initCabinCameraState();
  state.setFrameId(id);
  state.setTimestampSof(sof);
  state.setTimestampEof(eof);
  state.setSensor(wire::FrameData::ImageSensor::OS04C10);
  finish();
}

void MessageList::add_index(Nanoseconds time, Camera camera, bool preview, uint32_t id,
                            int32_t segment, uint32_t picture, uint64_t sof, uint64_t eof) {
  auto event = writer_->begin().initRoot<wire::Event>();
  event.setLogMonoTime(static_cast<uint64_t>(time));
  auto index = preview                         ? event.initQNarrowRoadEncodeIdx()
               : camera == Camera::kNarrowRoad ? event.initNarrowRoadEncodeIdx()
               : camera == Camera::kWideRoad   ? event.initWideRoadEncodeIdx()
                                               : event.initCabinEncodeIdx();
  index.setFrameId(id);
  index.setSegmentNum(segment);
  index.setSegmentId(picture);
  index.setSegmentIdEncode(picture);
  index.setTimestampSof(sof);
  index.setTimestampEof(eof);
  finish();
}

RouteBuilder::RouteBuilder(const RouteOptions& options) : options_(options) {}

Nanoseconds RouteBuilder::eof(Camera camera, uint32_t i) {
  const Nanoseconds at = kStart + i * kPeriod;
  return camera == Camera::kCabin ? at + kPeriod / 2 : at;
}

Nanoseconds RouteBuilder::state_time(Camera camera, uint32_t i) {
  return eof(camera, i) + kStateAfter + static_cast<Nanoseconds>(index_of(camera)) * 1000;
}

MessageList RouteBuilder::messages(uint32_t from, uint32_t to) const {
  MessageList list;
  if (from == 0) {
    if (options_.car_params) list.add_car_params(kStart - 400 * kMillisecond, 0.25f);
    list.add_device_state(kStart - 300 * kMillisecond);
    if (options_.calibrate) list.add_calibration(kStart - 200 * kMillisecond, 0.01f);
  }
  for (uint32_t i = from; i < to; ++i) {
    list.add_car_state(eof(Camera::kNarrowRoad, i) + kMillisecond, 10.0f + static_cast<float>(i));
    for (const Camera camera : replay::kCameras) {
      if (options_.pictures[index_of(camera)] == PictureForm::kNone) continue;
      const auto end = static_cast<uint64_t>(eof(camera, i));
      const uint64_t begin = end - static_cast<uint64_t>(kExposure);
      const uint32_t id = options_.first_id + i;
      if (options_.states && i % options_.state_every == 0) {
        list.add_camera_state(state_time(camera, i), camera, id, begin, end);
      }
      if (options_.index) {
        const bool preview = options_.pictures[index_of(camera)] == PictureForm::kPreview;
        // Written when the encoder is done with it.
        list.add_index(state_time(camera, i) + 60 * kMillisecond, camera, preview, id,
                       options_.segment_number, i - from, begin, end);
      }
    }
  }
  return list;
}

std::vector<std::byte> RouteBuilder::picture(Camera camera, uint32_t i) {
  std::vector<std::byte> bytes(tight().length);
  // The wide camera is a little ahead on the same path, so that the two differ.
  scene(camera).write(camera == Camera::kWideRoad ? i + 1000 : i, bytes);
  return bytes;
}

void RouteBuilder::write_pictures(const std::filesystem::path& folder, uint32_t from,
                                  uint32_t to) const {
  std::filesystem::create_directories(folder);
  for (const Camera camera : replay::kCameras) {
    const PictureForm form = options_.pictures[index_of(camera)];
    if (form == PictureForm::kNone) continue;
    const std::string stem(names_of(camera).file);
    if (form == PictureForm::kNv12Folder) {
      std::filesystem::create_directories(folder / stem);
      std::ofstream list(folder / stem / "frames.csv");
      list << "file,frame_id,timestamp_sof,timestamp_eof\n";
      for (uint32_t i = from; i < to; ++i) {
        const std::string name = std::to_string(i) + "_1344x760.nv12";
        list << name << "," << options_.first_id + i << "," << eof(camera, i) - kExposure << ","
             << eof(camera, i) << "\n";
        if (i + options_.pictures_short < to) {
          write_file(folder / stem / name, picture(camera, i));
        }
      }
      continue;
    }
    replay::VideoFormat format = form == PictureForm::kFfv1
                                     ? replay::lossless_ffv1(kRouteWidth, kRouteHeight)
                                     : replay::lossless_hevc(kRouteWidth, kRouteHeight);
    std::string name = stem + (form == PictureForm::kFfv1 ? ".mkv" : ".hevc");
    if (form == PictureForm::kPreview) {
      format = {"libx264", {{"preset", "ultrafast"}, {"qp", "0"}}, 526, 330};
      name = "qcamera.ts";
    }
    auto video = replay::VideoWriter::create(folder / name, format);
    ASSERT_TRUE(video.ok()) << to_string(video.error());
    for (uint32_t i = from; i + options_.pictures_short < to; ++i) {
      const auto bytes = picture(camera, i);
      const Nv12Layout small{526, 330, 526, 526 * 330, 526 * 330 * 3 / 2};
      std::vector<std::byte> scaled(small.length);
      if (form == PictureForm::kPreview) {
        expect_ok(replay::write_nv12(replay::view_nv12(tight(), bytes), small, scaled));
        expect_ok((*video)->add(replay::view_nv12(small, scaled)));
      } else {
        expect_ok((*video)->add(replay::view_nv12(tight(), bytes)));
      }
    }
    expect_ok((*video)->finish());
  }
}

void RouteBuilder::write_log(const std::filesystem::path& path, const MessageList& messages) {
  std::filesystem::create_directories(path.parent_path());
  expect_ok(replay::write_log(path, messages.bytes()));
}

void RouteBuilder::write(const std::filesystem::path& folder, const std::string& log) const {
  write_pictures(folder, 0, options_.frames);
  write_log(folder / log, messages(0, options_.frames));
}

}  // namespace modeld::test
