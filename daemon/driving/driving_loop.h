// The road model's frame loop: pair, take messages, run, validate, fill, publish.
// Source of the order of things: interoperability facts 7.2 and 7.3.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/daemon_config.h"
#include "daemon/driving/action.h"
#include "daemon/driving/desire_helper.h"
#include "daemon/driving/drop_filter.h"
#include "daemon/driving/frame_pairing.h"
#include "daemon/driving/message_filler.h"
#include "daemon/driving/model_inputs.h"
#include "daemon/driving/model_outputs.h"
#include "daemon/driving/output_parser.h"
#include "daemon/driving/publish_state.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/frame_intake.h"
#include "daemon/engine/frame_loop.h"
#include "daemon/engine/frame_runner.h"
#include "daemon/engine/output_floats.h"
#include "daemon/engine/raw_predictions.h"
#include "daemon/health/daemon_health.h"
#include "daemon/inputs/road_transforms.h"
#include "daemon/inputs/topic_inputs.h"
#include "daemon/validate/output_validator.h"
#include "ipc/frames/frame_source.h"
#include "ipc/transport/transport.h"

namespace modeld::driving {

struct LoopSettings {
  RoadStreams streams = RoadStreams::kNarrowAndWide;
  FrameInput narrow = FrameInput::kUpload;
  FrameInput wide = FrameInput::kUpload;
  ipc::NameSet names = ipc::NameSet::kNew;
  Nanoseconds inference_deadline = 150 * kMillisecond;
  float longitudinal_actuator_delay = 0;  // s, from CarParams
  bool raw_predictions = false;           // fill modelV2.rawPredictions
  bool refuse_stale_inputs = false;       // answer invalid while a topic heard before is silent
};

// Not thread-safe. From the second answered frame on, an answer allocates nothing besides what the
// transport does for a send.
class DrivingLoop final : public FrameLoop {
 public:
  // `main` conflates, `extra` does not; `extra` is null with a single stream. kRefused for an
  // artifact whose inputs or outputs are not a road model's.
  static Result<std::unique_ptr<DrivingLoop>> create(const LoopEnvironment& environment,
                                                     const LoopSettings& settings,
                                                     std::unique_ptr<ipc::FrameStream> main,
                                                     std::unique_ptr<ipc::FrameStream> extra);

  Status run_once(Deadline deadline) override;
  void refresh_health() override;
  void resume() override;
  void stop() override;

  // Why the last frame was answered invalid, for people; empty after a valid one.
  const std::string& detail() const { return detail_; }
  const VehicleInputs& values() const { return values_; }
  const FrameRunner& runner() const { return runner_; }

 private:
  struct Publishers {
    std::unique_ptr<ipc::Publisher> model_v2;
    std::unique_ptr<ipc::Publisher> driving_model_data;
    std::unique_ptr<ipc::Publisher> camera_odometry;
  };
  // Positions in contract.inputs.
  struct Inputs {
    size_t narrow_frame = 0;
    size_t wide_frame = 0;
    size_t narrow_transform = 0;
    size_t wide_transform = 0;
    size_t desire_pulse = 0;
    size_t traffic_convention = 0;
    std::optional<size_t> action_t;
    std::optional<size_t> lateral_control_params;
  };

  DrivingLoop(const LoopEnvironment& environment, const LoopSettings& settings, Inputs inputs,
              OutputParser parser, TopicInputs topics, Publishers publishers);
  static Result<Inputs> plan(const Contract& contract);
  static Result<Publishers> open_publishers(ipc::Transport& transport);

  Result<bool> find_pair(Deadline deadline);
  Result<bool> take_main(Deadline deadline);
  Result<bool> take_extra(Deadline deadline);
  void answer_pair();
  void report_recovery();
  const ipc::Frame& extra_frame() const { return extra_ ? *extra_frame_ : *main_frame_; }

  InvalidReason check_inputs();
  InvalidReason check_frame_sizes();
  // Nothing if the frame was dropped (and counted).
  std::optional<InvalidReason> run(FrameTimes& times);
  RunOutcome run_capture(FrameTimes& times);
  void parse(const Capture& capture);
  InvalidReason judge(const RunOutcome& outcome, FrameTimes& times);
  InvalidReason refuse(InvalidReason reason, std::string detail);
  FrameFacts frame_facts(Nanoseconds begin);
  Status publish(const FrameFacts& facts, InvalidReason reason);
  Status publish_prediction(const FrameFacts& facts);
  Status publish_invalid(const FrameFacts& facts);

  LoopEnvironment environment_;
  const LoopSettings settings_;
  const Inputs inputs_;
  std::unique_ptr<ipc::FrameStream> main_;
  std::unique_ptr<ipc::FrameStream> extra_;
  Publishers publishers_;
  TopicInputs topics_;
  OutputParser parser_;
  OutputValidator validator_;
  OutputFloats floats_;
  FrameRunner runner_;
  std::optional<RawPredictions> raw_;  // nothing: not asked for
  MessageFiller filler_;

  FramePairing pairing_;
  FrameIntake intake_;
  std::optional<ipc::Frame> main_frame_;  // taken, not yet answered
  std::optional<ipc::Frame> extra_frame_;
  uint64_t main_server_ = 0;

  VehicleInputs values_;
  RoadTransforms transforms_;
  DesireHelper desire_helper_;
  DesirePulse desire_pulse_;       // as of the last committed frame
  DesirePulse next_desire_pulse_;  // if the frame in hand is committed
  DropFilter drop_filter_;
  PublishState publish_state_;
  ModelOutputs outputs_;
  Action action_;
  bool committed_any_ = false;
  int64_t uncommitted_ = 0;  // answered frames the network's history does not hold, in a row

  std::array<float, kDesireCount> pulse_input_{};
  std::array<float, 2> traffic_input_{};
  std::array<float, 2> action_t_input_{};
  std::array<float, 2> lateral_params_input_{};
  std::string detail_;
};

}  // namespace modeld::driving
