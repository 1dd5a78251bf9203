// What a daemon can be told, typed and checked. The shipped modeld.toml and dmonitoringmodeld.toml
// say what every key means.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/base/clock.h"

namespace modeld {

enum class DaemonKind : uint8_t { kModeld, kDmonitoringmodeld };
std::string_view to_string(DaemonKind kind);  // "modeld", "dmonitoringmodeld"

// Where device work runs.
enum class Isolation : uint8_t { kInline, kProcess };
// How the pixels of a camera reach the device.
enum class FrameInput : uint8_t { kUpload, kZeroCopy };
enum class TransportKind : uint8_t { kZmqIpc, kZmqTcp, kMsgq };
// Which generation of topic names is published to and subscribed from.
enum class TopicNames : uint8_t { kNew, kOld };
// Where the driver sits, for monitoring models that look at one seat.
enum class DriverSeat : uint8_t { kLeft, kRight };
// What becomes of a frame while a topic that was heard before is silent.
enum class StaleInputs : uint8_t { kInvalid, kReport };
// What happens where the process cannot confine itself: it ends, it goes on and health says so, or
// it never tries.
enum class SandboxMode : uint8_t { kEnforce, kBestEffort, kOff };

std::string_view to_string(Isolation isolation);  // "inline", "process"
std::string_view to_string(FrameInput input);     // "upload", "zerocopy"
std::string_view to_string(TransportKind kind);   // "zmq-ipc", "zmq-tcp", "msgq"
std::string_view to_string(TopicNames names);     // "new", "old"
std::string_view to_string(SandboxMode mode);     // "enforce", "best-effort", "off"

struct ArtifactSettings {
  std::filesystem::path path;
  std::filesystem::path trust;  // a .pub file or a folder of them
  bool allow_unsigned = false;
  bool operator==(const ArtifactSettings&) const = default;
};

struct DeviceSettings {
  std::string backend = "cpu";
  uint32_t threads = 0;   // 0: half of the processors
  std::string name;       // opencl: part of the device's name; empty: the best there is
  bool software = false;  // opencl: a device that computes on the host's processor will do
  Isolation isolation = Isolation::kInline;
  Nanoseconds patience = 5 * kSecond;  // with a device that is not there yet
  uint32_t restarts = 3;  // of a failed executor that no fallback replaces, in the daemon's life
  bool operator==(const DeviceSettings&) const = default;
};

struct FallbackSettings {
  bool enabled = false;
  std::filesystem::path artifact;  // empty: the device's
  uint32_t threads = 0;            // 0: as many as the device's
  double warm_hz = 1.0;
  bool operator==(const FallbackSettings&) const = default;
};

struct CameraSettings {
  std::string server = "camerad";
  std::filesystem::path socket_dir = "/tmp";
  FrameInput narrow_road = FrameInput::kUpload;  // modeld only
  FrameInput wide_road = FrameInput::kUpload;    // modeld only
  FrameInput cabin = FrameInput::kUpload;        // dmonitoringmodeld only
  uint32_t guard_frames = 1;
  uint32_t late_frames = 1;
  DriverSeat driver_seat = DriverSeat::kLeft;  // dmonitoringmodeld only
  bool operator==(const CameraSettings&) const = default;
};

struct TransportSettings {
  TransportKind kind = TransportKind::kZmqIpc;
  // Empty: where topics live when nothing is configured (ipc/transport/zmq_transport.h).
  std::filesystem::path ipc_dir;
  TopicNames names = TopicNames::kNew;
  bool operator==(const TransportSettings&) const = default;
};

struct SchedulingSettings {
  uint32_t realtime_priority = 0;  // 0: as the process was started; default_config() asks for one
  bool lock_memory = true;
  bool operator==(const SchedulingSettings&) const = default;
};

struct StateSettings {
  std::filesystem::path dir;  // empty: see state_folder()
  bool operator==(const StateSettings&) const = default;
};

struct InputSettings {
  std::filesystem::path params_dir = "/data/params/d";  // modeld only
  StaleInputs stale = StaleInputs::kInvalid;            // modeld only
  bool operator==(const InputSettings&) const = default;
};

struct MessageSettings {
  bool raw_predictions = false;  // the network's whole answer in every message
  bool operator==(const MessageSettings&) const = default;
};

struct DeadlineSettings {
  Nanoseconds load = 60 * kSecond;  // without progress
  Nanoseconds inference = 150 * kMillisecond;
  Nanoseconds frame_budget = 50 * kMillisecond;
  bool operator==(const DeadlineSettings&) const = default;
};

struct HealthSettings {
  double rate_hz = 2.0;
  bool operator==(const HealthSettings&) const = default;
};

struct SelfTestSettings {
  uint32_t repeats = 3;
  bool operator==(const SelfTestSettings&) const = default;
};

struct SandboxSettings {
  SandboxMode mode = SandboxMode::kEnforce;
  bool operator==(const SandboxSettings&) const = default;
};

struct LogSettings {
  std::string level = "info";
  bool operator==(const LogSettings&) const = default;
};

// A plain value. Members that the kind does not have keep their defaults.
struct DaemonConfig {
  DaemonKind kind = DaemonKind::kModeld;
  ArtifactSettings artifact;
  DeviceSettings device;
  FallbackSettings fallback;
  CameraSettings camera;
  TransportSettings transport;
  InputSettings inputs;
  DeadlineSettings deadlines;
  MessageSettings messages;
  HealthSettings health;
  SelfTestSettings selftest;
  SandboxSettings sandbox;
  LogSettings log;
  SchedulingSettings scheduling;
  StateSettings state;
  bool operator==(const DaemonConfig&) const = default;
};

// What a daemon does with an empty configuration file.
DaemonConfig default_config(DaemonKind kind);

}  // namespace modeld
