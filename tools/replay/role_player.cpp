#include "tools/replay/role_player.h"

#include <algorithm>
#include <utility>

#include "daemon/driving/driving_loop.h"
#include "daemon/monitoring/monitoring_loop.h"
#include "tools/replay/replay_device.h"

namespace modeld::replay {
namespace {

HealthLimits limits() {
  return HealthLimits{};
}

class DrivingPlayer final : public RolePlayer {
 public:
  DrivingPlayer(const ManualClock& clock, ReplayModel model, MessageSink sink)
      : RolePlayer(clock, std::move(model), std::move(sink)) {}

  Status start(ipc::Transport& transport, const PerCamera<FrameBuffers*>& cameras,
               float actuator_delay) {
    const FrameBuffers* const narrow = cameras[index_of(Camera::kNarrowRoad)];
    const FrameBuffers* const wide = cameras[index_of(Camera::kWideRoad)];
    if (narrow == nullptr && wide == nullptr) {
      return Error(ErrorCode::kNotFound, "the route has no road camera")
          .expecting("pictures of fcamera, ecamera or qcamera", "none");
    }
    driving::LoopSettings settings;
    settings.longitudinal_actuator_delay = actuator_delay;
    settings.streams = narrow == nullptr ? RoadStreams::kWideOnly
                       : wide == nullptr ? RoadStreams::kNarrowOnly
                                         : RoadStreams::kNarrowAndWide;
    main_ = narrow == nullptr ? Camera::kWideRoad : Camera::kNarrowRoad;
    auto main = add_stream(main_, (narrow == nullptr ? wide : narrow)->layout(), true);
    std::unique_ptr<ipc::FrameStream> extra;
    if (settings.streams == RoadStreams::kNarrowAndWide) {
      extra = add_stream(Camera::kWideRoad, wide->layout(), false);
    }
    MODELD_ASSIGN(auto loop,
                  driving::DrivingLoop::create({clock_, transport, engine_, health_}, settings,
                                               std::move(main), std::move(extra)));
    detail_ = [&each = *loop]() -> const std::string& { return each.detail(); };
    loop_ = std::move(loop);
    return listen(transport, {"modelV2", "drivingModelData", "cameraOdometry"});
  }
};

class MonitoringPlayer final : public RolePlayer {
 public:
  MonitoringPlayer(const ManualClock& clock, ReplayModel model, MessageSink sink)
      : RolePlayer(clock, std::move(model), std::move(sink)) {}

