// A live system into a route that replays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ipc/frames/frame_source.h"
#include "ipc/schema/message_writer.h"
#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "tools/replay/camera_kind.h"
#include "tools/replay/camera_recorder.h"
#include "tools/replay/log_writer.h"
#include "tools/replay/packed_log.h"

namespace modeld::replay {

struct RecordOptions {
  std::filesystem::path folder;  // gets a folder ROUTE--N per segment
  std::string route;
  std::string version;  // of the program, for initData
  std::string server = "camerad";
  std::filesystem::path socket_dir = "/tmp";
  std::string prefix;
  ipc::NameSet names = ipc::NameSet::kNew;
  bool hevc = false;  // .hevc instead of .mkv; both lossless
  Nanoseconds segment = 60 * kSecond;
  std::filesystem::path params_dir;  // CarParams from here goes into the log; empty: none
  Nanoseconds log_flush = kSecond;   // what a killed recording may lack
  size_t queue = 20;                 // frames per camera waiting for their encoder
};

struct RecordReport {
  struct OneCamera {
    uint64_t recorded = 0;
    uint64_t torn = 0;     // overwritten by the camera while they were copied
    uint64_t behind = 0;   // the encoder was that far behind
    uint64_t resized = 0;  // of another size than the camera's first frame
  };
  PerCamera<OneCamera> cameras;
  uint64_t messages = 0;
  uint64_t segments = 0;
};

// Every service of the table that a logger logs, and the cameras of one server. The log is written
// as it comes, and at least every log_flush in a form that reads if this process ends there; while
// it grows, rlog.lock lies beside it. Used by one thread.
class RouteRecorder {
 public:
  static Result<std::unique_ptr<RouteRecorder>> create(const Clock& clock,
                                                       ipc::Transport& transport,
                                                       const RecordOptions& options);

  // Records until `stop` says true (asked every few ms), then writes what is left.
  Status run(const std::function<bool()>& stop);

  const RecordReport& report() const { return report_; }

 private:
  struct Stream {
    Camera camera = Camera::kNarrowRoad;
    std::unique_ptr<ipc::FrameStream> source;
    std::unique_ptr<CameraRecorder> recorder;  // once the first frame has said the size
    Nv12Layout layout;
    uint32_t pictures = 0;   // in this segment
    uint32_t encode_id = 0;  // since the start
  };

  RouteRecorder(const Clock& clock, ipc::Transport& transport, const RecordOptions& options);
  Status open_inputs();
  Status begin_segment();
  Status end_segment(bool last);
  Status add_car_params();
  Status take_messages();
  Status take_frames(Stream& stream);
  Status record(Stream& stream, const ipc::Frame& frame);
  Status add_index(const Stream& stream, const ipc::Frame& frame);
  Status flush_log();
  std::filesystem::path segment_folder() const;
  std::filesystem::path video_path(const Stream& stream) const;

  const Clock& clock_;
  ipc::Transport& transport_;
  const RecordOptions options_;
  std::vector<std::unique_ptr<ipc::Subscriber>> topics_;
  std::vector<Stream> streams_;
  std::unique_ptr<PackedLog> file_;
  LogWriter log_;  // into file_
  ipc::MessageWriter writer_;
  Nanoseconds segment_begin_ = 0;
  Nanoseconds flushed_ = 0;
  int32_t segment_ = 0;
  RecordReport report_;
};

}  // namespace modeld::replay
