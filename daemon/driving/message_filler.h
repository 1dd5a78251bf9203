// Writes the road model's three messages. Source: facts 5.1 to 5.3; the invalid form is ours
// (architecture, section 9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/driving/action.h"
#include "daemon/driving/desire_helper.h"
#include "daemon/driving/model_outputs.h"
#include "daemon/driving/publish_state.h"
#include "ipc/schema/message_writer.h"

namespace modeld::driving {

// What is known about a frame whether or not the network's answer is good.
struct FrameFacts {
  uint64_t log_mono_time = 0;          // ns, CLOCK_MONOTONIC
  uint32_t frame_id = 0;               // main camera
  uint32_t frame_id_extra = 0;         // main's with one camera
  uint32_t camera_state_frame_id = 0;  // of the newest narrowRoadCameraState
  uint64_t timestamp_eof = 0;          // ns, main camera
  double execution_time = 0.0;         // s, of the whole run
  double frame_drop_ratio = 0.0;       // DropFilter::ratio()
  int64_t dropped_frames = 0;          // DropFilter::dropped()
  bool calibration_seen = false;
  bool big = false;  // the answer is the external GPU's
};

// What the network said about it.
struct Prediction {
  const ModelOutputs& outputs;
  Action action;
  Confidence confidence = Confidence::kGreen;
  bool hard_brake_predicted = false;
  LaneChangeState lane_change_state = LaneChangeState::kOff;  // after this frame's update
  LaneChangeDirection lane_change_direction = LaneChangeDirection::kNone;
  // float32 bytes of the output after write_back(); empty unless asked for.
  std::span<const std::byte> raw = {};
};

// One builder per message: the bytes of one are good until the same message is written again.
// Not thread-safe. Allocates nothing after construction as long as `raw` stays within
// `most_raw_bytes`.
class MessageFiller {
 public:
  using Bytes = std::span<const std::byte>;

  explicit MessageFiller(size_t most_raw_bytes = 0);

  // To be published in this order.
  Result<Bytes> model_v2(const FrameFacts& facts, const Prediction& prediction);
  Result<Bytes> driving_model_data(const FrameFacts& facts, const Prediction& prediction);
  Result<Bytes> camera_odometry(const FrameFacts& facts, const Prediction& prediction);

  // The same messages for a frame without a good answer: valid is false, the facts are there, every
  // prediction is empty.
  Result<Bytes> invalid_model_v2(const FrameFacts& facts);
  Result<Bytes> invalid_driving_model_data(const FrameFacts& facts);
  Result<Bytes> invalid_camera_odometry(const FrameFacts& facts);

 private:
  ipc::MessageWriter model_v2_;
  ipc::MessageWriter driving_model_data_;
  ipc::MessageWriter camera_odometry_;
};

}  // namespace modeld::driving
