#include "tools/replay/replay_route.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "tools/replay/log_file.h"
#include "tools/replay/log_writer.h"

namespace modeld::replay {
namespace {

constexpr IdRange kNone{1, 0};

bool played(const ReplayReport& report, std::string_view role) {
  return std::any_of(report.roles.begin(), report.roles.end(),
                     [&](const RoleReport& each) { return each.role == role; });
}

}  // namespace

Result<ReplayOutcome> replay_route(const ReplayRequest& request, std::vector<ReplayModel> models) {
  MODELD_ASSIGN(const RouteFiles files, find_route(request.route, request.choice));
  MODELD_ASSIGN(const RouteLog log, RouteLog::load(files));
  LogWriter writer;
  MODELD_ASSIGN(
      const auto replayer,
      Replayer::create(files, log, std::move(models), request.options,
                       [&](std::span<const std::byte> message) { return writer.add(message); }));
  MODELD_TRY(writer.begin({request.version, log.device_type(), 0}, replayer->begin(), true));
  ReplayOutcome outcome;
  MODELD_ASSIGN(outcome.report, replayer->run());
  MODELD_TRY(writer.end(outcome.report.last, true));
  outcome.log.assign(writer.bytes().begin(), writer.bytes().end());
  return outcome;
}

Result<std::vector<std::byte>> read_reference(const std::filesystem::path& path) {
  std::error_code failure;
  if (std::filesystem::is_regular_file(path, failure)) {
    MODELD_ASSIGN(LogFile file, read_log_file(path));
    return std::move(file.bytes);
  }
  MODELD_ASSIGN(const RouteFiles files, find_route(path));
  std::vector<std::byte> all;
  for (const SegmentFiles& segment : files.segments) {
    if (segment.log.empty()) continue;
    MODELD_ASSIGN(const LogFile file, read_log_file(segment.log));
    all.insert(all.end(), file.bytes.begin(), file.bytes.end());
  }
  return all;
}

CompareOptions compare_options(const ReplayReport& report, const ReplayOptions& options,
                               double tolerance) {
  CompareOptions compare;
  compare.tolerance = tolerance;
  const bool whole = options.start <= 0 && options.duration <= 0;
  if (!whole) {
    compare.road_ids = report.road_ids.value_or(kNone);
    compare.cabin_ids = report.cabin_ids.value_or(kNone);
  }
  if (!played(report, "driving")) compare.road_ids = kNone;
  if (!played(report, "monitoring")) compare.cabin_ids = kNone;
  return compare;
}

}  // namespace modeld::replay
