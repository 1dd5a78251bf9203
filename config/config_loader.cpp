#include "config/config_loader.h"

#include <array>

#include "config/toml_reader.h"
#include "runtime/base/file.h"

namespace modeld {
namespace {

constexpr size_t kMaxPath = 1024;
// A socket address holds 107 bytes, the longest topic name with its slash takes 35 of them.
constexpr size_t kMaxIpcDir = 72;
// The camera's socket is <dir>/visionipc_<server>.
constexpr size_t kMaxSocketDir = 64;
constexpr size_t kMaxServerName = 32;

constexpr std::array<std::string_view, 3> kBackends = {"cpu", "opencl", "reference"};
constexpr size_t kMaxDeviceName = 128;
constexpr std::array<std::string_view, 2> kIsolations = {"inline", "process"};
constexpr std::array<std::string_view, 2> kFrameInputs = {"upload", "zerocopy"};
constexpr std::array<std::string_view, 3> kTransports = {"zmq-ipc", "zmq-tcp", "msgq"};
constexpr std::array<std::string_view, 2> kTopicNames = {"new", "old"};
constexpr std::array<std::string_view, 2> kDriverSeats = {"left", "right"};
constexpr std::array<std::string_view, 2> kStaleInputs = {"invalid", "report"};
constexpr std::array<std::string_view, 3> kSandboxModes = {"enforce", "best-effort", "off"};
constexpr std::array<std::string_view, 6> kLogLevels = {"trace", "debug", "info",
                                                        "warn",  "error", "off"};

template <typename Enum, size_t N>
void read_enum(TomlReader& reader, std::string_view key, Enum& value,
               const std::array<std::string_view, N>& names) {
  auto index = static_cast<size_t>(value);
  reader.choice(key, index, names);
  value = static_cast<Enum>(index);
}

template <size_t N>
void read_name(TomlReader& reader, std::string_view key, std::string& value,
               const std::array<std::string_view, N>& names) {
  size_t index = N;
  reader.choice(key, index, names);
  if (index < N) value = names[index];
}

void read_artifact(TomlReader& reader, ArtifactSettings& artifact) {
  reader.section("artifact");
  reader.path("path", artifact.path, kMaxPath);
  reader.path("trust", artifact.trust, kMaxPath);
  reader.flag("allow_unsigned", artifact.allow_unsigned);
}

void read_device(TomlReader& reader, DeviceSettings& device) {
  reader.section("device");
  read_name(reader, "backend", device.backend, kBackends);
  reader.integer("threads", device.threads, 0, 256);
  reader.text("name", device.name, kMaxDeviceName);
  reader.flag("software", device.software);
  read_enum(reader, "isolation", device.isolation, kIsolations);
  reader.milliseconds("patience_ms", device.patience, 0, 60'000);
  reader.integer("restarts", device.restarts, 0, 100);
  // A driver may hang for ever, which inside the daemon could only be ended with it.
  if (device.backend == "opencl" && device.isolation != Isolation::kProcess) {
    reader.refuse("backend", "isolation \"process\" with it", "\"opencl\" with \"inline\"");
  }
}

void read_fallback(TomlReader& reader, FallbackSettings& fallback, Isolation isolation) {
  reader.section("fallback");
  reader.flag("enabled", fallback.enabled);
  reader.path("artifact", fallback.artifact, kMaxPath, true);
  reader.integer("threads", fallback.threads, 0, 256);
  reader.number("warm_hz", fallback.warm_hz, 0.1, 20);
  if (fallback.enabled && isolation != Isolation::kProcess) {
    reader.refuse("enabled",
                  "device.isolation = \"process\" with it: a device inside the daemon "
                  "that hangs cannot be left",
                  "true with \"inline\"");
  }
}

void read_camera(TomlReader& reader, CameraSettings& camera, DaemonKind kind) {
  reader.section("camera");
  reader.word("server", camera.server, kMaxServerName);
  reader.path("socket_dir", camera.socket_dir, kMaxSocketDir);
  if (kind == DaemonKind::kModeld) {
    read_enum(reader, "narrow_road", camera.narrow_road, kFrameInputs);
    read_enum(reader, "wide_road", camera.wide_road, kFrameInputs);
  } else {
    read_enum(reader, "cabin", camera.cabin, kFrameInputs);
    read_enum(reader, "driver_seat", camera.driver_seat, kDriverSeats);
  }
  reader.integer("guard_frames", camera.guard_frames, 1, 16);
  reader.integer("late_frames", camera.late_frames, 0, 4);
}

void read_transport(TomlReader& reader, TransportSettings& transport) {
  reader.section("transport");
  read_enum(reader, "kind", transport.kind, kTransports);
  reader.path("ipc_dir", transport.ipc_dir, kMaxIpcDir, true);
  read_enum(reader, "names", transport.names, kTopicNames);
}

void read_deadlines(TomlReader& reader, DeadlineSettings& deadlines) {
  reader.section("deadlines");
  reader.milliseconds("load_ms", deadlines.load, 100, 600'000);
  reader.milliseconds("inference_ms", deadlines.inference, 1, 10'000);
  reader.milliseconds("frame_budget_ms", deadlines.frame_budget, 1, 10'000);
}

void read_all(TomlReader& reader, DaemonConfig& config) {
  read_artifact(reader, config.artifact);
  read_device(reader, config.device);
  read_fallback(reader, config.fallback, config.device.isolation);
  read_camera(reader, config.camera, config.kind);
  read_transport(reader, config.transport);
  if (config.kind == DaemonKind::kModeld) {
    reader.section("inputs");
    reader.path("params_dir", config.inputs.params_dir, kMaxPath);
    read_enum(reader, "stale", config.inputs.stale, kStaleInputs);
  }
  reader.section("messages");
  reader.flag("raw_predictions", config.messages.raw_predictions);
  read_deadlines(reader, config.deadlines);
  reader.section("health");
  reader.number("rate_hz", config.health.rate_hz, 0.1, 20);
  reader.section("scheduling");
  reader.integer("realtime_priority", config.scheduling.realtime_priority, 0, 90);
  reader.flag("lock_memory", config.scheduling.lock_memory);
  reader.section("state");
  reader.path("dir", config.state.dir, kMaxPath, true);
  reader.section("selftest");
  reader.integer("repeats", config.selftest.repeats, 1, 1000);
  reader.section("sandbox");
  read_enum(reader, "mode", config.sandbox.mode, kSandboxModes);
  reader.section("log");
  read_name(reader, "level", config.log.level, kLogLevels);
}

}  // namespace

ConfigReport parse_config(std::string_view text, const std::string& name, DaemonKind kind) {
  ConfigReport report{default_config(kind), {}};
  auto reader = TomlReader::parse(text, name);
  if (!reader.ok()) {
    report.problems.push_back(std::move(reader).error());
    return report;
  }
  read_all(*reader, report.config);
  report.problems = reader->finish();
  return report;
}

ConfigReport check_config(const std::filesystem::path& path, DaemonKind kind) {
  auto text = read_text_file(path, kMaxConfigBytes);
  if (!text.ok()) {
    ConfigReport report{default_config(kind), {}};
    report.problems.push_back(std::move(text).error());
    return report;
  }
  return parse_config(*text, path.string(), kind);
}

Result<DaemonConfig> load_config(const std::filesystem::path& path, DaemonKind kind) {
  ConfigReport report = check_config(path, kind);
  if (report.problems.empty()) return std::move(report.config);
  Error first = std::move(report.problems.front());
  // Whatever kept the file from being used, the answer to the user is "configuration".
  first.code = ErrorCode::kInvalidArgument;
  if (report.problems.size() > 1) {
    first.message += " (and " + std::to_string(report.problems.size() - 1) + " more problems)";
  }
  return first;
}

std::vector<std::string> known_keys(DaemonKind kind) {
  auto reader = TomlReader::parse("", "");
  if (!reader.ok()) return {};
  DaemonConfig config = default_config(kind);
  read_all(*reader, config);
  return reader->keys();
}

}  // namespace modeld
