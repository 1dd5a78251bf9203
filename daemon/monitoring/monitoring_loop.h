// The driver-monitoring model's frame loop: take a frame, run, validate, fill, publish.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "config/daemon_config.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/frame_intake.h"
#include "daemon/engine/frame_loop.h"
#include "daemon/engine/frame_runner.h"
#include "daemon/engine/output_floats.h"
#include "daemon/engine/raw_predictions.h"
#include "daemon/health/daemon_health.h"
#include "daemon/inputs/topic_inputs.h"
#include "daemon/monitoring/driver_outputs.h"
#include "daemon/monitoring/message_filler.h"
#include "daemon/monitoring/output_parser.h"
#include "daemon/validate/output_validator.h"
#include "ipc/frames/frame_source.h"
#include "ipc/transport/transport.h"
#include "warp/transform.h"

namespace modeld::monitoring {

struct LoopSettings {
  FrameInput cabin = FrameInput::kUpload;
  ipc::NameSet names = ipc::NameSet::kNew;
  DriverSeat driver_seat = DriverSeat::kLeft;  // of models that look at one seat
  bool raw_predictions = false;                // fill driverStateV2.rawPredictions
  Nanoseconds inference_deadline = 150 * kMillisecond;
};

// Not thread-safe. From the second answered frame on, an answer allocates nothing besides what the
// transport does for a send.
class MonitoringLoop final : public FrameLoop {
 public:
  // `cabin` conflates. kRefused for an artifact whose inputs or outputs are not a
  // driver-monitoring model's.
  static Result<std::unique_ptr<MonitoringLoop>> create(const LoopEnvironment& environment,
                                                        const LoopSettings& settings,
                                                        std::unique_ptr<ipc::FrameStream> cabin);

  Status run_once(Deadline deadline) override;
  void refresh_health() override;
  void resume() override { runner_.resume(); }
  void stop() override {}

  // Why the last frame was answered invalid, for people; empty after a valid one.
  const std::string& detail() const { return detail_; }
  const FrameRunner& runner() const { return runner_; }

 private:
  // Positions in contract.inputs.
  struct Inputs {
    size_t frame = 0;
    size_t transform = 0;
    bool portrait = false;  // the transform of networks that look at one seat
    std::optional<size_t> calibration;
  };
  static Result<Inputs> plan(const Contract& contract);

  MonitoringLoop(const LoopEnvironment& environment, const LoopSettings& settings, Inputs inputs,
                 OutputParser parser, TopicInputs topics,
                 std::unique_ptr<ipc::Publisher> publisher);

  void answer(const ipc::Frame& frame);
  InvalidReason check_inputs(const ipc::Frame& frame);
  void choose_transform(const ipc::Frame& frame);
  // Nothing if the frame was dropped (and counted).
  std::optional<InvalidReason> run(const ipc::Frame& frame, FrameTimes& times);
  InvalidReason judge(const RunOutcome& outcome, FrameTimes& times);
  InvalidReason refuse(InvalidReason reason, std::string detail);
  Status publish(const FrameFacts& facts, InvalidReason reason);

  LoopEnvironment environment_;
  const LoopSettings settings_;
  const Inputs inputs_;
  std::unique_ptr<ipc::FrameStream> cabin_;
  std::unique_ptr<ipc::Publisher> publisher_;
  TopicInputs topics_;
  OutputParser parser_;
  OutputValidator validator_;
  OutputFloats floats_;
  FrameRunner runner_;
  std::optional<RawPredictions> raw_;  // nothing: not asked for
  MessageFiller filler_;

  FrameIntake intake_;
  VehicleInputs values_;
  MonitoringOutputs outputs_;
  uint32_t transform_width_ = 0;  // of the frames transform_ was made for
  Matrix3f transform_;
  std::string transform_error_;
  std::string detail_;
};

}  // namespace modeld::monitoring
