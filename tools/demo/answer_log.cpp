#include "tools/demo/answer_log.h"

#include <capnp/dynamic.h>

#include <cmath>

#include "ipc/schema/health.capnp.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"

namespace modeld {
namespace {

enum Topic : size_t { kModelV2, kDrivingModelData, kCameraOdometry, kDriverStateV2 };
constexpr std::array<std::string_view, 6> kNames = {"modelV2",        "drivingModelData",
                                                    "cameraOdometry", "driverStateV2",
                                                    "modeldHealth",   "dmonitoringmodeldHealth"};
constexpr size_t kFirstHealth = 4;

// Every number of a message, whatever its shape.
bool all_finite(capnp::DynamicValue::Reader value) {
  switch (value.getType()) {
    case capnp::DynamicValue::FLOAT:
      return std::isfinite(value.as<double>());
    case capnp::DynamicValue::LIST:
      for (const auto element : value.as<capnp::DynamicList>()) {
        if (!all_finite(element)) return false;
      }
      return true;
    case capnp::DynamicValue::STRUCT: {
      const auto group = value.as<capnp::DynamicStruct>();
      for (const auto field : group.getSchema().getNonUnionFields()) {
        if (!all_finite(group.get(field))) return false;
      }
      KJ_IF_MAYBE (which, group.which()) return all_finite(group.get(*which));
      return true;
    }
    default:
      return true;
  }
}

bool event_is_finite(wire::Event::Reader event, uint32_t& frame_id) {
  if (event.isModelV2()) {
    frame_id = event.getModelV2().getFrameId();
    return all_finite(capnp::DynamicStruct::Reader(event.getModelV2()));
  }
  if (event.isDrivingModelData()) {
    frame_id = event.getDrivingModelData().getFrameId();
    return all_finite(capnp::DynamicStruct::Reader(event.getDrivingModelData()));
  }
  if (event.isCameraOdometry()) {
    frame_id = event.getCameraOdometry().getFrameId();
    return all_finite(capnp::DynamicStruct::Reader(event.getCameraOdometry()));
  }
  if (event.isDriverStateV2()) {
    frame_id = event.getDriverStateV2().getFrameId();
    return all_finite(capnp::DynamicStruct::Reader(event.getDriverStateV2()));
  }
  return true;
}

template <typename Enum>
std::string enumerant(Enum value) {
  KJ_IF_MAYBE (known, capnp::DynamicEnum(Enum(value)).getEnumerant()) {
    return known->getProto().getName().cStr();
  }
  return "unknown";
}

std::vector<std::pair<std::string, uint64_t>> counters(
    capnp::List<wire::Health::Counter>::Reader list) {
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const auto one : list) {
    if (one.getCount() != 0) found.emplace_back(one.getName().cStr(), one.getCount());
  }
  return found;
}

HeardHealth copy_health(wire::Health::Reader message) {
  HeardHealth health;
  health.heard = true;
  health.state = enumerant(message.getState());
  health.reason = enumerant(message.getReason());
  health.text = message.getReasonText().cStr();
  health.step = message.getPhase().cStr();
  health.received = message.getFrames().getReceived();
  health.published = message.getFrames().getPublished();
  health.valid = message.getFrames().getValid();
  health.deadline_ms = message.getDeadlineMs();
  health.deadline_misses = message.getDeadlineMisses();
  health.drops = counters(message.getDrops());
  health.invalids = counters(message.getInvalids());
  for (const auto phase : message.getPhases()) {
    health.phases.push_back({phase.getName().cStr(), phase.getCount(), phase.getP50Ms(),
                             phase.getP99Ms(), phase.getP999Ms(), phase.getMaxMs()});
  }
  health.fallback = enumerant(message.getFallback());
  health.fallback_artifact = message.getFallbackArtifact().cStr();
  health.fallback_warm_hz = message.getFallbackWarmHz();
  health.fallback_cpu_share = message.getFallbackCpuShare();
  health.artifact_digest = message.getArtifact().getDigest().cStr();
  health.executor_restarts = message.getExecutorRestarts();
  health.streams_connected = message.getStreams().size() != 0;
  for (const auto stream : message.getStreams()) {
    health.streams_connected = health.streams_connected && stream.getConnected();
  }
  return health;
}

}  // namespace

AnswerLog::AnswerLog(const Clock& clock, ipc::Transport& transport)
    : clock_(clock), transport_(transport) {
  driving_.name = "modeld";
  driving_.companions_per_answer = 2;
  monitoring_.name = "dmonitoringmodeld";
}

Result<std::unique_ptr<AnswerLog>> AnswerLog::create(const Clock& clock,
                                                     ipc::Transport& transport) {
  static_assert(kNames.size() == kTopics);
  std::unique_ptr<AnswerLog> log(new AnswerLog(clock, transport));
  for (size_t i = 0; i < kTopics; ++i) {
    MODELD_ASSIGN(log->subscribers_[i],
                  transport.subscriber(kNames[i], ipc::SubscribeMode::kQueue));
  }
  return log;
}

void AnswerLog::take_event(HeardDaemon& daemon, size_t topic, std::span<const std::byte> message) {
  uint32_t frame_id = 0;
  bool valid = false;
  bool finite = true;
  const Status read = ipc::read_event(reader_, message, [&](wire::Event::Reader event) {
    finite = event_is_finite(event, frame_id);
    valid = event.getValid();
  });
  if (!read.ok()) {
    ++daemon.undecodable;
    return;
  }
  if (!finite) {
    if (daemon.not_finite++ == 0) {
      daemon.first_not_finite = std::string(kNames[topic]) + ", frame " + std::to_string(frame_id);
    }
  }
  if (topic == kModelV2 || topic == kDriverStateV2) {
    daemon.answers[frame_id] = {clock_.monotonic(), valid};
  } else {
    ++daemon.companions;
  }
  if (topic == kModelV2 && valid) last_model_.assign(message.begin(), message.end());
}

void AnswerLog::take_health(HeardDaemon& daemon, std::span<const std::byte> message) {
  const Status read = ipc::read_message<wire::Health>(
      reader_, message, [&](wire::Health::Reader health) { daemon.health = copy_health(health); });
  if (!read.ok()) ++daemon.undecodable;
}

void AnswerLog::take(size_t topic, std::span<const std::byte> message) {
  const bool monitoring = topic == kDriverStateV2 || topic == kFirstHealth + 1;
  HeardDaemon& daemon = monitoring ? monitoring_ : driving_;
  if (topic >= kFirstHealth) {
    take_health(daemon, message);
  } else {
    take_event(daemon, topic, message);
  }
}

Status AnswerLog::listen(Deadline deadline) {
  std::array<ipc::Subscriber*, kTopics> all{};
  for (size_t i = 0; i < kTopics; ++i) all[i] = subscribers_[i].get();
  while (!deadline.passed(clock_)) {
    MODELD_ASSIGN(const bool some, transport_.wait(all, deadline));
    if (!some) return {};
    for (size_t i = 0; i < kTopics; ++i) {
      while (true) {
        MODELD_ASSIGN(const auto message, subscribers_[i]->receive());
        if (!message) break;
        take(i, *message);
      }
    }
  }
  return {};
}

}  // namespace modeld
