// Routes of our own making: a drawn road and cabin, cameras in step, the messages of a car that
// drives straight on. Everything is a function of the options, nothing of a clock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ipc/schema/message_writer.h"
#include "runtime/base/clock.h"
#include "tools/replay/camera_kind.h"
#include "tools/replay/video_writer.h"

namespace modeld::test {

enum class PictureForm { kNone, kNv12Folder, kHevc, kFfv1, kPreview };

struct RouteOptions {
  uint32_t frames = 8;
  replay::PerCamera<PictureForm> pictures = {PictureForm::kNv12Folder, PictureForm::kNv12Folder,
                                             PictureForm::kNv12Folder};
  bool states = true;        // camera states
  uint32_t state_every = 1;  // a qlog has fewer
  bool index = false;        // index messages
  int32_t segment_number = 0;
  uint32_t first_id = 100;      // of the first frame
  uint32_t pictures_short = 0;  // so many fewer pictures than frames, at the end
  bool calibrate = true;        // before the first frame
  bool car_params = true;
};

// The size every picture has, and the device messages that go with it (os04c10 on a tici).
constexpr uint32_t kRouteWidth = 1344;
constexpr uint32_t kRouteHeight = 760;

// Messages with their times, in the order of the file.
class MessageList {
 public:
  void add_calibration(Nanoseconds time, float yaw);
  void add_device_state(Nanoseconds time);
  void add_car_state(Nanoseconds time, float v_ego);
  void add_car_params(Nanoseconds time, float actuator_delay);
  void add_camera_state(Nanoseconds time, replay::Camera camera, uint32_t id, uint64_t sof,
                        uint64_t eof);
  void add_index(Nanoseconds time, replay::Camera camera, bool preview, uint32_t id,
                 int32_t segment, uint32_t picture, uint64_t sof, uint64_t eof);
  void add_raw(std::span<const std::byte> bytes);

  const std::vector<std::byte>& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void finish();
  std::unique_ptr<ipc::MessageWriter> writer_ = std::make_unique<ipc::MessageWriter>(4096);
  std::vector<std::byte> bytes_;
};

class RouteBuilder {
 public:
  explicit RouteBuilder(const RouteOptions& options);

  // When frame `i` of the two road cameras ends its exposure, and when their states come; the cabin
  // is half a period later.
  static constexpr Nanoseconds kStart = 1000 * kSecond;
  static constexpr Nanoseconds kPeriod = 50 * kMillisecond;
  static Nanoseconds eof(replay::Camera camera, uint32_t i);
  static Nanoseconds state_time(replay::Camera camera, uint32_t i);

  // Everything before the first frame, then the messages of every frame.
  MessageList messages(uint32_t from, uint32_t to) const;

  // Pictures of frames from..to and, as `log`, their messages.
  void write(const std::filesystem::path& folder, const std::string& log = "rlog") const;
  void write_pictures(const std::filesystem::path& folder, uint32_t from, uint32_t to) const;
  static void write_log(const std::filesystem::path& path, const MessageList& messages);

  // The picture of frame `i`, NV12 without padding.
  static std::vector<std::byte> picture(replay::Camera camera, uint32_t i);

 private:
  const RouteOptions options_;
};

}  // namespace modeld::test
