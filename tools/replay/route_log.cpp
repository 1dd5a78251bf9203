#include "tools/replay/route_log.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/inputs/topic_inputs.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/message_writer.h"
#include "ipc/schema/read_message.h"
#include "tools/replay/image_folder.h"

namespace modeld::replay {
namespace {

constexpr size_t kRewriteBytes = size_t{64} << 10;
constexpr size_t kAlignment = 8;

bool listened_to(std::string_view service) {
  const auto in = [&](std::span<const std::string_view> list) {
    return std::find(list.begin(), list.end(), service) != list.end();
  };
  if (in(driving_services()) || in(monitoring_services())) return true;
  return std::any_of(kCameras.begin(), kCameras.end(),
                     [&](Camera camera) { return names_of(camera).state_service == service; });
}

// The topic a kind of message comes on; both forms of driverMonitoringState share one.
std::string_view service_of(std::string_view kind) {
  return kind == "driverMonitoringStateDEPRECATED" ? "driverMonitoringState" : kind;
}

std::optional<std::pair<Camera, wire::FrameData::Reader>> camera_state(wire::Event::Reader event) {
  switch (event.which()) {
    case wire::Event::NARROW_ROAD_CAMERA_STATE:
      return std::pair(Camera::kNarrowRoad, event.getNarrowRoadCameraState());
    case wire::Event::WIDE_ROAD_CAMERA_STATE:
      return std::pair(Camera::kWideRoad, event.getWideRoadCameraState());
    case wire::Event::CABIN_CAMERA_STATE:
      return std::pair(Camera::kCabin, event.getCabinCameraState());
    default:
      return std::nullopt;
  }
}

EncodeEntry encode_entry(wire::EncodeIndex::Reader index, size_t segment) {
  return {index.getFrameId(),
          index.getSegmentNum(),
          index.getSegmentId(),
          bounded_time(index.getTimestampSof()),
          bounded_time(index.getTimestampEof()),
          segment};
}

void add(ipc::LogLosses& sum, const ipc::LogLosses& one) {
  sum.too_large += one.too_large;
  sum.too_many_segments += one.too_many_segments;
  sum.malformed += one.malformed;
  sum.skipped_bytes += one.skipped_bytes;
  sum.truncated_bytes += one.truncated_bytes;
}

}  // namespace

// Reads one log after the other into a RouteLog.
class LogScan {
 public:
  explicit LogScan(RouteLog& log) : log_(log), writer_(kRewriteBytes) {}

  Status read(const SegmentFiles& files, size_t segment) {
    MODELD_ASSIGN(const LogFile file, read_log_file(files.log));
    segment_ = segment;
    LogStatistics& statistics = log_.statistics_;
    ++statistics.files;
    statistics.packings[files.name] = file.packing;
    if (file.cut_short) ++statistics.cut_short;
    ipc::EventLog events(file.bytes);
    while (const auto message = events.next()) MODELD_TRY(take(*message));
    add(statistics.losses, events.losses());
    statistics.messages += events.messages();
    return {};
  }

 private:
  Status take(std::span<const std::byte> message) {
    Status kept;
    const Status read = ipc::read_event(reader_, message, [&](wire::Event::Reader event) {
      const std::string_view kind = ipc::event_kind(static_cast<uint16_t>(event.which()));
      if (kind == "unknown") {
        ++log_.statistics_.unknown;
        return;
      }
      const std::string_view service = service_of(kind);
      const bool wanted = listened_to(service);
      if (!wanted && !notable(event)) return;
      // Follows every pointer: what is broken anywhere is not used at all.
      (void)event.totalSize();
      if (wanted) {
        kept = keep(event, service, message);
      } else {
        note(event);
      }
    });
    if (!read.ok()) ++log_.statistics_.broken;
    return kept;
  }

  // Kinds that tell the replay something and are not delivered.
  static bool notable(wire::Event::Reader event) {
    return event.isInitData() || event.isCarParams() || event.isNarrowRoadEncodeIdx() ||
           event.isWideRoadEncodeIdx() || event.isCabinEncodeIdx() ||
           event.isQNarrowRoadEncodeIdx();
  }

