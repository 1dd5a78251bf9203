#include "tools/replay/replayer.h"

#include <algorithm>
#include <utility>

namespace modeld::replay {
namespace {

constexpr float kLargestActuatorDelay = 10.0f;  // s; as read_car_params()

bool any_wants(const std::vector<ReplayModel>& models, Camera camera) {
  return std::any_of(models.begin(), models.end(), [&](const ReplayModel& each) {
    return wanted_size(each.model.contract, camera).has_value();
  });
}

}  // namespace

Result<std::unique_ptr<Replayer>> Replayer::create(const RouteFiles& files, const RouteLog& log,
                                                   std::vector<ReplayModel> models,
                                                   ReplayOptions options, MessageSink sink) {
  std::unique_ptr<Replayer> replayer(new Replayer(files, log, std::move(options)));
  MODELD_TRY(replayer->prepare_cameras(models));
  MODELD_TRY(replayer->prepare_times());
  replayer->actuator_delay_ =
      replayer->options_.actuator_delay.value_or(log.actuator_delay().value_or(0.0f));
  // Written so that NaN fails.
  if (!(replayer->actuator_delay_ >= 0 && replayer->actuator_delay_ <= kLargestActuatorDelay)) {
    return Error(ErrorCode::kCorrupt, "longitudinalActuatorDelay is not a usable time")
        .expecting("0 to 10 s", std::to_string(replayer->actuator_delay_) + " s")
        .in("carParams");
  }
  PerCamera<FrameBuffers*> buffers{};
  for (const Camera camera : kCameras) {
    buffers[index_of(camera)] = replayer->buffers_[index_of(camera)].get();
  }
  for (ReplayModel& model : models) {
    MODELD_ASSIGN(auto player,
                  RolePlayer::create(replayer->clock_, replayer->transport_, std::move(model),
                                     buffers, replayer->actuator_delay_, sink));
    const bool twice = std::any_of(
        replayer->players_.begin(), replayer->players_.end(),
        [&](const auto& other) { return other->report().role == player->report().role; });
    if (twice) {
      return Error(ErrorCode::kInvalidArgument, "two models of one role")
          .expecting("one of each", player->report().role + " twice");
    }
    replayer->players_.push_back(std::move(player));
  }
  return replayer;
}

Status Replayer::prepare_cameras(const std::vector<ReplayModel>& models) {
  for (const Camera camera : kCameras) {
    const size_t at = index_of(camera);
    if (!any_wants(models, camera)) continue;
    MODELD_ASSIGN(frames_[at], list_frames(camera, files_, log_));
    if (frames_[at].frames.empty()) continue;
    reels_[at] = std::make_unique<PictureReel>(camera, files_);
    MODELD_ASSIGN(FrameSize size, reels_[at]->first_size());
    const bool preview = camera == Camera::kNarrowRoad &&
                         std::any_of(files_.segments.begin(), files_.segments.end(),
                                     [](const SegmentFiles& each) { return each.preview; });
    for (const ReplayModel& each : models) {
      const auto wanted = wanted_size(each.model.contract, camera);
      if (preview && wanted) size = *wanted;
    }
    MODELD_ASSIGN(const Nv12Layout layout, Nv12Layout::openpilot(size.width, size.height));
    buffers_[at] = std::make_unique<FrameBuffers>(layout);
    scale_[at] = preview;
  }
  timeline_ = make_timeline(log_, frames_);
  return {};
}

Status Replayer::prepare_times() {
  const auto first = std::find_if(timeline_.begin(), timeline_.end(),
                                  [](const TimelineEntry& entry) { return entry.is_frame; });
  if (first == timeline_.end()) {
    return Error(ErrorCode::kNotFound, "the route has no frame for these models")
        .expecting("pictures, and messages or a list that say when they were taken", "none");
  }
  begin_ = first->time + static_cast<Nanoseconds>(options_.start * kSecond);
  end_ = timeline_.back().time;
  if (options_.duration > 0) {
    // The frame at start + duration is not part of it.
    end_ = std::min(end_, begin_ + static_cast<Nanoseconds>(options_.duration * kSecond) - 1);
  }
  if (begin_ > timeline_.back().time) {
    return Error(ErrorCode::kInvalidArgument, "--start lies behind the end of the route")
        .expecting(
            "less than " +
                std::to_string(static_cast<double>(timeline_.back().time - first->time) / kSecond) +
                " s",
            std::to_string(options_.start) + " s");
  }
  return {};
}

Status Replayer::deliver(const LoggedMessage& message) {
  auto found = publishers_.find(message.service);
  if (found == publishers_.end()) {
    MODELD_ASSIGN(auto publisher, transport_.publisher(message.service));
    found = publishers_.emplace(std::string(message.service), std::move(publisher)).first;
  }
  return found->second->send(log_.bytes(message));
}

Status Replayer::show(const TimelineEntry& entry) {
  const size_t at = index_of(entry.camera);
  const RouteFrame& frame = frames_[at].frames[entry.index];
  const auto buffer = buffers_[at]->take();
  MODELD_ASSIGN(const auto missing,
                reels_[at]->read(frame, buffers_[at]->layout(), scale_[at], buffer->writable()));
  for (const auto& player : players_) {
    if (!player->uses(entry.camera)) continue;
    if (missing) {
      player->miss(entry.camera, *missing);
      continue;
    }
    ipc::FrameInfo info;
    info.frame_id = frame.frame_id;
    info.timestamp_sof_ns = frame.timestamp_sof;
    info.timestamp_eof_ns = frame.timestamp_eof;
    MODELD_TRY(player->show(entry.camera, info, buffer));
  }
  auto& shown = shown_[at];
  if (!shown) shown.emplace(frame.frame_id, frame.frame_id);
  shown->first = std::min(shown->first, frame.frame_id);
  shown->second = std::max(shown->second, frame.frame_id);
  return {};
}

Status Replayer::play(const TimelineEntry& entry) {
  MODELD_TRY(pacer_.wait_for(entry.time));
  // Time never goes back, and 0 would mean "never".
  clock_.set(std::max({clock_.monotonic(), entry.time, Nanoseconds{1}}));
  return entry.is_frame ? show(entry) : deliver(log_.messages()[entry.index]);
}

Result<ReplayReport> Replayer::run() {
  pacer_.begin(begin_);
  clock_.set(std::max(timeline_.front().time, Nanoseconds{1}));
  const double whole = static_cast<double>(std::max<Nanoseconds>(end_ - begin_, 1));
  for (const TimelineEntry& entry : timeline_) {
    if (entry.time > end_) break;
    // What happened before the start is known to the daemons, as if they had run since.
    if (entry.is_frame && entry.time < begin_) continue;
    const Status played = play(entry);
    if (!played.ok()) {
      return Error(played.error())
          .in("at " + std::to_string(static_cast<double>(entry.time - begin_) / kSecond) + " s");
    }
    options_.progress(std::max(0.0, static_cast<double>(entry.time - begin_) / whole));
  }
  for (const auto& player : players_) player->finish();
  return make_report();
}

ReplayReport Replayer::make_report() const {
  ReplayReport report;
  for (const auto& player : players_) report.roles.push_back(player->report());
  for (const Camera camera : kCameras) {
    const size_t at = index_of(camera);
    if (!buffers_[at]) continue;
    CameraReport one;
    one.camera = names_of(camera).name;
    one.listed = frames_[at].frames.size();
    one.repeated = frames_[at].repeated;
    one.size = {buffers_[at]->layout().width, buffers_[at]->layout().height};
    one.notes = frames_[at].notes;
    one.notes.insert(one.notes.end(), reels_[at]->notes().begin(), reels_[at]->notes().end());
    report.cameras.push_back(std::move(one));
  }
  report.log = log_.statistics();
  report.actuator_delay = actuator_delay_;
  report.actuator_delay_known = options_.actuator_delay || log_.actuator_delay();
  report.first = begin_;
  report.last = clock_.monotonic();
  const auto& narrow = shown_[index_of(Camera::kNarrowRoad)];
  report.road_ids = narrow ? narrow : shown_[index_of(Camera::kWideRoad)];
  report.cabin_ids = shown_[index_of(Camera::kCabin)];
  return report;
}

}  // namespace modeld::replay
