#include "daemon/monitoring/monitoring_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/engine/input_plan.h"
#include "daemon/inputs/report_inputs.h"
#include "runtime/artifact/artifact.h"
#include "warp/calibration.h"

namespace modeld::monitoring {
namespace {

constexpr Nanoseconds kFrameWait = 100 * kMillisecond;

constexpr std::array<SourceRule, 4> kSources = {{
    {"cabin", InputRole::kFrame, 0, true},
    {"cabin_transform", InputRole::kTransform, 9, false},
    {"cabin_portrait_transform", InputRole::kTransform, 9, false},
    {"calibration", InputRole::kVector, 3, false},
}};

}  // namespace

Result<MonitoringLoop::Inputs> MonitoringLoop::plan(const Contract& contract) {
  MODELD_ASSIGN(const auto places, plan_inputs(contract, kSources));
  if (places[1].has_value() == places[2].has_value()) {
    return Error(ErrorCode::kRefused, "the model's transform is not one this daemon makes")
        .expecting("one of cabin_transform and cabin_portrait_transform",
                   places[1] ? "both" : "neither");
  }
  return Inputs{*places[0], places[1] ? *places[1] : *places[2], places[2].has_value(), places[3]};
}

Result<std::unique_ptr<MonitoringLoop>> MonitoringLoop::create(
    const LoopEnvironment& environment, const LoopSettings& settings,
    std::unique_ptr<ipc::FrameStream> cabin) {
  const Contract& contract = environment.engine.contract();
  MODELD_ASSIGN(const Inputs inputs, plan(contract));
  MODELD_ASSIGN(
      OutputParser parser,
      OutputParser::create(OutputFloats::head_contracts(contract.outputs), settings.driver_seat));
  MODELD_ASSIGN(TopicInputs topics,
                TopicInputs::open(environment.transport, settings.names, monitoring_services()));
  MODELD_ASSIGN(auto publisher, environment.transport.publisher("driverStateV2"));
  std::unique_ptr<MonitoringLoop> loop(new MonitoringLoop(
      environment, settings, inputs, std::move(parser), std::move(topics), std::move(publisher)));
  loop->cabin_ = std::move(cabin);
  return loop;
}

MonitoringLoop::MonitoringLoop(const LoopEnvironment& environment, const LoopSettings& settings,
                               Inputs inputs, OutputParser parser, TopicInputs topics,
                               std::unique_ptr<ipc::Publisher> publisher)
    : environment_(environment),
      settings_(settings),
      inputs_(inputs),
      publisher_(std::move(publisher)),
      topics_(std::move(topics)),
      parser_(std::move(parser)),
      validator_(environment.engine.contract().outputs),
      floats_(environment.engine.contract().outputs),
      runner_(environment.engine, environment.clock, settings.inference_deadline),
      raw_(settings.raw_predictions
               ? std::optional<RawPredictions>(environment.engine.contract().outputs)
               : std::nullopt),
      filler_(raw_ ? raw_->bytes().size() : 0) {}

Status MonitoringLoop::run_once(Deadline deadline) {
  const Nanoseconds now = environment_.clock.monotonic();
  MODELD_ASSIGN(const auto frame,
                cabin_->receive(Deadline{std::min(deadline.at, now + kFrameWait)}));
  if (!frame) {
    environment_.health.state.no_frame(why_no_frame(cabin_->state()),
                                       environment_.clock.monotonic());
    return runner_.fatal();
  }
  intake_.accept(*frame, environment_.health.frames);
  answer(*frame);
  if (runner_.recover()) {
    environment_.health.took_over(detail_, environment_.clock.monotonic());
  }
  return runner_.fatal();
}

InvalidReason MonitoringLoop::refuse(InvalidReason reason, std::string detail) {
  detail_ = std::move(detail);
  return reason;
}

// The cabin's matrix depends on the camera only (interoperability facts 6.4).
void MonitoringLoop::choose_transform(const ipc::Frame& frame) {
  const uint32_t width = frame.layout().width;
  if (width == transform_width_) return;
  transform_width_ = width;
  const CameraIntrinsics& camera = cabin_cameras_by_width(width).cabin;
  if (inputs_.portrait && width != camera.width) {
    transform_error_ = "the part this model looks at is known for pictures " +
                       std::to_string(camera.width) + " and 1344 wide only, found " +
                       std::to_string(width);
    return;
  }
  transform_ = to_float(inputs_.portrait
                            ? portrait_matrix(camera, settings_.driver_seat == DriverSeat::kRight)
                            : cabin_matrix(camera, kCabinModelCamera));
  const Contract& contract = environment_.engine.contract();
  const FrameSize output = contract.find_camera(contract.inputs[inputs_.frame].name)->output_size;
  const Status checked = check_transform(transform_, output.width, output.height);
  transform_error_ = checked.ok() ? "" : to_string(checked.error());
}

InvalidReason MonitoringLoop::check_inputs(const ipc::Frame& frame) {
  const Contract& contract = environment_.engine.contract();
  const Status size = check_camera_size(*contract.find_camera(contract.inputs[inputs_.frame].name),
                                        FrameSize{frame.layout().width, frame.layout().height});
  if (!size.ok()) return refuse(InvalidReason::kFrameSize, to_string(size.error()));
  choose_transform(frame);
  if (!transform_error_.empty()) return refuse(InvalidReason::kTransform, transform_error_);
  // Zeros until the first calibration, and no gate (interoperability facts 5.7).
  const bool complete = values_.calibrations == 0 || values_.calibration_complete;
  const bool finite = std::all_of(values_.rpy_calib.begin(), values_.rpy_calib.end(),
                                  [](float angle) { return std::isfinite(angle); });
  if (!complete || !finite) {
    return refuse(InvalidReason::kInputVector, "rpyCalib is not three finite angles");
  }
  return InvalidReason::kNone;
}

std::optional<InvalidReason> MonitoringLoop::run(const ipc::Frame& frame, FrameTimes& times) {
  const std::array<FrameRunner::Picture, 1> pictures = {
      {{inputs_.frame, cabin_.get(), &frame, settings_.cabin}}};
  const std::array<FrameRunner::Vector, 2> vectors = {
      {{inputs_.transform, transform_.m}, {inputs_.calibration.value_or(0), values_.rpy_calib}}};
  const size_t used = inputs_.calibration ? 2 : 1;
  const RunOutcome outcome = runner_.run(pictures, std::span(vectors).first(used), times);
  switch (outcome.kind) {
    case RunOutcome::Kind::kDropped: {
      DaemonHealth& health = environment_.health;
      if (!health.streams.empty()) ++health.streams[0].torn;
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

InvalidReason MonitoringLoop::judge(const RunOutcome& outcome, FrameTimes& times) {
  const Nanoseconds begin = environment_.clock.monotonic();
  const OutputVerdict verdict = validator_.check(*outcome.capture, *outcome.report);
  runner_.judged(verdict.reason);
  if (!verdict.valid()) return refuse(verdict.reason, validator_.describe(verdict));
  const auto floats = floats_.read(*outcome.capture);
  parser_.parse(floats, outputs_);
  if (raw_) raw_->copy(floats);
  if (const Status committed = outcome.capture->commit(); !committed.ok()) {
    return refuse(InvalidReason::kDeviceError, to_string(committed.error()));
  }
  environment_.engine.readiness().output_valid = Check::kPassed;
  times[FramePhase::kParse] = environment_.clock.monotonic() - begin;
  detail_.clear();
  return InvalidReason::kNone;
}

Status MonitoringLoop::publish(const FrameFacts& facts, InvalidReason reason) {
  const bool valid = reason == InvalidReason::kNone;
  const auto raw = raw_ ? raw_->bytes() : std::span<const std::byte>();
  MODELD_ASSIGN(const auto message, valid ? filler_.driver_state_v2(facts, outputs_, raw)
                                          : filler_.invalid_driver_state_v2(facts));
  return publisher_->send(message);
}

void MonitoringLoop::answer(const ipc::Frame& frame) {
  const Clock& clock = environment_.clock;
  CpuWaitMeter meter(clock, environment_.thread_time);
  const Nanoseconds begin = meter.began();
  FrameTimes times;
  times.frame_id = frame.info.frame_id;
  times[FramePhase::kCameraToReceive] = age_at_receive(frame, clock);

  std::optional<InvalidReason> reason;
  if (const Status polled = topics_.poll(begin, values_); !polled.ok()) {
    reason = refuse(InvalidReason::kInputVector, to_string(polled.error()));
  } else {
    reason = check_inputs(frame);
  }
  if (*reason == InvalidReason::kNone) reason = run(frame, times);
  if (!reason) return;

  const Nanoseconds filling = clock.monotonic();
  FrameFacts facts;
  facts.log_mono_time = static_cast<uint64_t>(filling);
  facts.frame_id = frame.info.frame_id;
  facts.execution_time = static_cast<double>(filling - begin) / kSecond;
  const Nanoseconds inside = times[FramePhase::kQueue] + times[FramePhase::kWarp] +
                             times[FramePhase::kModel] + times[FramePhase::kDownload];
  facts.gpu_execution_time = static_cast<double>(inside) / kSecond;
  const Status published = publish(facts, *reason);
  const Nanoseconds done = clock.monotonic();
  times[FramePhase::kPublish] = done - filling;
  times[FramePhase::kTotal] = done - frame.info.receive_ns;
  meter.slept(runner_.take_blocked());
  times[FramePhase::kCpuWait] += meter.waited();
  if (!published.ok()) {
    detail_ = to_string(published.error());
    environment_.health.dropped(DropReason::kNotPublished, done);
    return;
  }
  environment_.health.answered(times, *reason, done);
}

void MonitoringLoop::refresh_health() {
  DaemonHealth& health = environment_.health;
  health.readiness = environment_.engine.readiness();
  if (health.streams.empty()) health.streams.push_back({"cabin", nullptr, 0});
  health.streams[0].state = &cabin_->state();
  report_inputs(topics_, environment_.clock.monotonic(), health.inputs);
  report_pixel_path(runner_.mode(), settings_.cabin, health);
}

}  // namespace modeld::monitoring
