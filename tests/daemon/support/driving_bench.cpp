#include "tests/daemon/support/driving_bench.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ipc/schema/log.capnp.h"
#include "ipc/schema/message_writer.h"
#include "ipc/schema/read_message.h"
#include "tests/daemon/support/model_contracts.h"

namespace modeld::test {
namespace {

bool note(std::vector<float>& into, capnp::List<float>::Reader list) {
  bool finite = true;
  for (const float value : list) {
    into.push_back(value);
    finite = finite && std::isfinite(value);
  }
  return finite;
}

Heard read_model(wire::ModelDataV2::Reader model) {
  Heard heard;
  heard.frame_id = model.getFrameId();
  heard.frame_id_extra = model.getFrameIdExtra();
  heard.drop_perc = model.getFrameDropPerc();
  const auto raw =
      std::as_bytes(std::span(model.getRawPredictions().begin(), model.getRawPredictions().size()));
  heard.raw.assign(raw.begin(), raw.end());
  heard.finite = note(heard.plan_x, model.getPosition().getX());
  std::vector<float> rest;
  heard.finite = heard.finite && note(rest, model.getPosition().getXStd()) &&
                 note(rest, model.getLaneLineProbs()) &&
                 note(rest, model.getMeta().getDesireState()) &&
                 std::isfinite(model.getAction().getDesiredCurvature()) &&
                 std::isfinite(model.getAction().getDesiredAcceleration());
  for (const auto line : model.getLaneLines()) heard.finite &= note(rest, line.getY());
  for (const auto lead : model.getLeadsV3()) heard.finite &= note(rest, lead.getX());
  return heard;
}

Nv12Layout bench_layout(const BenchOptions& options) {
  if (options.stride == 0) return *Nv12Layout::openpilot(options.width, options.height);
  const uint64_t chroma = uint64_t{options.stride} * (options.height + 8) + 4096;
  const uint64_t last_row = uint64_t{options.stride} * (options.height / 2 - 1);
  return {options.width, options.height, options.stride, chroma, chroma + last_row + options.width};
}

}  // namespace

DrivingBench::DrivingBench(const BenchOptions& options)
    : layout(bench_layout(options)), health("modeld", "test", HealthLimits{}, clock) {
  EXPECT_TRUE(layout.check().ok());
  script.takes = 10 * kMillisecond;
  script.can_import = options.mode == FrameInput::kZeroCopy;
  narrow = std::make_unique<FakeCamera>(layout, options.buffers, clock);
  if (options.wide) wide = std::make_unique<FakeCamera>(layout, options.buffers, clock);
  engine = std::make_unique<Engine>(
      model_of(driving_contract()),
      std::make_unique<DigestDevice>(driving_contract(), script, clock), CaptureOptions{});
  driving::LoopSettings settings;
  settings.streams = options.wide ? RoadStreams::kNarrowAndWide : RoadStreams::kNarrowOnly;
  settings.narrow = settings.wide = options.mode;
  settings.longitudinal_actuator_delay = 0.2f;
  settings.refuse_stale_inputs = options.refuse_stale;
  settings.raw_predictions = options.raw_predictions;
  auto made = driving::DrivingLoop::create({clock, transport, *engine, health}, settings,
                                           narrow->stream(true),
                                           options.wide ? wide->stream(false) : nullptr);
  EXPECT_TRUE(made.ok()) << to_string(made.error());
  loop = std::move(made).value();
  loop->refresh_health();
  health.state.begin_self_test(clock.monotonic());
  health.state.self_test_passed(clock.monotonic());
  model_v2_ = *transport.subscriber("modelV2", ipc::SubscribeMode::kQueue);
  driving_model_data_ = *transport.subscriber("drivingModelData", ipc::SubscribeMode::kQueue);
  camera_odometry_ = *transport.subscriber("cameraOdometry", ipc::SubscribeMode::kQueue);
  if (options.calibrate) {
    send_states();
    send_calibration();
  }
}

DrivingBench::~DrivingBench() = default;

void DrivingBench::send_narrow(uint32_t id, uint64_t picture) {
  narrow->send(id, static_cast<uint64_t>(clock.boottime()) - 20'000'000, picture);
}

void DrivingBench::send_wide(uint32_t id, uint64_t picture, int64_t skew_ns) {
  wide->send(id, static_cast<uint64_t>(clock.boottime() - 20'000'000 + skew_ns), picture + 1000);
}

void DrivingBench::send_pair(uint32_t id, uint64_t picture) {
  tick();
  send_narrow(id, picture);
  if (wide) send_wide(id, picture);
}

Status DrivingBench::run_once() {
  return loop->run_once(Deadline::after(clock, 100 * kMillisecond));
}

void DrivingBench::send(std::string_view topic, std::span<const std::byte> bytes) {
  auto publisher = transport.publisher(topic);
  ASSERT_TRUE(publisher.ok()) << to_string(publisher.error());
  ASSERT_TRUE((*publisher)->send(bytes).ok());
}

void DrivingBench::send_states() {
  ipc::MessageWriter writer(4096);
  writer.begin().initRoot<wire::Event>().initDeviceState().setDeviceType(
      wire::InitData::DeviceType::TICI);
  send("deviceState", *writer.finish());
  writer.begin().initRoot<wire::Event>().initNarrowRoadCameraState().setSensor(
      wire::FrameData::ImageSensor::OS04C10);
  send("narrowRoadCameraState", *writer.finish());
}

void DrivingBench::send_calibration(float roll, float pitch, float yaw) {
  ipc::MessageWriter writer(4096);
  auto rpy = writer.begin().initRoot<wire::Event>().initExtrinsicsCalibration().initRpyCalib(3);
  rpy.set(0, roll);
  rpy.set(1, pitch);
  rpy.set(2, yaw);
  send("extrinsicsCalibration", *writer.finish());
}

void DrivingBench::send_car_state(float v_ego, bool left_blinker, bool steering_pressed,
                                  float torque) {
  ipc::MessageWriter writer(4096);
  auto car = writer.begin().initRoot<wire::Event>().initCarState();
  car.setVEgo(v_ego);
  car.setLeftBlinker(left_blinker);
  car.setSteeringPressed(steering_pressed);
  car.setSteeringTorque(torque);
  send("carState", *writer.finish());
}

void DrivingBench::send_lat_active(bool active) {
  ipc::MessageWriter writer(4096);
  writer.begin().initRoot<wire::Event>().initCarControl().setLatActive(active);
  send("carControl", *writer.finish());
}

std::vector<Heard> DrivingBench::hear(ipc::Subscriber& subscriber) {
  std::vector<Heard> all;
  ipc::MessageReader reader;
  while (true) {
    auto message = subscriber.receive();
    EXPECT_TRUE(message.ok());
    if (!message.ok() || !*message) return all;
    const Status read = ipc::read_event(reader, **message, [&](wire::Event::Reader event) {
      Heard heard;
      if (event.isModelV2()) heard = read_model(event.getModelV2());
      if (event.isDrivingModelData()) heard.frame_id = event.getDrivingModelData().getFrameId();
      if (event.isCameraOdometry()) {
        heard.frame_id = event.getCameraOdometry().getFrameId();
        heard.finite = note(heard.plan_x, event.getCameraOdometry().getTrans());
      }
      heard.kind = ipc::event_kind(static_cast<uint16_t>(event.which()));
      heard.valid = event.getValid();
      all.push_back(std::move(heard));
    });
    EXPECT_TRUE(read.ok());
  }
}

void DrivingBench::stop_listening() {
  model_v2_.reset();
  driving_model_data_.reset();
  camera_odometry_.reset();
}

std::vector<Heard> DrivingBench::model_v2() {
  return hear(*model_v2_);
}
std::vector<Heard> DrivingBench::driving_model_data() {
  return hear(*driving_model_data_);
}
std::vector<Heard> DrivingBench::camera_odometry() {
  return hear(*camera_odometry_);
}

}  // namespace modeld::test
