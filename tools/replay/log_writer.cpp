#include "tools/replay/log_writer.h"

#include <capnp/message.h>

#include <utility>

#include "ipc/schema/log.capnp.h"
#include "runtime/base/file.h"
#include "tools/replay/log_file.h"

namespace modeld::replay {
namespace {

constexpr size_t kMessageBytes = 4096;

wire::Event::Builder start(ipc::MessageWriter& writer, Nanoseconds time) {
  auto event = writer.begin().initRoot<wire::Event>();
  event.setLogMonoTime(static_cast<uint64_t>(time));
  event.setValid(true);
  return event;
}

}  // namespace

LogWriter::LogWriter() : writer_(kMessageBytes) {
  sink_ = [this](std::span<const std::byte> message) -> Status {
    log_.insert(log_.end(), message.begin(), message.end());
    return {};
  };
}

LogWriter::LogWriter(LogSink sink) : writer_(kMessageBytes), sink_(std::move(sink)) {}

Status LogWriter::begin(const LogOrigin& origin, Nanoseconds time, bool first_of_route) {
  log_.clear();
  written_ = 0;
  auto data = start(writer_, time).initInitData();
  data.setVersion(origin.version);
  data.setDeviceType(static_cast<wire::InitData::DeviceType>(origin.device_type));
  data.setWallTimeNanos(origin.wall_time_ns);
  MODELD_ASSIGN(const auto init, writer_.finish());
  MODELD_TRY(add(init));
  start(writer_, time)
      .initSentinel()
      .setType(first_of_route ? wire::Sentinel::SentinelType::START_OF_ROUTE
                              : wire::Sentinel::SentinelType::START_OF_SEGMENT);
  MODELD_ASSIGN(const auto sentinel, writer_.finish());
  return add(sentinel);
}

Status LogWriter::add(std::span<const std::byte> message) {
  if (written_ + message.size() > kMaxLogBytes) {
    return Error(ErrorCode::kExhausted, "log becomes too long")
        .expecting("at most " + std::to_string(kMaxLogBytes) + " bytes", "more");
  }
  written_ += message.size();
  return sink_(message);
}

Status LogWriter::end(Nanoseconds time, bool last_of_route) {
  start(writer_, time)
      .initSentinel()
      .setType(last_of_route ? wire::Sentinel::SentinelType::END_OF_ROUTE
                             : wire::Sentinel::SentinelType::END_OF_SEGMENT);
  MODELD_ASSIGN(const auto sentinel, writer_.finish());
  return add(sentinel);
}

Status write_log(const std::filesystem::path& path, std::span<const std::byte> log) {
  MODELD_ASSIGN(const auto packed, pack_log(log, packing_for(path)));
  return write_file_atomically(path, packed);
}

}  // namespace modeld::replay