  void note(wire::Event::Reader event) {
    const auto index = [&](Camera camera, wire::EncodeIndex::Reader entry) {
      log_.index_[index_of(camera)].push_back(encode_entry(entry, segment_));
    };
    switch (event.which()) {
      case wire::Event::INIT_DATA:
        log_.device_type_ = static_cast<uint16_t>(event.getInitData().getDeviceType());
        break;
      case wire::Event::CAR_PARAMS:
        if (!log_.actuator_delay_) {
          log_.actuator_delay_ = event.getCarParams().getLongitudinalActuatorDelay();
        }
        break;
      case wire::Event::NARROW_ROAD_ENCODE_IDX:
        index(Camera::kNarrowRoad, event.getNarrowRoadEncodeIdx());
        break;
      case wire::Event::WIDE_ROAD_ENCODE_IDX:
        index(Camera::kWideRoad, event.getWideRoadEncodeIdx());
        break;
      case wire::Event::CABIN_ENCODE_IDX:
        index(Camera::kCabin, event.getCabinEncodeIdx());
        break;
      case wire::Event::Q_NARROW_ROAD_ENCODE_IDX:
        log_.preview_index_.push_back(encode_entry(event.getQNarrowRoadEncodeIdx(), segment_));
        break;
      default:
        break;
    }
  }

  Status keep(wire::Event::Reader event, std::string_view service,
              std::span<const std::byte> message) {
    // Read before anything is kept: it may turn out to be broken here.
    std::optional<std::pair<Camera, CameraStateEntry>> state;
    if (const auto found = camera_state(event)) {
      const auto data = found->second;
      CameraStateEntry entry{data.getFrameId(), bounded_time(data.getTimestampSof()),
                             bounded_time(data.getTimestampEof()), segment_, log_.messages_.size()};
      if (entry.timestamp_sof == 0) {
        entry.timestamp_sof = entry.timestamp_eof - std::min(entry.timestamp_eof, kExposureNs);
      }
      state.emplace(found->first, entry);
    }
    const auto time = static_cast<Nanoseconds>(bounded_time(event.getLogMonoTime()));
    const bool no_type =
        event.isDeviceState() && log_.device_type_ != 0 &&
        event.getDeviceState().getDeviceType() == wire::InitData::DeviceType::UNKNOWN;
    if (no_type) {
      MODELD_ASSIGN(message, with_device_type(event));
    }
    if (log_.bytes_.size() + message.size() > kMaxKeptBytes) {
      return Error(ErrorCode::kExhausted, "the route's messages do not fit")
          .expecting("at most " + std::to_string(kMaxKeptBytes) + " bytes", "more");
    }
    log_.messages_.push_back({time, service, log_.bytes_.size(), message.size()});
    log_.bytes_.insert(log_.bytes_.end(), message.begin(), message.end());
    log_.bytes_.resize((log_.bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
    ++log_.statistics_.delivered;
    if (state) log_.states_[index_of(state->first)].push_back(state->second);
    return {};
  }

  // Logs from before deviceState said it (interoperability facts 8.4).
  Result<std::span<const std::byte>> with_device_type(wire::Event::Reader event) {
    capnp::MessageBuilder& builder = writer_.begin();
    builder.setRoot(event);
    builder.getRoot<wire::Event>().getDeviceState().setDeviceType(
        static_cast<wire::InitData::DeviceType>(log_.device_type_));
    return writer_.finish();
  }

  RouteLog& log_;
  ipc::MessageReader reader_;
  ipc::MessageWriter writer_;
  size_t segment_ = 0;
};

Result<RouteLog> RouteLog::load(const RouteFiles& files) {
  RouteLog log;
  LogScan scan(log);
  for (size_t i = 0; i < files.segments.size(); ++i) {
    if (files.segments[i].log.empty()) continue;
    MODELD_TRY(scan.read(files.segments[i], i));
  }
  return log;
}

}  // namespace modeld::replay
