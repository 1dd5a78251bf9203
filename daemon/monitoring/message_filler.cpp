#include "daemon/monitoring/message_filler.h"

#include <capnp/message.h>

#include "ipc/schema/log.capnp.h"

namespace modeld::monitoring {
namespace {

constexpr size_t kMessageBytes = 2 * 1024;  // a message without raw predictions has 360

wire::DriverStateV2::Builder begin_message(ipc::MessageWriter& writer, const FrameFacts& facts,
                                           bool valid) {
  auto event = writer.begin().initRoot<wire::Event>();
  event.setLogMonoTime(facts.log_mono_time);
  event.setValid(valid);
  auto message = event.initDriverStateV2();
  message.setFrameId(facts.frame_id);
  message.setModelExecutionTime(static_cast<float>(facts.execution_time));
  message.setGpuExecutionTime(static_cast<float>(facts.gpu_execution_time));
  return message;
}

void set_all(capnp::List<float>::Builder list, std::span<const float> values) {
  for (uint32_t i = 0; i < list.size(); ++i) list.set(i, values[i]);
}

void set_driver(wire::DriverStateV2::DriverData::Builder driver, const DriverOutputs& outputs) {
  set_all(driver.initFaceOrientation(3), outputs.face_orientation);
  set_all(driver.initFaceOrientationStd(3), outputs.face_orientation_deviation);
  set_all(driver.initFacePosition(2), outputs.face_position);
  set_all(driver.initFacePositionStd(2), outputs.face_position_deviation);
  driver.setFaceProb(outputs.face_prob);
  driver.setLeftEyeProb(outputs.left_eye_prob);
  driver.setRightEyeProb(outputs.right_eye_prob);
  driver.setLeftBlinkProb(outputs.left_blink_prob);
  driver.setRightBlinkProb(outputs.right_blink_prob);
  driver.setSunglassesProb(outputs.sunglasses_prob);
  driver.setPhoneProb(outputs.using_phone_prob);
  driver.setSleepProb(outputs.sleep_prob);
}

}  // namespace

MessageFiller::MessageFiller(size_t most_raw_bytes) : writer_(kMessageBytes + most_raw_bytes) {}

Result<MessageFiller::Bytes> MessageFiller::driver_state_v2(const FrameFacts& facts,
                                                            const MonitoringOutputs& outputs,
                                                            Bytes raw) {
  auto message = begin_message(writer_, facts, true);
  message.setWheelOnRightProb(outputs.wheel_on_right_prob);
  set_driver(message.initLeftDriverData(), outputs.left);
  set_driver(message.initRightDriverData(), outputs.right);
  if (!raw.empty()) {
    message.setRawPredictions({reinterpret_cast<const capnp::byte*>(raw.data()), raw.size()});
  }
  return writer_.finish();
}

Result<MessageFiller::Bytes> MessageFiller::invalid_driver_state_v2(const FrameFacts& facts) {
  begin_message(writer_, facts, false);
  return writer_.finish();
}

}  // namespace modeld::monitoring