  Status start(ipc::Transport& transport, const PerCamera<FrameBuffers*>& cameras,
               DriverSeat driver_seat) {
    const FrameBuffers* const cabin = cameras[index_of(Camera::kCabin)];
    if (cabin == nullptr) {
      return Error(ErrorCode::kNotFound, "the route has no cabin camera")
          .expecting("pictures of dcamera", "none");
    }
    main_ = Camera::kCabin;
    auto stream = add_stream(main_, cabin->layout(), true);
    monitoring::LoopSettings settings;
    settings.driver_seat = driver_seat;
    MODELD_ASSIGN(auto loop,
                  monitoring::MonitoringLoop::create({clock_, transport, engine_, health_},
                                                     settings, std::move(stream)));
    detail_ = [&each = *loop]() -> const std::string& { return each.detail(); };
    loop_ = std::move(loop);
    return listen(transport, {"driverStateV2"});
  }
};

}  // namespace

std::optional<FrameSize> wanted_size(const Contract& contract, Camera camera) {
  for (const InputContract& input : contract.inputs) {
    if (input.role != InputRole::kFrame || input.source != names_of(camera).name) continue;
    const CameraContract* const found = contract.find_camera(input.name);
    if (found != nullptr && !found->sizes.empty()) return found->sizes.front();
  }
  return std::nullopt;
}

RolePlayer::RolePlayer(const ManualClock& clock, ReplayModel model, MessageSink sink)
    : clock_(clock),
      engine_(std::move(model.model), std::make_unique<ReplayDevice>(std::move(model.device)),
              CaptureOptions{{}, model.threads}),
      health_("replay", "", limits(), clock),
      sink_(std::move(sink)) {
  report_.role = to_string(engine_.contract().role);
  report_.model = engine_.contract().name;
  report_.artifact = std::move(model.artifact);
  health_.state.begin_self_test(clock.monotonic());
  health_.state.self_test_passed(clock.monotonic());
}

Result<std::unique_ptr<RolePlayer>> RolePlayer::create(const ManualClock& clock,
                                                       ipc::Transport& transport, ReplayModel model,
                                                       const PerCamera<FrameBuffers*>& cameras,
                                                       float actuator_delay, MessageSink sink) {
  switch (model.model.contract.role) {
    case ModelRole::kDriving: {
      auto player = std::make_unique<DrivingPlayer>(clock, std::move(model), std::move(sink));
      MODELD_TRY(player->start(transport, cameras, actuator_delay));
      return std::unique_ptr<RolePlayer>(std::move(player));
    }
    case ModelRole::kMonitoring: {
      const DriverSeat driver_seat = model.driver_seat;
      auto player = std::make_unique<MonitoringPlayer>(clock, std::move(model), std::move(sink));
      MODELD_TRY(player->start(transport, cameras, driver_seat));
      return std::unique_ptr<RolePlayer>(std::move(player));
    }
    case ModelRole::kOther:
      break;
  }
  return Error(ErrorCode::kRefused, "model of a role that no daemon plays")
      .expecting("driving or monitoring", std::string(to_string(model.model.contract.role)));
}

std::unique_ptr<ipc::FrameStream> RolePlayer::add_stream(Camera camera, const Nv12Layout& layout,
                                                         bool conflate) {
  auto stream = std::make_unique<ReplayStream>(clock_, index_of(camera) + 1, layout, conflate);
  streams_[index_of(camera)] = stream.get();
  return stream;
}

Status RolePlayer::listen(ipc::Transport& transport,
                          std::initializer_list<std::string_view> topics) {
  for (const std::string_view topic : topics) {
    MODELD_ASSIGN(auto answers, transport.subscriber(topic, ipc::SubscribeMode::kQueue));
    answers_.push_back(std::move(answers));
  }
  return {};
}

Status RolePlayer::forward() {
  for (const auto& topic : answers_) {
    while (true) {
      MODELD_ASSIGN(const auto message, topic->receive());
      if (!message) break;
      MODELD_TRY(sink_(*message));
    }
  }
  return {};
}

Status RolePlayer::run() {
  while (true) {
    const FrameCounters before = health_.frames;
    const Nanoseconds begin = Clock::real().monotonic();
    MODELD_TRY(loop_->run_once(Deadline{clock_.monotonic()}));
    const Nanoseconds took = Clock::real().monotonic() - begin;
    if (health_.frames.published != before.published) {
      report_.latency.push_back(took);
      const bool valid = health_.frames.valid != before.valid;
      if (!valid && report_.first_invalid.empty()) report_.first_invalid = detail_();
    }
    MODELD_TRY(forward());
    const bool ended = health_.frames.published == before.published &&
                       health_.frames.dropped_total() == before.dropped_total();
    if (ended) return {};
  }
}

Status RolePlayer::show(Camera camera, const ipc::FrameInfo& info,
                        std::shared_ptr<FrameBuffers::Buffer> buffer) {
  if (camera == main_) ++report_.frames;
  streams_[index_of(camera)]->show(info, std::move(buffer));
  return run();
}

void RolePlayer::miss(Camera camera, const std::string& reason) {
  if (camera != main_) {
    ++report_.wide_without_picture;
    return;
  }
  ++report_.frames;
  ++report_.dropped[reason];
}

void RolePlayer::finish() {
  loop_->stop();
  const FrameCounters& frames = health_.frames;
  report_.published = frames.published;
  report_.invalid = frames.published - frames.valid;
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (frames.drops[i] == 0) continue;
    report_.dropped[std::string(to_string(static_cast<DropReason>(i)))] += frames.drops[i];
  }
  for (size_t i = 0; i < kInvalidReasonCount; ++i) {
    if (frames.invalids[i] == 0) continue;
    report_.invalid_reasons[std::string(to_string(static_cast<InvalidReason>(i)))] =
        frames.invalids[i];
  }
  const ReplayStream& main = *streams_[index_of(main_)];
  // As the daemon would: newer frames came while one waited for its partner.
  const uint64_t passed_over = main.state().skipped + main.waiting();
  if (passed_over != 0) report_.dropped["conflated"] += passed_over;
  report_.pairs_far_apart = frames.pairs_far_apart;
  report_.wide_passed_over = frames.extra_passed_over;
}

}  // namespace modeld::replay
