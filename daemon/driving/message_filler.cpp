#include "daemon/driving/message_filler.h"

#include <capnp/message.h>

#include <algorithm>

#include "daemon/driving/path_fit.h"
#include "ipc/schema/log.capnp.h"

namespace modeld::driving {
namespace {

using FloatList = capnp::List<float>;

// The messages have 7880, 232 and 248 bytes; beyond these sizes a builder would allocate.
constexpr size_t kModelV2Bytes = 16 * 1024;
constexpr size_t kSmallMessageBytes = 2 * 1024;

void set_all(FloatList::Builder list, const float* first, size_t stride = 1) {
  for (uint32_t i = 0; i < list.size(); ++i) list.set(i, first[i * stride]);
}

void set_doubles(FloatList::Builder list, const double* first) {
  for (uint32_t i = 0; i < list.size(); ++i) list.set(i, static_cast<float>(first[i]));
}

uint32_t frame_age(const FrameFacts& facts) {
  return facts.camera_state_frame_id > facts.frame_id ? facts.camera_state_frame_id - facts.frame_id
                                                      : 0;
}

float drop_percentage(const FrameFacts& facts) {
  return static_cast<float>(100.0 * facts.frame_drop_ratio);
}

wire::Event::Builder begin_event(ipc::MessageWriter& writer, const FrameFacts& facts, bool valid) {
  auto event = writer.begin().initRoot<wire::Event>();
  event.setLogMonoTime(facts.log_mono_time);
  event.setValid(valid);
  return event;
}

void set_facts(wire::ModelDataV2::Builder message, const FrameFacts& facts) {
  message.setFrameId(facts.frame_id);
  message.setFrameIdExtra(facts.frame_id_extra);
  message.setFrameAge(frame_age(facts));
  message.setFrameDropPerc(drop_percentage(facts));
  message.setTimestampEof(facts.timestamp_eof);
  message.setModelExecutionTime(static_cast<float>(facts.execution_time));
  message.setBig(facts.big);
}

void set_facts(wire::DrivingModelData::Builder message, const FrameFacts& facts) {
  message.setFrameId(facts.frame_id);
  message.setFrameIdExtra(facts.frame_id_extra);
  message.setFrameDropPerc(drop_percentage(facts));
  message.setModelExecutionTime(static_cast<float>(facts.execution_time));
  message.setBig(facts.big);
}

void set_facts(wire::CameraOdometry::Builder message, const FrameFacts& facts) {
  message.setFrameId(facts.frame_id);
  message.setTimestampEof(facts.timestamp_eof);
}

void set_action(wire::ModelDataV2::Action::Builder builder, const Action& action) {
  builder.setDesiredCurvature(action.desired_curvature);
  builder.setDesiredAcceleration(action.desired_acceleration);
  builder.setShouldStop(action.should_stop);
}

// Three columns of the plan from `column` on.
void set_plan(wire::XYZTData::Builder builder, const ModelOutputs& outputs, size_t column) {
  const float* const mean = outputs.plan.mean.data() + column;
  set_doubles(builder.initT(kIdxCount), kTIdxs.data());
  set_all(builder.initX(kIdxCount), mean, kPlanWidth);
  set_all(builder.initY(kIdxCount), mean + 1, kPlanWidth);
  set_all(builder.initZ(kIdxCount), mean + 2, kPlanWidth);
}

void set_position(wire::XYZTData::Builder builder, const ModelOutputs& outputs) {
  set_plan(builder, outputs, kPlanPosition);
  const float* const deviation = outputs.plan.deviation.data() + kPlanPosition;
  set_all(builder.initXStd(kIdxCount), deviation, kPlanWidth);
  set_all(builder.initYStd(kIdxCount), deviation + 1, kPlanWidth);
  set_all(builder.initZStd(kIdxCount), deviation + 2, kPlanWidth);
}

// `lines` has one entry per line; times stay empty.
template <size_t N>
void set_lines(capnp::List<wire::XYZTData>::Builder lines, FloatList::Builder deviations,
               const Estimate<N>& estimate) {
  for (uint32_t i = 0; i < lines.size(); ++i) {
    const size_t first = i * kIdxCount * kLineWidth;
    set_doubles(lines[i].initX(kIdxCount), kXIdxs.data());
    set_all(lines[i].initY(kIdxCount), estimate.mean.data() + first, kLineWidth);
    set_all(lines[i].initZ(kIdxCount), estimate.mean.data() + first + 1, kLineWidth);
    deviations.set(i, estimate.deviation[first]);
  }
}

void set_lead(wire::ModelDataV2::LeadDataV3::Builder lead, const ModelOutputs& outputs, size_t i) {
  const size_t first = i * kLeadTrajectory * kLeadWidth;
  const float* const mean = outputs.lead.mean.data() + first;
  const float* const deviation = outputs.lead.deviation.data() + first;
  lead.setProb(outputs.lead_prob[i]);
  lead.setProbTime(kLeadTOffsets[i]);
  set_all(lead.initT(kLeadTrajectory), kLeadTIdxs.data());
  set_all(lead.initX(kLeadTrajectory), mean, kLeadWidth);
  set_all(lead.initY(kLeadTrajectory), mean + 1, kLeadWidth);
  set_all(lead.initV(kLeadTrajectory), mean + 2, kLeadWidth);
  set_all(lead.initA(kLeadTrajectory), mean + 3, kLeadWidth);
  set_all(lead.initXStd(kLeadTrajectory), deviation, kLeadWidth);
  set_all(lead.initYStd(kLeadTrajectory), deviation + 1, kLeadWidth);
  set_all(lead.initVStd(kLeadTrajectory), deviation + 2, kLeadWidth);
  set_all(lead.initAStd(kLeadTrajectory), deviation + 3, kLeadWidth);
}

void set_disengagements(wire::ModelDataV2::DisengagePredictions::Builder builder,
                        const ModelOutputs& outputs) {
  const MetaLayout& layout = *outputs.meta_layout;
  // Entries of one kind lie a fixed step apart in the head.
  const auto set = [&](FloatList::Builder list, size_t first) {
    set_all(list, outputs.meta.data() + first, layout.step);
  };
  set_all(builder.initT(kMetaHorizons), kMetaTIdxs.data());
  set(builder.initGasDisengageProbs(kMetaHorizons), layout.gas_disengage(0));
  set(builder.initBrakeDisengageProbs(kMetaHorizons), layout.brake_disengage(0));
  set(builder.initSteerOverrideProbs(kMetaHorizons), layout.steer_override(0));
  set(builder.initBrake3MetersPerSecondSquaredProbs(kMetaHorizons), layout.hard_brake_3(0));
  set(builder.initBrake4MetersPerSecondSquaredProbs(kMetaHorizons), layout.hard_brake_4(0));
  set(builder.initBrake5MetersPerSecondSquaredProbs(kMetaHorizons), layout.hard_brake_5(0));
  if (const MetaPresses& gas = layout.gas_press; gas.count != 0) {
    set_all(builder.initGasPressProbs(static_cast<uint32_t>(gas.count)),
            outputs.meta.data() + gas.first, gas.step);
  }
  if (const MetaPresses& brake = layout.brake_press; brake.count != 0) {
    set_all(builder.initBrakePressProbs(static_cast<uint32_t>(brake.count)),
            outputs.meta.data() + brake.first, brake.step);
  }
}

// Both messages have a `meta` with these two fields.
template <typename MetaBuilder>
void set_lane_change(MetaBuilder meta, const Prediction& prediction) {
  meta.setLaneChangeState(static_cast<wire::LaneChangeState>(prediction.lane_change_state));
  meta.setLaneChangeDirection(
      static_cast<wire::LaneChangeDirection>(prediction.lane_change_direction));
}

void set_meta(wire::ModelDataV2::MetaData::Builder meta, const Prediction& prediction) {
  const ModelOutputs& outputs = prediction.outputs;
  meta.setEngagedProb(outputs.meta[kMetaEngaged]);
  set_all(meta.initDesireState(kDesireCount), outputs.desire_state.data());
  set_all(meta.initDesirePrediction(static_cast<uint32_t>(outputs.desire_pred.size())),
          outputs.desire_pred.data());
  set_disengagements(meta.initDisengagePredictions(), outputs);
  meta.setHardBrakePredicted(prediction.hard_brake_predicted);
  set_lane_change(meta, prediction);
}

void set_roads(wire::ModelDataV2::Builder message, const ModelOutputs& outputs) {
  set_lines(message.initLaneLines(kLaneLineCount), message.initLaneLineStds(kLaneLineCount),
            outputs.lane_lines);
  set_all(message.initLaneLineProbs(kLaneLineCount), outputs.lane_lines_prob.data() + 1, 2);
  set_lines(message.initRoadEdges(kRoadEdgeCount), message.initRoadEdgeStds(kRoadEdgeCount),
            outputs.road_edges);
  auto leads = message.initLeadsV3(kLeadCount);
  for (uint32_t i = 0; i < kLeadCount; ++i) set_lead(leads[i], outputs, i);
}

wire::ModelDataV2::ConfidenceClass to_wire(Confidence confidence) {
  return static_cast<wire::ModelDataV2::ConfidenceClass>(confidence);
}

float first_y(const ModelOutputs& outputs, size_t line) {
  return outputs.lane_lines.mean[line * kIdxCount * kLineWidth];
}

// Translation first, rotation after it.
template <size_t N>
void set_three(FloatList::Builder mean, FloatList::Builder deviation, const Estimate<N>& estimate,
               size_t first) {
  set_all(mean, estimate.mean.data() + first);
  set_all(deviation, estimate.deviation.data() + first);
}

}  // namespace

MessageFiller::MessageFiller(size_t most_raw_bytes)
    : model_v2_(kModelV2Bytes + most_raw_bytes),
      driving_model_data_(kSmallMessageBytes),
      camera_odometry_(kSmallMessageBytes) {}

Result<MessageFiller::Bytes> MessageFiller::model_v2(const FrameFacts& facts,
                                                     const Prediction& prediction) {
  auto message = begin_event(model_v2_, facts, facts.calibration_seen).initModelV2();
  const ModelOutputs& outputs = prediction.outputs;
  set_facts(message, facts);
  set_position(message.initPosition(), outputs);
  set_plan(message.initVelocity(), outputs, kPlanVelocity);
  set_plan(message.initAcceleration(), outputs, kPlanAcceleration);
  set_plan(message.initOrientation(), outputs, kPlanEuler);
  set_plan(message.initOrientationRate(), outputs, kPlanOrientationRate);
  set_roads(message, outputs);
  set_meta(message.initMeta(), prediction);
  set_action(message.initAction(), prediction.action);
  message.setConfidence(to_wire(prediction.confidence));
  if (outputs.has_sim_pose) {
    auto pose = message.initTemporalPose();
    set_three(pose.initTrans(3), pose.initTransStd(3), outputs.sim_pose, 0);
    set_three(pose.initRot(3), pose.initRotStd(3), outputs.sim_pose, 3);
  }
  if (!prediction.raw.empty()) {
    message.setRawPredictions(
        {reinterpret_cast<const capnp::byte*>(prediction.raw.data()), prediction.raw.size()});
  }
  return model_v2_.finish();
}

Result<MessageFiller::Bytes> MessageFiller::driving_model_data(const FrameFacts& facts,
                                                               const Prediction& prediction) {
  auto message =
      begin_event(driving_model_data_, facts, facts.calibration_seen).initDrivingModelData();
  const ModelOutputs& outputs = prediction.outputs;
  set_facts(message, facts);
  set_action(message.initAction(), prediction.action);
  set_lane_change(message.initMeta(), prediction);
  auto lines = message.initLaneLineMeta();
  lines.setLeftY(first_y(outputs, 1));
  lines.setRightY(first_y(outputs, 2));
  lines.setLeftProb(outputs.lane_lines_prob[3]);
  lines.setRightProb(outputs.lane_lines_prob[5]);
  auto path = message.initPath();
  set_doubles(path.initXCoefficients(kPathCoefficients), fit_path(outputs, 0).data());
  set_doubles(path.initYCoefficients(kPathCoefficients), fit_path(outputs, 1).data());
  set_doubles(path.initZCoefficients(kPathCoefficients), fit_path(outputs, 2).data());
  return driving_model_data_.finish();
}

Result<MessageFiller::Bytes> MessageFiller::camera_odometry(const FrameFacts& facts,
                                                            const Prediction& prediction) {
  const bool valid = facts.calibration_seen && facts.dropped_frames < 1;
  auto message = begin_event(camera_odometry_, facts, valid).initCameraOdometry();
  const ModelOutputs& outputs = prediction.outputs;
  set_facts(message, facts);
  set_three(message.initTrans(3), message.initTransStd(3), outputs.pose, 0);
  set_three(message.initRot(3), message.initRotStd(3), outputs.pose, 3);
  set_three(message.initWideFromDeviceEuler(3), message.initWideFromDeviceEulerStd(3),
            outputs.wide_from_device_euler, 0);
  set_three(message.initRoadTransformTrans(3), message.initRoadTransformTransStd(3),
            outputs.road_transform, 0);
  return camera_odometry_.finish();
}

Result<MessageFiller::Bytes> MessageFiller::invalid_model_v2(const FrameFacts& facts) {
  set_facts(begin_event(model_v2_, facts, false).initModelV2(), facts);
  return model_v2_.finish();
}

Result<MessageFiller::Bytes> MessageFiller::invalid_driving_model_data(const FrameFacts& facts) {
  set_facts(begin_event(driving_model_data_, facts, false).initDrivingModelData(), facts);
  return driving_model_data_.finish();
}

Result<MessageFiller::Bytes> MessageFiller::invalid_camera_odometry(const FrameFacts& facts) {
  set_facts(begin_event(camera_odometry_, facts, false).initCameraOdometry(), facts);
  return camera_odometry_.finish();
}

}  // namespace modeld::driving
