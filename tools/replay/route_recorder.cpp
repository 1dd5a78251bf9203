#include "tools/replay/route_recorder.h"

#include <capnp/message.h>

#include <chrono>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "daemon/inputs/car_params.h"
#include "ipc/frames/vision_client.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"
#include "runtime/base/file.h"

namespace modeld::replay {
namespace {

constexpr Nanoseconds kPoll = 5 * kMillisecond;
constexpr std::string_view kLockName = "rlog.lock";
constexpr size_t kMessageBytes = size_t{64} << 10;

uint64_t wall_time() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

wire::EncodeIndex::Builder index_of_kind(wire::Event::Builder event, Camera camera) {
  switch (camera) {
    case Camera::kWideRoad:
      return event.initWideRoadEncodeIdx();
    case Camera::kCabin:
      return event.initCabinEncodeIdx();
    case Camera::kNarrowRoad:
      break;
  }
  return event.initNarrowRoadEncodeIdx();
}

}  // namespace

RouteRecorder::RouteRecorder(const Clock& clock, ipc::Transport& transport,
                             const RecordOptions& options)
    : clock_(clock),
      transport_(transport),
      options_(options),
      log_([this](std::span<const std::byte> message) { return file_->add(message); }),
      writer_(kMessageBytes) {}

Result<std::unique_ptr<RouteRecorder>> RouteRecorder::create(const Clock& clock,
                                                             ipc::Transport& transport,
                                                             const RecordOptions& options) {
  std::unique_ptr<RouteRecorder> recorder(new RouteRecorder(clock, transport, options));
  MODELD_TRY(recorder->open_inputs());
  MODELD_TRY(recorder->begin_segment());
  MODELD_TRY(recorder->add_car_params());
  return recorder;
}

Status RouteRecorder::open_inputs() {
  for (const ipc::Service& service : ipc::services()) {
    if (!service.logged) continue;
    MODELD_ASSIGN(auto topic, transport_.subscriber(ipc::wire_name(service, options_.names),
                                                    ipc::SubscribeMode::kQueue));
    topics_.push_back(std::move(topic));
  }
  for (const Camera camera : kCameras) {
    ipc::VisionClientOptions client;
    client.socket_dir = options_.socket_dir;
    client.prefix = options_.prefix;
    client.server = options_.server;
    client.stream_type = names_of(camera).stream_type;
    client.conflate = false;
    Stream stream;
    stream.camera = camera;
    MODELD_ASSIGN(stream.source, ipc::VisionClient::create(clock_, transport_, std::move(client)));
    streams_.push_back(std::move(stream));
  }
  return {};
}

std::filesystem::path RouteRecorder::segment_folder() const {
  return options_.folder / (options_.route + "--" + std::to_string(segment_));
}

std::filesystem::path RouteRecorder::video_path(const Stream& stream) const {
  return segment_folder() /
         (std::string(names_of(stream.camera).file) + (options_.hevc ? ".hevc" : ".mkv"));
}

Status RouteRecorder::begin_segment() {
  std::error_code failure;
  std::filesystem::create_directories(segment_folder(), failure);
  if (failure) return errno_error("making " + segment_folder().string(), failure.value());
  segment_begin_ = flushed_ = clock_.monotonic();
  MODELD_TRY(write_file_atomically(segment_folder() / kLockName, {}));
  MODELD_ASSIGN(file_, PackedLog::create(segment_folder() / "rlog.zst"));
  ++report_.segments;
  for (Stream& stream : streams_) {
    stream.pictures = 0;
    if (stream.recorder) stream.recorder->open(video_path(stream));
  }
  return log_.begin({options_.version, 0, wall_time()}, segment_begin_, segment_ == 0);
}

Status RouteRecorder::end_segment(bool last) {
  MODELD_TRY(log_.end(clock_.monotonic(), last));
  MODELD_TRY(file_->finish());
  std::error_code failure;
  std::filesystem::remove(segment_folder() / kLockName, failure);
  if (failure) return errno_error("removing " + std::string(kLockName), failure.value());
  return {};
}

Status RouteRecorder::flush_log() {
  if (clock_.monotonic() - flushed_ < options_.log_flush) return {};
  flushed_ = clock_.monotonic();
  return file_->flush();
}

Status RouteRecorder::add_car_params() {
  if (options_.params_dir.empty()) return {};
  // Checked as the daemon checks it, then copied whole.
  MODELD_ASSIGN(const auto values, read_car_params(options_.params_dir));
  if (!values) {
    return Error(ErrorCode::kNotFound, "no CarParams in " + options_.params_dir.string());
  }
  MODELD_ASSIGN(const auto bytes, read_file(options_.params_dir / "CarParams", kMaxCarParamsBytes));
  ipc::MessageReader reader;
  MODELD_TRY(ipc::read_message<wire::CarParams>(reader, bytes, [&](wire::CarParams::Reader params) {
    auto event = writer_.begin().initRoot<wire::Event>();
    event.setLogMonoTime(static_cast<uint64_t>(clock_.monotonic()));
    event.setValid(true);
    event.setCarParams(params);
  }));
  MODELD_ASSIGN(const auto message, writer_.finish());
  return log_.add(message);
}

Status RouteRecorder::take_messages() {
  for (const auto& topic : topics_) {
    while (true) {
      MODELD_ASSIGN(const auto message, topic->receive());
      if (!message) break;
      ++report_.messages;
      MODELD_TRY(log_.add(*message));
    }
  }
  return {};
}

Status RouteRecorder::add_index(const Stream& stream, const ipc::Frame& frame) {
  auto event = writer_.begin().initRoot<wire::Event>();
  event.setLogMonoTime(static_cast<uint64_t>(clock_.monotonic()));
  event.setValid(true);
  auto index = index_of_kind(event, stream.camera);
  index.setFrameId(frame.info.frame_id);
  index.setType(options_.hevc ? wire::EncodeIndex::Type::FULL_H_E_V_C
                              : wire::EncodeIndex::Type::BIG_BOX_LOSSLESS);
  index.setEncodeId(stream.encode_id);
  index.setSegmentNum(segment_);
  index.setSegmentId(stream.pictures);
  index.setSegmentIdEncode(stream.pictures);
  index.setTimestampSof(frame.info.timestamp_sof_ns);
  index.setTimestampEof(frame.info.timestamp_eof_ns);
  MODELD_ASSIGN(const auto message, writer_.finish());
  return log_.add(message);
}

Status RouteRecorder::record(Stream& stream, const ipc::Frame& frame) {
  RecordReport::OneCamera& count = report_.cameras[index_of(stream.camera)];
  if (!stream.recorder) {
    stream.layout = frame.layout();
    stream.recorder =
        std::make_unique<CameraRecorder>(stream.layout, options_.hevc, options_.queue);
    stream.recorder->open(video_path(stream));
  }
  if (frame.layout() != stream.layout) {
    ++count.resized;
    return {};
  }
  std::vector<std::byte>* const buffer = stream.recorder->free_buffer();
  if (buffer == nullptr) {
    ++count.behind;
    return {};
  }
  if (stream.source->is_torn(frame)) {
    ++count.torn;
    return {};
  }
  std::memcpy(buffer->data(), frame.pixels().data(), buffer->size());
  if (stream.source->is_torn(frame)) {
    ++count.torn;
    return {};
  }
  stream.recorder->submit();
  MODELD_TRY(add_index(stream, frame));
  ++stream.pictures;
  ++stream.encode_id;
  ++count.recorded;
  return {};
}

Status RouteRecorder::take_frames(Stream& stream) {
  while (true) {
    MODELD_ASSIGN(const auto frame, stream.source->receive(Deadline{clock_.monotonic()}));
    if (!frame) break;
    MODELD_TRY(record(stream, *frame));
  }
  return stream.recorder ? stream.recorder->status() : Status();
}

Status RouteRecorder::run(const std::function<bool()>& stop) {
  while (!stop()) {
    MODELD_TRY(take_messages());
    for (Stream& stream : streams_) MODELD_TRY(take_frames(stream));
    MODELD_TRY(flush_log());
    if (clock_.monotonic() - segment_begin_ >= options_.segment) {
      MODELD_TRY(end_segment(false));
      ++segment_;
      MODELD_TRY(begin_segment());
    }
    MODELD_TRY(transport_.wait({}, Deadline::after(clock_, kPoll)));
  }
  // What was sent before the stop and not yet looked at.
  for (Stream& stream : streams_) MODELD_TRY(take_frames(stream));
  MODELD_TRY(take_messages());
  MODELD_TRY(end_segment(true));
  for (Stream& stream : streams_) {
    if (stream.recorder) MODELD_TRY(stream.recorder->finish());
  }
  return {};
}

}  // namespace modeld::replay
