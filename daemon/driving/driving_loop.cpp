#include "daemon/driving/driving_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/engine/input_plan.h"
#include "daemon/inputs/report_inputs.h"
#include "runtime/artifact/artifact.h"

namespace modeld::driving {
namespace {

// One wait of the pairing rule (interoperability facts 7.2).
constexpr Nanoseconds kFrameWait = 100 * kMillisecond;
// Far beyond any car and any delay: such a number is broken, not fast.
constexpr float kLargestSpeed = 200.0f;  // m/s
constexpr float kLargestDelay = 10.0f;   // s

constexpr std::array<SourceRule, 8> kSources = {{
    {"narrow_road", InputRole::kFrame, 0, true},
    {"wide_road", InputRole::kFrame, 0, true},
    {"narrow_road_transform", InputRole::kTransform, 9, true},
    {"wide_road_transform", InputRole::kTransform, 9, true},
    {"desire_pulse", InputRole::kVector, kDesireCount, true},
    {"traffic_convention", InputRole::kVector, 2, true},
    {"action_t", InputRole::kVector, 2, false},
    {"lateral_control_params", InputRole::kVector, 2, false},
}};

FrameSize warp_output(const Contract& contract, size_t frame_input) {
  return contract.find_camera(contract.inputs[frame_input].name)->output_size;
}

bool usable(float value, float largest) {
  return std::abs(value) <= largest;  // false for NaN
}

std::string describe_stale(const TopicInput& input, Nanoseconds now) {
  const auto milliseconds = [](Nanoseconds time) { return std::to_string(time / kMillisecond); };
  return std::string(input.topic) + " is silent (last message " +
         milliseconds(input.tracker.age(now)) + " ms ago, expected within " +
         milliseconds(input.tracker.longest_silence()) + " ms)";
}

DriverInputs driver_inputs(const VehicleInputs& values) {
  DriverInputs inputs;
  inputs.v_ego = values.v_ego;
  inputs.left_blinker = values.left_blinker;
  inputs.right_blinker = values.right_blinker;
  inputs.steering_pressed = values.steering_pressed;
  inputs.steering_torque = values.steering_torque;
  inputs.left_blindspot = values.left_blindspot;
  inputs.right_blindspot = values.right_blindspot;
  inputs.lateral_active = values.lat_active;
  return inputs;
}

}  // namespace

Result<DrivingLoop::Inputs> DrivingLoop::plan(const Contract& contract) {
  MODELD_ASSIGN(const auto places, plan_inputs(contract, kSources));
  return Inputs{*places[0], *places[1], *places[2], *places[3],
                *places[4], *places[5], places[6],  places[7]};
}

Result<DrivingLoop::Publishers> DrivingLoop::open_publishers(ipc::Transport& transport) {
  Publishers publishers;
  MODELD_ASSIGN(publishers.model_v2, transport.publisher("modelV2"));
  MODELD_ASSIGN(publishers.driving_model_data, transport.publisher("drivingModelData"));
  MODELD_ASSIGN(publishers.camera_odometry, transport.publisher("cameraOdometry"));
  return publishers;
}

Result<std::unique_ptr<DrivingLoop>> DrivingLoop::create(const LoopEnvironment& environment,
                                                         const LoopSettings& settings,
                                                         std::unique_ptr<ipc::FrameStream> main,
                                                         std::unique_ptr<ipc::FrameStream> extra) {
  const Contract& contract = environment.engine.contract();
  MODELD_ASSIGN(const Inputs inputs, plan(contract));
  MODELD_ASSIGN(OutputParser parser,
                OutputParser::create(OutputFloats::head_contracts(contract.outputs)));
  MODELD_ASSIGN(TopicInputs topics,
                TopicInputs::open(environment.transport, settings.names, driving_services()));
  MODELD_ASSIGN(Publishers publishers, open_publishers(environment.transport));
  std::unique_ptr<DrivingLoop> loop(new DrivingLoop(
      environment, settings, inputs, std::move(parser), std::move(topics), std::move(publishers)));
  loop->main_ = std::move(main);
  loop->extra_ = std::move(extra);
  return loop;
}

DrivingLoop::DrivingLoop(const LoopEnvironment& environment, const LoopSettings& settings,
                         Inputs inputs, OutputParser parser, TopicInputs topics,
                         Publishers publishers)
    : environment_(environment),
      settings_(settings),
      inputs_(inputs),
      publishers_(std::move(publishers)),
      topics_(std::move(topics)),
      parser_(std::move(parser)),
      validator_(environment.engine.contract().outputs),
      floats_(environment.engine.contract().outputs),
      runner_(environment.engine, environment.clock, settings.inference_deadline),
      raw_(settings.raw_predictions
               ? std::optional<RawPredictions>(environment.engine.contract().outputs)
               : std::nullopt),
      filler_(raw_ ? raw_->bytes().size() : 0),
      pairing_(settings.streams == RoadStreams::kNarrowAndWide),
      transforms_(settings.streams, warp_output(environment.engine.contract(), inputs.narrow_frame),
                  warp_output(environment.engine.contract(), inputs.wide_frame)) {}

Status DrivingLoop::run_once(Deadline deadline) {
  MODELD_ASSIGN(const bool paired, find_pair(deadline));
  if (paired) {
    answer_pair();
    pairing_.used();
    main_frame_.reset();
    extra_frame_.reset();
    if (runner_.recover()) report_recovery();
  }
  return runner_.fatal();
}

// The fallback answers from the next frame on; it counts drops anew (interoperability facts 5.6).
void DrivingLoop::report_recovery() {
  drop_filter_ = DropFilter();
  environment_.health.took_over(detail_, environment_.clock.monotonic());
}

Result<bool> DrivingLoop::find_pair(Deadline deadline) {
  while (pairing_.step() != FramePairing::Step::kPaired) {
    const Nanoseconds now = environment_.clock.monotonic();
    const Deadline wait{std::min(deadline.at, now + kFrameWait)};
    const bool wants_main = pairing_.step() == FramePairing::Step::kReceiveMain;
    MODELD_ASSIGN(const bool came, wants_main ? take_main(wait) : take_extra(wait));
    if (came) continue;
    const auto& waited_for = wants_main ? main_ : extra_;
    environment_.health.state.no_frame(why_no_frame(waited_for->state()),
                                       environment_.clock.monotonic());
    return false;
  }
  return true;
}

Result<bool> DrivingLoop::take_main(Deadline deadline) {
  MODELD_ASSIGN(auto frame, main_->receive(deadline));
  if (!frame) {
    pairing_.on_main(std::nullopt);
    return false;
  }
  if (main_frame_) environment_.health.dropped(DropReason::kUnpaired, frame->info.receive_ns);
  // Another server may count its time anew: what was remembered of the old one would never match.
  if (frame->info.server_id != main_server_) pairing_ = FramePairing(extra_ != nullptr);
  main_server_ = frame->info.server_id;
  intake_.accept(*frame, environment_.health.frames);
  pairing_.on_main(frame->info.timestamp_sof_ns);
  main_frame_ = std::move(frame);
  return true;
}

Result<bool> DrivingLoop::take_extra(Deadline deadline) {
  MODELD_ASSIGN(auto frame, extra_->receive(deadline));
  if (!frame) {
    pairing_.on_extra(std::nullopt);
    return false;
  }
  if (extra_frame_) ++environment_.health.frames.extra_passed_over;
  pairing_.on_extra(frame->info.timestamp_sof_ns);
  extra_frame_ = std::move(frame);
  return true;
}

InvalidReason DrivingLoop::refuse(InvalidReason reason, std::string detail) {
  detail_ = std::move(detail);
  return reason;
}

InvalidReason DrivingLoop::check_frame_sizes() {
  const Contract& contract = environment_.engine.contract();
  const auto check = [&](size_t input, const ipc::Frame& frame,
                         const CameraIntrinsics& camera) -> Status {
    const FrameSize size{frame.layout().width, frame.layout().height};
    MODELD_TRY(check_camera_size(*contract.find_camera(contract.inputs[input].name), size));
    if (size.width == camera.width && size.height == camera.height) return {};
    return Error(ErrorCode::kRefused, "picture size is not the camera's")
        .expecting(std::to_string(camera.width) + "x" + std::to_string(camera.height),
                   std::to_string(size.width) + "x" + std::to_string(size.height));
  };
  const Status narrow = check(inputs_.narrow_frame, *main_frame_, *transforms_.narrow_camera());
  if (!narrow.ok()) return refuse(InvalidReason::kFrameSize, to_string(narrow.error()));
  const Status wide = check(inputs_.wide_frame, extra_frame(), *transforms_.wide_camera());
  if (!wide.ok()) return refuse(InvalidReason::kFrameSize, to_string(wide.error()));
  return InvalidReason::kNone;
}

InvalidReason DrivingLoop::check_inputs() {
  transforms_.update(values_);
  if (transforms_.reason() != InvalidReason::kNone) {
    return refuse(transforms_.reason(), transforms_.detail());
  }
  if (!usable(values_.v_ego, kLargestSpeed)) {
    return refuse(InvalidReason::kInputVector, "carState.vEgo is not a usable speed");
  }
  if (!usable(values_.lateral_delay, kLargestDelay)) {
    return refuse(InvalidReason::kInputVector, "lateralDelay.lateralDelay is not a usable time");
  }
  if (settings_.refuse_stale_inputs) {
    const Nanoseconds now = environment_.clock.monotonic();
    if (const TopicInput* stale = topics_.find_stale(now)) {
      return refuse(InvalidReason::kInputStale, describe_stale(*stale, now));
    }
  }
  return check_frame_sizes();
}

RunOutcome DrivingLoop::run_capture(FrameTimes& times) {
  next_desire_pulse_ = desire_pulse_;
  pulse_input_ = next_desire_pulse_.update(desire_helper_.desire());
  traffic_input_ = traffic_convention(values_.is_rhd);
  action_t_input_ =
      action_t_input(action_times(values_.lateral_delay, settings_.longitudinal_actuator_delay));

  ipc::FrameStream* const extra_stream = extra_ ? extra_.get() : main_.get();
  const std::array<FrameRunner::Picture, 2> pictures = {
      {{inputs_.narrow_frame, main_.get(), &*main_frame_, settings_.narrow},
       {inputs_.wide_frame, extra_stream, &extra_frame(), settings_.wide}}};
  std::array<FrameRunner::Vector, 6> vectors = {{{inputs_.narrow_transform, transforms_.narrow().m},
                                                 {inputs_.wide_transform, transforms_.wide().m},
                                                 {inputs_.desire_pulse, pulse_input_},
                                                 {inputs_.traffic_convention, traffic_input_}}};
  size_t used = 4;
  if (inputs_.action_t) vectors[used++] = {*inputs_.action_t, action_t_input_};
  if (inputs_.lateral_control_params) {
    lateral_params_input_ = lateral_control_params(values_.v_ego, values_.lateral_delay);
    vectors[used++] = {*inputs_.lateral_control_params, lateral_params_input_};
  }
  return runner_.run(pictures, std::span(vectors).first(used), times);
}

std::optional<InvalidReason> DrivingLoop::run(FrameTimes& times) {
  const RunOutcome outcome = run_capture(times);
  switch (outcome.kind) {
    case RunOutcome::Kind::kDropped: {
      DaemonHealth& health = environment_.health;
      if (outcome.picture < health.streams.size()) ++health.streams[outcome.picture].torn;
      health.dropped(outcome.drop, environment_.clock.monotonic());
      return std::nullopt;
    }
    case RunOutcome::Kind::kInvalid:
      return refuse(outcome.invalid, runner_.detail());
    case RunOutcome::Kind::kCompleted:
      break;
  }
  return judge(outcome, times);
}

void DrivingLoop::parse(const Capture& capture) {
  const auto floats = floats_.read(capture);
  parser_.parse(floats, outputs_);
  if (!raw_) return;
  raw_->copy(floats);
  if (!parser_.copies_raw_first()) parser_.write_back(outputs_, raw_->outputs());
}

// Parse, validate, commit. Nothing of a bad answer reaches a message or the network's history.
InvalidReason DrivingLoop::judge(const RunOutcome& outcome, FrameTimes& times) {
  const Nanoseconds begin = environment_.clock.monotonic();
  const OutputVerdict verdict = validator_.check(*outcome.capture, *outcome.report);
  runner_.judged(verdict.reason);
  if (!verdict.valid()) return refuse(verdict.reason, validator_.describe(verdict));
  parse(*outcome.capture);
  const double v_ego = std::max(0.0, static_cast<double>(values_.v_ego));
  const Action action = next_action(
      outputs_, action_, action_times(values_.lateral_delay, settings_.longitudinal_actuator_delay),
      v_ego);
  if (!std::isfinite(action.desired_curvature) || !std::isfinite(action.desired_acceleration)) {
    return refuse(InvalidReason::kOutputNotFinite, "the action that follows is not finite");
  }
  if (const Status committed = outcome.capture->commit(); !committed.ok()) {
    return refuse(InvalidReason::kDeviceError, to_string(committed.error()));
  }
  environment_.engine.readiness().output_valid = Check::kPassed;
  action_ = action;
  desire_pulse_ = next_desire_pulse_;
  const double lane_change_prob =
      static_cast<double>(outputs_.desire_state[3]) + static_cast<double>(outputs_.desire_state[4]);
  desire_helper_.update(driver_inputs(values_), lane_change_prob);
  publish_state_.update(main_frame_->info.frame_id, outputs_);
  times[FramePhase::kParse] = environment_.clock.monotonic() - begin;
  detail_.clear();
  return InvalidReason::kNone;
}

FrameFacts DrivingLoop::frame_facts(Nanoseconds begin) {
  drop_filter_.update(main_frame_->info.frame_id);
  const Nanoseconds now = environment_.clock.monotonic();
  FrameFacts facts;
  facts.log_mono_time = static_cast<uint64_t>(now);
  facts.frame_id = main_frame_->info.frame_id;
  facts.frame_id_extra = extra_frame().info.frame_id;
  facts.camera_state_frame_id = values_.camera_frame_id;
  facts.timestamp_eof = main_frame_->info.timestamp_eof_ns;
  facts.execution_time = static_cast<double>(now - begin) / kSecond;
  facts.frame_drop_ratio = drop_filter_.ratio();
  // A frame the network's history does not hold is as good as lost to the motion estimate.
  facts.dropped_frames = std::max(drop_filter_.dropped(), committed_any_ ? uncommitted_ : 0);
  // With a fallback at hand the first device's answers are the big model's.
  facts.big = environment_.engine.fallback() == FallbackState::kWarm ||
              environment_.engine.fallback() == FallbackState::kCold;
  facts.calibration_seen = transforms_.calibrated();
  return facts;
}

Status DrivingLoop::publish_prediction(const FrameFacts& facts) {
  const Prediction prediction{outputs_,
                              action_,
                              publish_state_.confidence(),
                              publish_state_.hard_brake_predicted(),
                              desire_helper_.state(),
                              desire_helper_.direction(),
                              raw_ ? raw_->bytes() : std::span<const std::byte>()};
  MODELD_ASSIGN(const auto model, filler_.model_v2(facts, prediction));
  MODELD_TRY(publishers_.model_v2->send(model));
  MODELD_ASSIGN(const auto data, filler_.driving_model_data(facts, prediction));
  MODELD_TRY(publishers_.driving_model_data->send(data));
  MODELD_ASSIGN(const auto odometry, filler_.camera_odometry(facts, prediction));
  return publishers_.camera_odometry->send(odometry);
}

Status DrivingLoop::publish_invalid(const FrameFacts& facts) {
  MODELD_ASSIGN(const auto model, filler_.invalid_model_v2(facts));
  MODELD_TRY(publishers_.model_v2->send(model));
  MODELD_ASSIGN(const auto data, filler_.invalid_driving_model_data(facts));
  MODELD_TRY(publishers_.driving_model_data->send(data));
  MODELD_ASSIGN(const auto odometry, filler_.invalid_camera_odometry(facts));
  return publishers_.camera_odometry->send(odometry);
}

Status DrivingLoop::publish(const FrameFacts& facts, InvalidReason reason) {
  return reason == InvalidReason::kNone ? publish_prediction(facts) : publish_invalid(facts);
}

void DrivingLoop::answer_pair() {
  const Clock& clock = environment_.clock;
  const Nanoseconds taken = main_frame_->info.receive_ns;
  CpuWaitMeter meter(clock, environment_.thread_time);
  const Nanoseconds begin = meter.began();
  FrameTimes times;
  times.frame_id = main_frame_->info.frame_id;
  times[FramePhase::kCameraToReceive] = age_at_receive(*main_frame_, clock);
  if (extra_) times[FramePhase::kPairing] = begin - taken;

  std::optional<InvalidReason> reason;
  if (const Status polled = topics_.poll(begin, values_); !polled.ok()) {
    reason = refuse(InvalidReason::kInputVector, to_string(polled.error()));
  } else {
    reason = check_inputs();
  }
  if (*reason == InvalidReason::kNone) reason = run(times);
  if (!reason) return;

  const FrameFacts facts = frame_facts(begin);
  const Nanoseconds filling = clock.monotonic();
  const Status published = publish(facts, *reason);
  const Nanoseconds done = clock.monotonic();
  times[FramePhase::kPublish] = done - filling;
  times[FramePhase::kTotal] = done - taken;
  meter.slept(runner_.take_blocked());
  times[FramePhase::kCpuWait] += meter.waited();
  if (*reason == InvalidReason::kNone) {
    committed_any_ = true;
    uncommitted_ = 0;
  } else {
    ++uncommitted_;
  }
  if (!published.ok()) {
    detail_ = to_string(published.error());
    environment_.health.dropped(DropReason::kNotPublished, done);
    return;
  }
  const bool skewed = extra_ && pairing_.far_apart();
  if (skewed) ++environment_.health.frames.pairs_far_apart;
  environment_.health.answered(times, *reason, done,
                               skewed ? HealthReason::kUnpaired : HealthReason::kNone);
}

void DrivingLoop::resume() {
  runner_.resume();
  drop_filter_ = DropFilter();
  desire_helper_ = DesireHelper();
  desire_pulse_ = DesirePulse();
  publish_state_ = PublishState();
  action_ = Action();
  committed_any_ = false;
  uncommitted_ = 0;
}

void DrivingLoop::stop() {
  if (!main_frame_) return;
  main_frame_.reset();
  environment_.health.dropped(DropReason::kShutdown, environment_.clock.monotonic());
}

void DrivingLoop::refresh_health() {
  DaemonHealth& health = environment_.health;
  const Nanoseconds now = environment_.clock.monotonic();
  health.readiness = environment_.engine.readiness();
  if (health.streams.empty()) {
    health.streams.push_back({"main", nullptr, 0});
    if (extra_) health.streams.push_back({"extra", nullptr, 0});
  }
  health.streams[0].state = &main_->state();
  if (extra_) health.streams[1].state = &extra_->state();
  report_inputs(topics_, now, health.inputs);
  report_pixel_path(runner_.mode(), settings_.narrow, health);
}

}  // namespace modeld::driving
