#include "tools/replay/route_feed.h"

#include <algorithm>

#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"
#include "tools/replay/pacer.h"

namespace modeld::replay {
namespace {

constexpr size_t kMessageBytes = size_t{64} << 10;

uint64_t moved(uint64_t time, Nanoseconds by) {
  return static_cast<uint64_t>(static_cast<Nanoseconds>(time) + by);
}

void move(wire::FrameData::Builder state, Nanoseconds by) {
  if (state.getTimestampSof() != 0) state.setTimestampSof(moved(state.getTimestampSof(), by));
  state.setTimestampEof(moved(state.getTimestampEof(), by));
}

}  // namespace

RouteFeed::RouteFeed(const Clock& clock, ipc::Transport& transport, const RouteFiles& files,
                     const RouteLog& log, const RouteFeedOptions& options)
    : clock_(clock),
      transport_(transport),
      files_(files),
      log_(log),
      options_(options),
      writer_(kMessageBytes) {}

Result<std::unique_ptr<RouteFeed>> RouteFeed::create(const Clock& clock, ipc::Transport& transport,
                                                     const RouteFiles& files, const RouteLog& log,
                                                     const RouteFeedOptions& options) {
  std::unique_ptr<RouteFeed> feed(new RouteFeed(clock, transport, files, log, options));
  MODELD_TRY(feed->open_cameras());
  return feed;
}

Status RouteFeed::open_cameras() {
  ipc::VisionServerOptions server;
  server.socket_dir = options_.socket_dir;
  server.prefix = options_.prefix;
  server.server = options_.server;
  MODELD_ASSIGN(server_, ipc::VisionServer::create(transport_, server));
  for (const Camera camera : kCameras) {
    const size_t at = index_of(camera);
    MODELD_ASSIGN(frames_[at], list_frames(camera, files_, log_));
    if (frames_[at].frames.empty()) continue;
    reels_[at] = std::make_unique<PictureReel>(camera, files_);
    MODELD_ASSIGN(const FrameSize size, reels_[at]->first_size());
    MODELD_ASSIGN(layouts_[at], Nv12Layout::openpilot(size.width, size.height));
    MODELD_TRY(server_->add_stream(names_of(camera).stream_type, layouts_[at], options_.buffers));
  }
  timeline_ = make_timeline(log_, frames_);
  const bool any = std::any_of(timeline_.begin(), timeline_.end(),
                               [](const TimelineEntry& entry) { return entry.is_frame; });
  if (!any) {
    return Error(ErrorCode::kNotFound, "the route has no frame")
        .expecting("pictures, and messages or a list that say when they were taken", "none");
  }
  if (options_.messages) {
    for (const LoggedMessage& message : log_.messages()) {
      if (publishers_.contains(message.service)) continue;
      const std::string_view topic =
          ipc::wire_name(*ipc::find_service(message.service), options_.names);
      MODELD_ASSIGN(auto publisher, transport_.publisher(topic));
      publishers_.emplace(std::string(message.service), std::move(publisher));
    }
  }
  return server_->start();
}

std::optional<FrameSize> RouteFeed::size(Camera camera) const {
  if (!reels_[index_of(camera)]) return std::nullopt;
  return FrameSize{layouts_[index_of(camera)].width, layouts_[index_of(camera)].height};
}

Status RouteFeed::show(Camera camera, const RouteFrame& frame) {
  const size_t at = index_of(camera);
  const uint32_t type = names_of(camera).stream_type;
  MODELD_ASSIGN(const auto why,
                reels_[at]->read(frame, layouts_[at], false, server_->next_buffer(type)));
  if (why) {
    ++missing_[at];
    return {};
  }
  ++shown_[at];
  return server_->publish(type, frame.frame_id, moved(frame.timestamp_sof, frame_shift_),
                          moved(frame.timestamp_eof, frame_shift_));
}

Status RouteFeed::send(const LoggedMessage& message) {
  if (!options_.messages) return {};
  const Status read = ipc::read_event(reader_, log_.bytes(message), [&](wire::Event::Reader event) {
    capnp::MessageBuilder& builder = writer_.begin();
    builder.setRoot(event);
    auto copy = builder.getRoot<wire::Event>();
    copy.setLogMonoTime(moved(copy.getLogMonoTime(), message_shift_));
    if (copy.isNarrowRoadCameraState()) move(copy.getNarrowRoadCameraState(), frame_shift_);
    if (copy.isWideRoadCameraState()) move(copy.getWideRoadCameraState(), frame_shift_);
    if (copy.isCabinCameraState()) move(copy.getCabinCameraState(), frame_shift_);
  });
  if (!read.ok()) return {};  // broken inside: a logger would have sent it no better
  MODELD_ASSIGN(const auto bytes, writer_.finish());
  return publishers_.find(message.service)->second->send(bytes);
}

Status RouteFeed::run(const std::function<bool()>& stop) {
  const auto first = std::find_if(timeline_.begin(), timeline_.end(),
                                  [](const TimelineEntry& entry) { return entry.is_frame; });
  const RouteFrame& frame = frames_[index_of(first->camera)].frames[first->index];
  message_shift_ = clock_.monotonic() - first->time;
  frame_shift_ = clock_.boottime() - static_cast<Nanoseconds>(frame.timestamp_eof);
  Pacer pacer(1.0, stop);
  pacer.begin(first->time);
  for (const TimelineEntry& entry : timeline_) {
    const Status due = pacer.wait_for(entry.time);
    if (!due.ok()) return {};  // asked to stop
    if (entry.is_frame) {
      MODELD_TRY(show(entry.camera, frames_[index_of(entry.camera)].frames[entry.index]));
    } else {
      MODELD_TRY(send(log_.messages()[entry.index]));
    }
  }
  return {};
}

}  // namespace modeld::replay
