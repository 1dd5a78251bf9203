// A log as `modelctl replay` reads it: unpacked (plain, bzip2, zstd, cut off anywhere), scanned for
// messages and frames, put in order, and compared with itself.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tools/replay/log_compare.h"
#include "tools/replay/log_file.h"
#include "tools/replay/timeline.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using namespace modeld::replay;

// What the input says is the file; one that is made once and written anew.
RouteFiles route_of(std::span<const std::byte> bytes) {
  static const int file = memfd_create("log", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, 0) != 0 ||
      pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  SegmentFiles segment;
  segment.name = "log";
  segment.log = "/proc/self/fd/" + std::to_string(file);
  // Two segments of one log and a video each that nobody opens.
  for (auto& picture : segment.pictures) picture = "video.hevc";
  return {{segment, segment}};
}

void read_route(std::span<const std::byte> bytes) {
  const RouteFiles files = route_of(bytes);
  const auto log = RouteLog::load(files);
  if (!log.ok()) return;
  for (const LoggedMessage& message : log->messages()) {
    if (log->bytes(message).size() != message.size || message.time < 0) std::abort();
  }
  modeld::replay::PerCamera<FrameList> frames;
  size_t events = log->messages().size();
  for (const Camera camera : kCameras) {
    auto list = list_frames(camera, files, *log);
    if (!list.ok()) return;
    events += list->frames.size();
    frames[index_of(camera)] = std::move(list).value();
  }
  const auto timeline = make_timeline(*log, frames);
  if (timeline.size() != events) std::abort();
  for (size_t i = 1; i < timeline.size(); ++i) {
    if (timeline[i].time < timeline[i - 1].time) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A few bytes unpack to gigabytes; that this ends in an error is what unit tests are for.
  constexpr uint64_t kMost = uint64_t{1} << 18;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto log = unpack_log(std::vector<std::byte>(bytes.begin(), bytes.end()), kMost);
  if (!log.ok()) return 0;
  read_route(log->bytes);
  const Comparison with_itself = compare_logs(log->bytes, log->bytes, {});
  if (!with_itself.missing.empty() || !with_itself.extra.empty()) std::abort();
  for (const FieldResult& field : with_itself.fields) {
    if (field.differing != 0) std::abort();
  }
  return 0;
}
