#include "config/daemon_config.h"

namespace modeld {

std::string_view to_string(DaemonKind kind) {
  return kind == DaemonKind::kModeld ? "modeld" : "dmonitoringmodeld";
}

std::string_view to_string(Isolation isolation) {
  return isolation == Isolation::kInline ? "inline" : "process";
}

std::string_view to_string(FrameInput input) {
  return input == FrameInput::kUpload ? "upload" : "zerocopy";
}

std::string_view to_string(TransportKind kind) {
  switch (kind) {
    case TransportKind::kZmqIpc:
      return "zmq-ipc";
    case TransportKind::kZmqTcp:
      return "zmq-tcp";
    case TransportKind::kMsgq:
      return "msgq";
  }
  return "";
}

std::string_view to_string(TopicNames names) {
  return names == TopicNames::kNew ? "new" : "old";
}

std::string_view to_string(SandboxMode mode) {
  switch (mode) {
    case SandboxMode::kEnforce:
      return "enforce";
    case SandboxMode::kBestEffort:
      return "best-effort";
    case SandboxMode::kOff:
      break;
  }
  return "off";
}

DaemonConfig default_config(DaemonKind kind) {
  DaemonConfig config;
  config.kind = kind;
  config.artifact.path = kind == DaemonKind::kModeld ? "/var/lib/modeld/driving.model"
                                                     : "/var/lib/modeld/monitoring.model";
  config.artifact.trust = "/etc/modeld/keys";
  // The road comes first.
  config.scheduling.realtime_priority = kind == DaemonKind::kModeld ? 12 : 10;
  return config;
}

}  // namespace modeld
